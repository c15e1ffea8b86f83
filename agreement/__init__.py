"""Compare the grader's verdicts with those of plain Python, on third-party programs and suites."""
