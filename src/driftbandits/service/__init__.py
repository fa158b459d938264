"""The decision service: hosted policies, durable before they answer, replayable bit for bit."""
