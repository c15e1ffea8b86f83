"""The settings: their declarations, and reading them from file, environment and command line."""
