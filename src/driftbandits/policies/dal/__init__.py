"""Detect and restart: LinUCB with a change detector."""
