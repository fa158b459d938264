"""The service over HTTP: one process, one event loop, one commit per tick."""
