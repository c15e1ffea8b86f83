"""Grading final answers of math problems by value.

`answers` finds an answer, `values` reads it, and `compare` compares it. docs/math.md has the rules.
"""
