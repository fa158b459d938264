"""Studies of regret, compared with other policies and libraries. Speed is in `benchmarks`."""
