"""Scores and rewards from verdicts, summaries of reports, and calibrated limits."""
