"""Grading a file: rows in, the same rows with a report out, in bounded memory."""
