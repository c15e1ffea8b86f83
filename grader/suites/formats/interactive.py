"""Interactive problems: an interactor of the suite talks to the submission and judges it.

Recognised by an `interactor` beside `test_cases` or `cases`, a list of {input, output?}, or beside
`inputs`, perhaps with `outputs`. The interactor is text or {source, kind}; its kind is `function`
(the default: `interact(input, answer)` reads with `input()` what the submission prints, prints what
it reads, and returns a bool or the share of the points) or `testlib` (a program with the paths of
input, output and answer as arguments, which ends with testlib's exit codes).

There is no original harness. As in testlib's contests, only the interactor gets inputs and
outputs, and the submission sees what the interactor prints. A case's `output` is the answer file.
"""

from collections.abc import Mapping

from grader.model import InteractiveTests, TestSuite
from grader.suites import fields
from grader.suites.cases import Pair, pairs, pairs_of_items, stdin_tests
from grader.suites.format import Format, Row, field_sets
from grader.suites.images import image_for
from grader.suites.programs import read_interactor

_EXAMPLE_INTERACTOR = """\
def interact(case, answer):
    secret = int(case)
    for _ in range(10):
        guess = int(input())
        if guess == secret:
            print("found")
            return True
        print("higher" if guess < secret else "lower")
    return False
"""

_EXAMPLE_SOLUTION = """\
low, high = 0, 1000
while True:
    guess = (low + high) // 2
    print(guess, flush=True)
    said = input()
    if said == "found":
        break
    low, high = (guess + 1, high) if said == "higher" else (low, guess - 1)
"""


def read(row: Row) -> TestSuite:
    """Turn an interactive problem into its suite.

    Raises:
        LabelError: A field has an unexpected value.
        SuiteError: There is no case.
    """
    interactor = read_interactor(row["interactor"])
    solution = fields.any_text(row, "solution", "reference") or None
    return TestSuite(
        tests=InteractiveTests(cases=stdin_tests(_pairs(row)).cases, interactor=interactor),
        format="interactive",
        problem_id=fields.identifier(row, "task_id", "problem_id", "id", "name"),
        prompt=fields.any_text(row, "prompt", "question", "problem"),
        limits=fields.limits(row),
        image=image_for(solution),
        reference=solution,
    )


def _pairs(row: Row) -> tuple[Pair, ...]:
    if row.get("inputs") is not None:
        inputs = fields.items(row, "inputs")
        outputs = row.get("outputs")
        return pairs(inputs, [""] * len(inputs) if outputs is None else outputs)
    name = "test_cases" if row.get("test_cases") is not None else "cases"
    return pairs_of_items([_case(item) for item in fields.items(row, name)])


def _case(item: object) -> object:
    if not isinstance(item, Mapping):
        raise fields.wrong(item, "a test case", "an object with an input")
    return item if item.get("output") is not None else {**item, "output": ""}


INTERACTIVE = Format(
    name="interactive",
    summary="Programs that talk to an interactor of the suite, which judges them",
    fields=field_sets("interactor test_cases", "interactor cases", "interactor inputs"),
    example={
        "id": "guess",
        "prompt": "Find a number from 0 to 1000 in ten guesses.",
        "interactor": {"source": _EXAMPLE_INTERACTOR, "kind": "function"},
        "test_cases": [{"input": "417"}, {"input": "0"}],
        "solution": _EXAMPLE_SOLUTION,
    },
    read=read,
    precedes=("test_cases", "inputs_outputs"),
)
