"""Runnable examples: each is one file that solves one problem and draws one picture."""
