"""Programs and their results are sent unchanged, and anything else is refused."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.model import SuiteFile, Usage
from grader.model.errors import WireError
from grader.model.limits import Limits
from grader.model.verdict import LimitKind
from grader.queueing.programs import (
    ProgramResult,
    decode_program,
    decode_result,
    encode_result,
    is_program,
    make_program_job,
)
from grader.sandbox.contract import Commands, Program, RunBatch, RunOutcome
from sandbox_images.harness.wire import values

BATCH = RunBatch(
    program=Program.STDIN,
    source="print('\ud800 lone')",
    source_path="main.py",
    runs=(b"\x00\xff",),
    limits=Limits(cpu_time_s=1.5),
    files=(SuiteFile(path="a/b", content=b"\x80"),),
)
OUTCOME = RunOutcome(
    index=0,
    exit_code=None,
    exit_signal=9,
    stdout=b"\xff",
    stderr=b"",
    dropped_bytes=3,
    report=b"{}",
    usage=Usage(cpu_time_s=1.0, wall_time_s=2.0, peak_memory_bytes=None),
    limit_hit=LimitKind.MEMORY,
    oom_killed=True,
    forbidden_calls=("ptrace",),
)


@pytest.mark.parametrize(
    "program",
    [
        pytest.param(BATCH, id="python"),
        pytest.param(
            replace(
                BATCH,
                program=Program.COMMAND,
                commands=Commands(
                    run=("./program",),
                    compile=("cc", "-o", "program", "main.c"),
                    compile_limits=Limits(cpu_time_s=3.5),
                    environment={"LANG": "C"},
                ),
            ),
            id="another language",
        ),
    ],
)
def test_program_travels_unchanged(program: RunBatch) -> None:
    job = make_program_job(program, "science", 7.5)
    order = decode_program(job.ledger_entry(5).code.decode())
    assert (order.batch, order.image, order.clock_s) == (program, "science", 7.5)
    assert job.image == "science"
    assert is_program(json.loads(job.settings))


def _changed(**fields: object) -> str:
    """Return the code of a program with other fields."""
    told = values.decode(json.loads(make_program_job(BATCH, "python", 7.5).code))
    return json.dumps(values.encode({**told, **fields}))


@pytest.mark.parametrize("clock_s", [0, -1, math.nan, 10**400, "soon", None])
def test_invalid_clock_is_refused(clock_s: object) -> None:
    with pytest.raises(WireError):
        decode_program(_changed(clock_s=clock_s))


def test_equal_programs_are_two_jobs() -> None:
    assert make_program_job(BATCH, "python", 7.5).key != make_program_job(BATCH, "python", 7.5).key


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(ProgramResult(outcome=OUTCOME), id="outcome"),
        pytest.param(ProgramResult(outcome=None, reason="the slot broke"), id="reason"),
    ],
)
def test_result_travels_unchanged(result: ProgramResult) -> None:
    assert decode_result(encode_result(result)) == result
    assert make_program_job(BATCH, "python", 7.5).reader.decode(encode_result(result)) == result


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
_NAMES = st.sampled_from(("batch", "image", "clock_s"))


@settings(max_examples=50, deadline=None)
@given(_JSON)
def test_other_json_is_no_program_and_no_result(value: object) -> None:
    text = json.dumps(value)
    with pytest.raises(WireError):
        decode_program(text)
    with pytest.raises(WireError):
        decode_result(text.encode())


@settings(max_examples=50, deadline=None)
@given(_NAMES, _JSON)
def test_program_with_one_wrong_field_is_refused_or_well_formed(name: str, value: object) -> None:
    try:
        order = decode_program(_changed(**{name: value}))
    except WireError:
        return
    assert isinstance(order.batch, RunBatch)
    assert isinstance(order.image, str)
    assert order.clock_s > 0
