"""Reads Python source without running it."""
