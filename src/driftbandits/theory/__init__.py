"""Theory: tuning rules and regret bounds."""
