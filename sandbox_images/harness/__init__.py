"""The program that runs inside every slot. Standard library only; imports nothing from grader.

    slot/     the processes of a slot: the supervisor, which takes batches as frames and answers
              with outcomes, and zygotes, which fork a fresh process for each run
    lock_in/  the jail of a native slot, and how each run is locked in
    runners/  what a run's process does: one module for each kind of program
    split/    tests in one process, the submission in another
    wire/     frames, and plain data as JSON; the grader uses them at its end, too
    kernel/   what the kernel offers and counts

Code that runs in zygotes uses named tuples instead of `dataclasses`: that module pulls in others
that take 2 MB, and every fork copies the page tables of all of its zygote's memory.
"""
