"""Policies over one weighted estimate: LinUCB and its relatives."""
