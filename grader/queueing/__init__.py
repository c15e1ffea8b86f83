"""Grading on other machines: the client's side of the queue, and what workers share with it.

Redis holds the *ledger*, the state of every job; only the scripts of `grader.queueing.scripts`
change it. Celery carries *hints*, small messages that name jobs, to a free worker. A hint may be
lost, duplicated or late without harm: a worker takes only jobs that the ledger still has, and a job
whose hint was lost gets another.

docs/operations.md describes the life of a job and every key.
"""
