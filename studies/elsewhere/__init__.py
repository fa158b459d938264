"""Environments of docs/explanation/adaptive.md outside the leaderboard, and playing in them."""
