"""Grading on other machines: the client's side of the queue, and what workers share with it.

Redis holds the *ledger*, the state of every job; only the scripts of `grader.queueing.scripts`
change it. Celery carries *hints*, small messages that tell a worker that jobs of an image wait. A
hint may be lost, doubled or late without harm: the ledger decides which job is next, and lost hints
are sent again.

docs/operations.md describes the life of a job and every key.
"""
