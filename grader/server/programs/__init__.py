"""Run programs of /run_code: once each, for their output and not for a verdict."""
