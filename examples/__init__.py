"""Runnable examples: each file solves one problem and draws one picture."""
