"""QuixBugs, Python: forty classic algorithms with one bug each.

Recognised by `name, buggy, correct, pytest`. A last row named `_support` has the repository's
shared files; it does not state a problem.

Becomes a pytest suite in the repository's layout: the submission is `python_programs/NAME.py`, and
the test module imports it from there. The shared files are small and supplied here, so a row is a
complete label: a conftest that sets the two switches that the tests read, the `Node` class, and
`load_json_testcases`. The reference is `correct`.

Differences from the repository, on purpose: the inputs are looked up by the problem's name, not
by `__name__` of the submission's function, which the submission chooses; and inputs that a test
skips by comparing with a literal ("takes too long") are left out of the data, because a skipped
case never counts as passed here.
"""

import ast
import json

from grader.model import TestSuite
from grader.model.errors import LabelError
from grader.suites import fields, source
from grader.suites.files import pytest_tests
from grader.suites.format import Format, Row, field_sets

SUPPORT_ROW = "_support"

_CONFTEST = """\
import pytest


def pytest_configure(config):
    pytest.use_correct = False
    pytest.run_slow = False
"""

_NODE = """\
class Node:
    def __init__(
        self,
        value=None,
        successor=None,
        successors=(),
        predecessors=(),
        incoming_nodes=(),
        outgoing_nodes=(),
    ):
        self.value = value
        self.successor = successor
        self.successors = list(successors)
        self.predecessors = list(predecessors)
        self.incoming_nodes = list(incoming_nodes)
        self.outgoing_nodes = list(outgoing_nodes)
"""

_LOADER = """\
import json
from pathlib import Path


def load_json_testcases(_name):
    lines = Path(__file__).with_name("testcases.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]
"""


def read(row: Row) -> TestSuite:
    """Turn a QuixBugs row into its suite.

    Raises:
        LabelError: It is the row of shared files, or its name is not an identifier.
    """
    if row.get("name") == SUPPORT_ROW:
        message = f"the row {SUPPORT_ROW!r} holds QuixBugs's shared files and not a problem"
        raise LabelError(message)
    name, tests = fields.text(row, "name"), fields.text(row, "pytest")
    correct = fields.text(row, "correct")
    if not name.isidentifier():
        raise fields.wrong(name, "name", "a module name")
    test_path = f"python_testcases/test_{name}.py"
    files = {
        "conftest.py": _CONFTEST,
        "python_testcases/node.py": _NODE,
        "python_testcases/load_testdata.py": _LOADER,
        "python_testcases/testcases.jsonl": _testcases(row, tests),
        test_path: tests,
    }
    return TestSuite(
        tests=pytest_tests(
            files, test_paths=(test_path,), solution_path=f"python_programs/{name}.py"
        ),
        format="quixbugs",
        problem_id=name,
        entry_point=name,
        reference=correct,
    )


def _testcases(row: Row, tests: str) -> str:
    """Return the row's inputs, one JSON text per line, without those that the tests skip."""
    lines = (fields.optional_text(row, "json_testcases") or "").splitlines()
    skipped = _skipped_inputs(source.parse(tests))
    kept = [line for line in lines if line.strip() and _input(line) not in skipped]
    return "".join(f"{line}\n" for line in kept)


def _input(line: str) -> object:
    case = fields.load_json(line, "json_testcases")
    return case[0] if isinstance(case, list) and case else None


def _skipped_inputs(tree: ast.Module) -> list[object]:
    """Return the literals that an `if` compares with before it calls `pytest.skip`."""
    found: list[object] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.If) or "pytest.skip(" not in ast.unparse(node.body[0]):
            continue
        for compared in ast.walk(node.test):
            if isinstance(compared, ast.Compare) and isinstance(compared.ops[0], ast.Eq):
                try:
                    found.append(ast.literal_eval(compared.comparators[0]))
                except ValueError:
                    continue
    return found


QUIXBUGS = Format(
    name="quixbugs",
    summary="QuixBugs (Python): a pytest module over JSON inputs, a buggy and a correct program",
    fields=field_sets("name buggy correct pytest", "name files"),
    example={
        "name": "double",
        "buggy": "def double(n):\n    return n + 2\n",
        "correct": "def double(n):\n    return 2 * n\n",
        "pytest": "import pytest\nfrom load_testdata import load_json_testcases\n"
        "from python_programs.double import double\n\n\n"
        '@pytest.mark.parametrize("given,expected", load_json_testcases("double"))\n'
        "def test_double(given, expected):\n    assert double(*given) == expected\n",
        "json_testcases": json.dumps([[3], 6]) + "\n",
    },
    read=read,
)
