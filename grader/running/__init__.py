"""Run a submission against each kind of tests, and judge the outcomes.

task         what is to be run, and the results
compared     stdin and call tests: outputs are compared here, outside the sandbox
interactive  programs that talk to an interactor of the suite, each in a run of its own
judged       scripts and pytest: the suite's own code judges, in runs that `suite_run` makes
confirmed    runs the twins of a suite that shares a process with the submission
tally        what these runs show about each case
lacking      whether the sandbox lacks something that the tests need
foreign_calls, expressions
             tests that call functions in other languages
casewise     one run per case, one after another, within a `budget` of time
programs     the batches of programs that read standard input
deciders     how checkers and interactors are compiled and run
checkers     a suite's own checker program
answers      what checkers and interactors say, and what that means for a submission
references   what the reference solutions of suites show about the suites
"""
