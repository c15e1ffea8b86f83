"""A batch of submissions of every verdict, each different, with what must become of it."""

from grader.model import LimitOverrides, Submission
from grader.model.overrides import ExtractionRule
from grader.model.verdict import Verdict
from tests.factories import make_submission, make_suite

_SUITE = make_suite(
    limits=LimitOverrides(cpu_time_s=1.0, wall_time_s=2.0, output_bytes=64 * 1024),
    extraction=ExtractionRule.VERBATIM,
)

_QUICK = (
    ("def add(a, b):\n    return a + b\n", Verdict.PASSED),
    ("def add(a, b):\n    return a - b\n", Verdict.FAILED),
    ("def add(a, b):\n    return a + c\n", Verdict.RUNTIME_ERROR),
    ("def add(a, b)\n    return a + b\n", Verdict.COMPILE_ERROR),
    ("import os\ndef add(a, b):\n    os._exit(0)\n", Verdict.RUNTIME_ERROR),
    ("def add(a, b):\n    return sum((a, b))\n", Verdict.PASSED),
)
_COSTLY = (
    ("import time\ndef add(a, b):\n    time.sleep(60)\n", Verdict.TIME_LIMIT),
    ("def add(a, b):\n    while True:\n        a += b\n", Verdict.TIME_LIMIT),
    ("def add(a, b):\n    print('x' * 10**6)\n    return a + b\n", Verdict.OUTPUT_LIMIT),
)
_EVERY = 25
"""One in so many is costly."""


def mixture(count: int, padding: int = 0) -> list[tuple[Submission, Verdict]]:
    """Return `count` different submissions with their verdicts, `padding` characters longer."""
    batch = []
    comment = f"#{'.' * padding}\n" if padding else ""
    for number in range(count):
        if number % _EVERY == _EVERY - 1:
            code, verdict = _COSTLY[number // _EVERY % len(_COSTLY)]
        else:
            code, verdict = _QUICK[number % len(_QUICK)]
        completion = f"# {number}\n{code}{comment}"
        batch.append((make_submission(completion, suite=_SUITE, id=f"mixed/{number}"), verdict))
    return batch
