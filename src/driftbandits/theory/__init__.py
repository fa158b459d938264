"""What is proved: tuning rules and regret bounds."""
