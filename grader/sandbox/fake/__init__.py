"""A sandbox without a wall, for tests."""
