"""Grades one submission from end to end, and many of them in this process."""
