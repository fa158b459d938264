"""The dashboard: static files under /dashboard; their data come from /dashboard/events."""
