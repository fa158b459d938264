"""Studies of regret: what policies lose, and against whom. Speed is in `benchmarks`."""
