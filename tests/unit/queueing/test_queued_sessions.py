"""What a worker does for a client's session, without a queue between them."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.model import Limits
from grader.queueing.programs import decode_result
from grader.queueing.sessions import perform
from grader.sandbox.contract import SlotSession
from tests.fake.backend import FakeSandbox

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def open_session() -> SlotSession:
    slot = FakeSandbox().open_slot(image="python", memory_bytes=1)
    return slot.open_session(Limits(), states=8)


def step(session: SlotSession, cell: str, **fields: Any) -> Any:
    request = {"op": "step", "state": 0, "cell": cell, "limits": asdict(Limits()), "files": []}
    return json.loads(json.dumps(perform(session, {**request, **fields})))


def test_step_is_answered_with_what_it_came_to() -> None:
    session = open_session()
    answer = step(session, "print('seen')", files=[["in", "AAE="]])
    assert (answer["state"], answer["problem"], answer["is_gone"]) == (1, None, False)
    outcome = decode_result(answer["run"].encode()).outcome
    assert outcome is not None
    assert outcome.exit_code == 0
    assert perform(session, {"op": "list", "state": 1}) == {"sizes": {"in": 2}}
    assert perform(session, {"op": "read", "state": 1, "paths": ["in", "no"]}) == {
        "files": {"in": "AAE="}
    }
    assert perform(session, {"op": "drop", "states": [1]}) == {}
    assert step(session, "1", state=1)["is_gone"]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        pytest.param({"op": "list", "state": 9}, "input", id="gone"),
        pytest.param({"op": "explode"}, "input", id="unknown"),
        pytest.param({"op": "read"}, "input", id="incomplete"),
        pytest.param({"op": "step", "state": "x"}, "input", id="no-number"),
        pytest.param(
            {"op": "step", "state": 0, "cell": "1", "limits": {"more": 1}, "files": []},
            "input",
            id="unknown-limit",
        ),
    ],
)
def test_request_that_makes_no_sense_is_told(request_: Any, error: str) -> None:
    answer = perform(open_session(), request_)
    assert answer["error"] == error
    assert answer["message"]


def test_session_that_has_ended_is_told() -> None:
    session = open_session()
    session.close()
    assert perform(session, {"op": "list", "state": 0})["error"] == "lost"


@given(
    op=st.sampled_from(["step", "read", "list", "drop", "other"]),
    fields=st.dictionaries(st.sampled_from(["state", "paths", "states", "limits", "files"]), JSON),
)
def test_any_request_gets_an_answer(op: str, fields: dict[str, Any]) -> None:
    json.dumps(perform(open_session(), {**fields, "op": op}))
