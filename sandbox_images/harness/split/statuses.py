"""Exit statuses that mean something to the supervisor, or to a candidate's parent."""

CANDIDATE_GONE = 3
"""Of a judge: the candidate broke off the conversation; how that one ended is what counts."""

JUDGE_BROKEN = 4
"""Of a judge: it could not begin, which is no fault of the submission's."""

BRANCH_OVER = 173
"""Of a candidate's fork: the test that it served is over. Rare, so that a submission that ends
itself has hardly ever this status; one that has does not pass either."""
