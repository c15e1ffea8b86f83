"""Hold the grader's verdicts against those of plain Python, on material that nobody here tuned."""
