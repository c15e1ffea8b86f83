"""Run a submission against each kind of tests, and judge what comes of it.

task         what is to be run, and what came of it
compared     stdin and call tests: outputs are compared here, outside the sandbox
interactive  programs that talk to an interactor of the suite, each in a run of its own
judged       scripts and pytest: the suite's own code judges, apart from the submission
modes        which suites can be judged apart, and which cannot
canaries     what protects those that cannot
checkers     a suite's own checker program
answers      what checkers and interactors say, and what it means
"""
