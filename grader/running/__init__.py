"""Run a submission against each kind of tests, and judge the outcomes.

task         what is to be run, and the results
compared     stdin and call tests: outputs are compared here, outside the sandbox
interactive  programs that talk to an interactor of the suite, each in a run of its own
judged       scripts and pytest: the suite's own code judges
by_value     which suites can be judged apart from the submission, with `allowed` and `names`
references   which suites their own references pass
checkers     a suite's own checker program
answers      what checkers and interactors say, and what it means
"""
