"""Weighted least squares: sums, ways to forget, confidence radii, the estimator alone."""
