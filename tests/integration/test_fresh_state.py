"""How fresh each test finds the submission: the verdicts are those of plain pytest or fairer."""

from collections.abc import Iterator

import pytest

from grader.engine import Grader
from grader.model import (
    GradeReport,
    PytestTests,
    ScriptCase,
    ScriptTests,
    Submission,
    SuiteFile,
    TestSuite,
)
from grader.rules import ExtractionRule
from grader.sandbox.native import NativeSandbox
from grader.settings import SandboxChoice, Settings
from grader.verdict import Integrity, StateSpan, Verdict

PER_TEST, PER_MODULE, PER_SUITE = StateSpan
HEAD = "import functools, pytest, unittest\nimport solution\nfrom solution import *\n"
CODE = """
count = 0
limit = 1
def inc():
    global count
    count += 1
    print('called', count)
    return count
def at_last(x): return x * x if inc() > 1 else 0
def numbers():
    while True: yield inc()
async def later(): return inc()
def apply(function, x): return function(x), inc()
class Account:
    made = 0
    def __init__(self):
        self.balance = 0
        Account.made += 1
    def pay(self, x=1):
        self.balance += x
        return self.balance
class Broke(Exception): pass
def broke(): raise Broke('no money')
"""


@pytest.fixture(scope="module")
def grader(native_sandbox: NativeSandbox) -> Iterator[Grader]:
    assert native_sandbox.name == "native"
    with Grader(Settings(sandbox=SandboxChoice.NATIVE, slots=1)) as opened:
        yield opened


def grade(
    grader: Grader, *modules: str, code: str = CODE, reference: str | None = None
) -> GradeReport:
    """Grade code by modules of pytest tests."""
    files = tuple(
        SuiteFile(path=f"test_{i}.py", content=f"{HEAD}{module}".encode())
        for i, module in enumerate(modules)
    )
    tests = PytestTests(files=files, test_paths=tuple(file.path for file in files))
    suite = TestSuite(
        tests=tests, format="x", reference=reference, extraction=ExtractionRule.VERBATIM
    )
    return grader.grade(Submission(id="x", completion=code, suite=suite))


INDEPENDENT = {
    "counts": "def test_a(): assert inc() == 1\ndef test_b(): assert inc() == 1\n",
    "parametrised": "@pytest.mark.parametrize('n', [1, 1, 1])\ndef test_a(n): assert inc() == n\n",
    "prints": "def test_a(capsys):\n    inc()\n"
    "    assert capsys.readouterr().out == 'called 1\\n'\n"
    "def test_b(capsys):\n    inc()\n    assert capsys.readouterr().out == 'called 1\\n'\n",
    "objects": "def test_a(): assert Account().pay() == Account.made == 1\n"
    "def test_b(): assert Account().pay() == solution.Account.made == 1\n",
    "exceptions": "def test_a():\n    with pytest.raises(Broke): broke()\n"
    "def test_b():\n    with pytest.raises(solution.Broke, match='money'): broke()\n",
    "generators": "def test_a():\n    n = numbers()\n    assert [next(n), next(n)] == [1, 2]\n"
    "def test_b(): assert next(numbers()) == 1\n",
    "coroutines": "import asyncio\ndef test_a(): assert asyncio.run(later()) == 1\n"
    "def test_b(): assert asyncio.run(later()) == 1\n",
    "callbacks": "def test_a(): assert apply(lambda x: x + inc(), 1) == (2, 2)\n"
    "def test_b(): assert apply(lambda x: x + inc(), 1) == (2, 2)\n",
    "patches": "def test_a(monkeypatch):\n    monkeypatch.setattr(solution, 'count', 5)\n"
    "    assert inc() == 6\n"
    "def test_b(): assert inc() == 1\n",
    "variables": "import os\n"
    "def test_a(monkeypatch):\n    monkeypatch.setenv('HOW', 'so')\n    assert inc() == 1\n"
    "def test_b(): assert inc() == 1\n",
    "function fixtures": "@pytest.fixture\ndef account():\n    yield Account()\n    inc()\n"
    "def test_a(account): assert account.pay() == inc()\n"
    "def test_b(account): assert account.pay() == inc()\n",
    "unittest": "class T(unittest.TestCase):\n    def setUp(self): self.account = Account()\n"
    "    def test_a(self): self.assertEqual(self.account.pay(), inc())\n"
    "    def test_b(self): self.assertEqual(self.account.pay(), inc())\n",
    "imports inside": "def test_a():\n    from solution import inc as again\n"
    "    assert again() == 1\n"
    "def test_b():\n    from solution import inc as again\n    assert again() == 1\n",
}


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_tests_each_find_what_was_loaded(grader: Grader, kind: str) -> None:
    report = grade(grader, INDEPENDENT[kind])

    assert report.verdict is Verdict.PASSED, report.feedback
    assert (report.state, report.integrity) == (PER_TEST, Integrity.SPLIT)


DEPENDENT = {
    "object of a module": (
        "a = Account()\ndef test_a(): assert a.pay() == 1\ndef test_b(): assert a.pay() == 2\n",
        PER_SUITE,
    ),
    "objects as parameters": (
        "@pytest.mark.parametrize('a', [Account()] * 2)\ndef test_a(a): assert a.pay() in (1, 2)\n",
        PER_SUITE,
    ),
    "global": (
        "a = None\ndef test_a():\n    global a\n    a = Account()\n"
        "def test_b(): assert a.pay() == 1\n",
        PER_SUITE,
    ),
    "cached helper": (
        "@functools.cache\ndef a(): return Account()\n"
        "def test_a(): assert a().pay() == 1\ndef test_b(): assert a().pay() == 2\n",
        PER_SUITE,
    ),
    "module fixture": (
        "@pytest.fixture(scope='module')\ndef a(): return Account()\n"
        "def test_a(a): assert a.pay() == 1\ndef test_b(a): assert a.pay() == 2\n",
        PER_MODULE,
    ),
    "session fixture of one module": (
        "@pytest.fixture(scope='session')\ndef a(): return Account()\n"
        "def test_a(a): assert a.pay() == 1\ndef test_b(a): assert a.pay() == 2\n",
        PER_MODULE,
    ),
    "fixture that a test asks for": (
        "@pytest.fixture(scope='module')\ndef a(): return Account()\n"
        "def test_a(request): assert request.getfixturevalue('a').pay() == 1\n"
        "def test_b(request): assert request.getfixturevalue('a').pay() == 2\n",
        PER_SUITE,
    ),
    "setup_module": (
        "def setup_module(m): m.a = Account()\n"
        "def test_a(): assert a.pay() == 1\ndef test_b(): assert a.pay() == 2\n",
        PER_MODULE,
    ),
    "setup_class": (
        "class TestX:\n    def setup_class(cls): cls.a = Account()\n"
        "    def test_a(self): assert self.a.pay() == 1\n"
        "    def test_b(self): assert self.a.pay() == 2\n",
        PER_MODULE,
    ),
    "setUpClass": (
        "class T(unittest.TestCase):\n    @classmethod\n"
        "    def setUpClass(cls): cls.a = Account()\n"
        "    def test_a(self): self.assertEqual(self.a.pay(), 1)\n"
        "    def test_b(self): self.assertEqual(self.a.pay(), 2)\n",
        PER_MODULE,
    ),
}


@pytest.mark.parametrize("kind", DEPENDENT)
def test_tests_that_build_on_each_other_find_what_was_left(grader: Grader, kind: str) -> None:
    module, span = DEPENDENT[kind]
    for _ in range(2):  # what was learned the first time holds the second
        report = grade(grader, module)

        assert report.verdict is Verdict.PASSED, report.feedback
        assert (report.state, report.integrity) == (span, Integrity.SPLIT)


def test_modules_with_fixtures_have_a_copy_each(grader: Grader) -> None:
    first = "@pytest.fixture(scope='module')\ndef a(): return inc()\n"
    first += "def test_a(a): assert a == 1\ndef test_b(a): assert inc() == 2\n"
    second = "def test_a(): assert inc() == 1\ndef test_b(): assert inc() == 1\n"

    report = grade(grader, first, second, first)

    assert report.verdict is Verdict.PASSED, report.feedback
    assert report.state is PER_MODULE


def test_suite_whose_reference_needs_it_has_one_process(grader: Grader) -> None:
    module = "def test_a(): assert inc() == 1\ndef test_b(): assert inc() == 2\n"
    wrong = CODE.replace("count += 1", "count += 2")

    reports = [
        grade(grader, module, code=code, reference=CODE) for code in (wrong, CODE, wrong, CODE)
    ]

    assert [report.state for report in reports] == [PER_SUITE] * 4
    assert [report.verdict for report in reports] == [Verdict.FAILED, Verdict.PASSED] * 2


def test_submission_that_is_right_from_the_second_call_on_is_not_right(grader: Grader) -> None:
    module = "def test_a(): assert inc()\n" + "".join(
        f"def test_{n}(): assert at_last({n}) == {n * n}\n" for n in range(2, 6)
    )

    report = grade(grader, module)

    assert report.verdict is Verdict.FAILED
    assert report.passed == 1


def test_cases_of_a_script_find_what_was_loaded(grader: Grader) -> None:
    def run(*cases: str, setup: str = "") -> GradeReport:
        rows = tuple(ScriptCase(id=str(i), source=case) for i, case in enumerate(cases))
        suite = TestSuite(
            tests=ScriptTests(cases=rows, setup=setup),
            format="x",
            extraction=ExtractionRule.VERBATIM,
        )
        return grader.grade(Submission(id="x", completion=CODE, suite=suite))

    fresh = run("assert inc() == 1", "assert inc() == 1", "assert inc() == 1\nassert inc() == 2")
    built = run("x = inc()", "assert inc() == x + 1")
    held = run("assert a.pay() == 1", "assert a.pay() == 2", setup="a = Account()")

    assert [report.verdict for report in (fresh, built, held)] == [Verdict.PASSED] * 3
    assert [report.state for report in (fresh, built, held)] == [PER_TEST, PER_SUITE, PER_SUITE]


def test_report_of_what_did_not_run_says_nothing_of_it(grader: Grader) -> None:
    assert grade(grader, INDEPENDENT["counts"], code="def f(:").state is None
