"""Grading on other machines: what the client and the workers both know of the queue.

Redis holds a *ledger* of jobs, changed only by the scripts of `grader.queueing.scripts`; it alone
says what is waiting, who has it, and what became of it. Celery carries *hints*, small messages
that name jobs, to whichever worker is free. A hint may be lost, doubled or late without harm: a
worker takes only what the ledger still has, and a job without a hint gets another one.

docs/operations.md has the life of a job and every key.
"""
