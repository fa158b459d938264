"""The environments of docs/adaptive.md that are not on the leaderboard, and playing in them."""
