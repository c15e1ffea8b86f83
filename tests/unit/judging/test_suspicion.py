"""Signs of an attack, from the system calls and the report of a run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.judging.report import MAX_NODES, read_report, read_run
from grader.judging.suspicion import signs_of_calls, signs_of_report
from grader.model.verdict import Suspicion
from tests.outcomes import events, make_outcome

DONE = {"e": "done"}
PASSED = {"e": "case", "i": 0, "outcome": "passed"}
RESULT = {"e": "result", "value": 1}


@pytest.mark.parametrize(
    ("calls", "signs"),
    [
        pytest.param((), set(), id="none"),
        pytest.param(("socket",), {Suspicion.NETWORK}, id="network"),
        pytest.param(("ptrace",), {Suspicion.FORBIDDEN_CALL}, id="another"),
        pytest.param(
            ("ptrace", "socket"), {Suspicion.NETWORK, Suspicion.FORBIDDEN_CALL}, id="both"
        ),
    ],
)
def test_refused_calls_are_signs(calls: tuple[str, ...], signs: set[Suspicion]) -> None:
    assert set(signs_of_calls(make_outcome(forbidden_calls=calls))) == signs


@pytest.mark.parametrize(
    ("lines", "ending", "signs"),
    [
        pytest.param([PASSED, DONE], {}, set(), id="honest"),
        pytest.param([PASSED], {}, {Suspicion.EARLY_EXIT}, id="exit before the end"),
        pytest.param([PASSED], {"exit_signal": 9}, set(), id="crash before the end"),
        pytest.param([{"e": "looked", "at": "frames"}, DONE], {}, {Suspicion.LOOKED}, id="look"),
        pytest.param([{"e": "forged_frame"}], {}, {Suspicion.FORGED_FRAME}, id="forged frame"),
        pytest.param([PASSED, PASSED, DONE], {}, {Suspicion.FORGED_REPORT}, id="a case twice"),
        pytest.param([RESULT, RESULT, DONE], {}, set(), id="as many results as calls"),
        pytest.param([RESULT] * 3 + [DONE], {}, {Suspicion.FORGED_REPORT}, id="too many results"),
    ],
)
def test_report_has_signs(
    lines: list[dict[str, Any]], ending: dict[str, Any], signs: set[Suspicion]
) -> None:
    run = read_run(make_outcome(report=events(*lines), **ending))
    assert set(signs_of_report(run, calls=2)) == signs


KINDS = (
    "compile_error exception result unencodable collected collect_error case start done "
    "forged_frame looked refused"
).split()
FIELDS = "i id ids at type message traceback line path outcome reason value exit".split()
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
anything = leaves | st.lists(leaves, max_size=3)


@given(
    st.lists(
        st.fixed_dictionaries(
            {"e": st.sampled_from(KINDS) | anything},
            optional=dict.fromkeys(FIELDS[1:], anything),
        ),
        max_size=8,
    )
)
def test_report_of_any_events_is_read_and_hashable_but_for_values(
    lines: list[dict[str, Any]],
) -> None:
    report = events(*lines)
    found = read_report(report)
    # Hashable parts are immutable, so one reader cannot change them for another.
    parts = (getattr(found, name) for name in type(found).__slots__ if name != "values")
    assert hash(tuple(parts)) is not None
    assert isinstance(found.values, tuple)
    assert read_report(report, max_nodes=MAX_NODES) == found
