"""Exit statuses that mean something to the supervisor."""

CANDIDATE_GONE = 3
"""Of a judge: the candidate broke off the conversation; how that one ended is what counts."""

JUDGE_BROKEN = 4
"""Of a judge: it could not begin, which is no fault of the submission's."""
