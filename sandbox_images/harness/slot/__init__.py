"""The processes of a slot: its supervisor, its zygotes, and the runs that they watch."""
