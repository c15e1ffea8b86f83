"""Programs that run once, for their output and not for a verdict."""
