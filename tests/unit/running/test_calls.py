"""What a label may call."""

from contextlib import closing

import pytest

from grader.model import CallCase, CallTests, Limits
from grader.model.errors import SuiteError
from grader.running.compared import run_calls
from grader.running.references import References
from grader.running.task import Task
from tests.factories import make_suite
from tests.fake.backend import FakeSandbox


@pytest.mark.parametrize("name", ["class", "Solution.lambda", "f(1)", "f\ng", "a.b.c", "", ".f"])
def test_name_that_python_cannot_define_is_the_labels_fault(name: str) -> None:
    tests = CallTests(entry_point=name, cases=(CallCase(id="0", expected=1),))
    task = Task(
        suite=make_suite(tests),
        code="def f(): return 1",
        limits=Limits(),
        stop_early=False,
        require=None,
    )
    with (
        closing(FakeSandbox().open_slot(image="python", memory_bytes=256 << 20)) as slot,
        pytest.raises(SuiteError, match="cannot be the name of a function in Python"),
    ):
        run_calls(task, tests, slot, References())
