"""Benchmarks that compare implementations side by side, in one run."""
