"""Contracts that things of your own can be held to."""
