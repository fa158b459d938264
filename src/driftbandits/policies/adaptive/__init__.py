"""AdaptiveLinUCB: a bank of experts, one per memory, and what weighs them."""
