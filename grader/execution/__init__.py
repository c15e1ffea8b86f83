"""Run a submission against each kind of tests, and judge what comes of it.

task      what is to be run, and what came of it
compared  stdin and call tests: outputs are compared here, outside the sandbox
judged    scripts and pytest: the suite's own code judges, apart from the submission
modes     which suites can be judged apart, and which cannot
canaries  what protects those that cannot
checkers  a suite's own checker program
"""
