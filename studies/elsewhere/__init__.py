"""Environments outside the leaderboard, for docs/results/adaptive.md."""
