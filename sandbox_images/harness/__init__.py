"""The program that runs inside every slot. Standard library only; imports nothing from grader.

    jail        builds the native backend's locked-down root, then becomes the supervisor
    supervisor  the slot's main process: takes batches as frames, answers with outcomes
    zygote      a warmed interpreter; forks a fresh process, in fresh namespaces, per run
    runners/    what such a process does: stdin program, call, script, pytest

What runs in zygotes is written with named tuples and without `dataclasses`, which alone brings
modules that take 2 MB: every fork copies the tables of every page that its zygote has.

`frames` and `values` are also used by the other end of the wire, in grader.
"""
