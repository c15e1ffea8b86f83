"""Turns the outcomes of runs into verdicts. `verdicts` is the entry; the rest are its parts."""
