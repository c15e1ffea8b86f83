"""The program that runs inside every slot. Standard library only; imports nothing from grader.

    jail        builds the native backend's locked-down root, then becomes the supervisor
    supervisor  the slot's main process: takes batches as frames, answers with outcomes
    zygote      a warmed interpreter; forks a fresh process, in fresh namespaces, per run
    runners/    what such a process does: stdin program, call, script, pytest

Code that runs in zygotes uses named tuples instead of `dataclasses`: that module pulls in others
that take 2 MB, and every fork copies the page tables of all of its zygote's memory.

The grader uses `frames` and `values` at its end of the wire, too.
"""
