"""Grades final answers of math problems by value: find (`answers`), read (`values`), compare.

docs/math.md has the rules for a person who wonders why an answer was taken or refused.
"""
