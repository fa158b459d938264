"""BOB, bandit over bandit: EXP3 over windows or discounts."""
