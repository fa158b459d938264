"""The journal: every command in order with its answer, durable, and chained by hashes."""
