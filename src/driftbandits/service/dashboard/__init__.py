"""The dashboard: static files, served under /dashboard; data come from /dashboard/events."""
