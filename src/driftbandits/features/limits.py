"""Limits that several modules keep to."""

# Far more coordinates than a linear policy can use. A slip of the pen must not fill the memory.
LARGEST_SIZE = 65_536

# Sums of squares are rounded. Vectors stay this much shorter than the bound, so that no computed
# norm exceeds it.
MARGIN = 1.0 - 2.0**-40
