"""Exit statuses of a judge that mean something to the supervisor."""

CANDIDATE_GONE = 3
"""The candidate broke off the exchange. The candidate's end is what counts."""

JUDGE_BROKEN = 4
"""The judge could not begin, which is not the submission's fault."""
