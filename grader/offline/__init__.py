"""Grading files: each row is written with its report, in bounded memory."""
