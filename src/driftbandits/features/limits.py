"""Limits that several modules use."""

# Far more coordinates than a linear policy can use. A typing error must not fill the memory.
LARGEST_SIZE = 65_536

# Sums of squares are rounded. Vectors stay this much shorter than the bound, so that no computed
# norm exceeds it.
MARGIN = 1.0 - 2.0**-40
