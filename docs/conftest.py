"""Pages are tests; what builds them is not."""

collect_ignore = ["conf.py", "extensions"]
