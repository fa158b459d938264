"""Environments outside the leaderboard, for docs/explanation/adaptive.md."""
