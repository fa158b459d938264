"""The journal: every command in order, with the answer that was given, durable and chained."""
