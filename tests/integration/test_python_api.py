"""The public face: what `from grader import ...` gives, in plain and in asynchronous code."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

import grader
from grader import Grader, Settings, Submission, Verdict, parse_label
from grader.sandbox.native.backend import NativeSandbox

pytestmark = pytest.mark.timeout(60)

SUITE = parse_label('["assert add(1, 2) == 3"]')


def submissions() -> list[Submission]:
    """Return a right and a wrong one."""
    return [
        Submission(id="right", completion="def add(a, b):\n    return a + b\n", suite=SUITE),
        Submission(id="wrong", completion="def add(a, b):\n    return a - b\n", suite=SUITE),
    ]


EXPECTED = {"right": Verdict.PASSED, "wrong": Verdict.FAILED}


@pytest.fixture
def settings(native_sandbox: NativeSandbox) -> Settings:
    assert native_sandbox.name == "native"
    return Settings(sandbox=grader.SandboxChoice.NATIVE, slots=2)


def test_plain_form(settings: Settings) -> None:
    with Grader(settings) as opened:
        found = {each.id: report.verdict for each, report in opened.as_completed(submissions())}
        again = opened.grade_batch(submissions())
    assert found == EXPECTED
    assert [report.verdict for report in again] == list(EXPECTED.values())


def test_asynchronous_form_inside_a_running_loop(settings: Settings) -> None:
    async def grade() -> dict[str, Verdict]:
        async with Grader(settings) as opened:
            one = await opened.agrade(submissions()[0])
            assert one.verdict is Verdict.PASSED
            return {
                each.id: report.verdict async for each, report in opened.as_completed(submissions())
            }

    assert asyncio.run(grade()) == EXPECTED


def test_plain_form_inside_a_running_loop_as_in_a_notebook(settings: Settings) -> None:
    async def cell() -> list[Verdict]:
        with Grader(settings) as opened:
            return [report.verdict for report in opened.grade_batch(submissions())]

    assert asyncio.run(cell()) == list(EXPECTED.values())


def broken_off() -> Iterator[Submission]:
    yield from submissions()
    message = "row 3"
    raise ValueError(message)


def follow(opened: Grader, seen: dict[str, Verdict]) -> None:
    for each, report in opened.as_completed(broken_off()):
        seen[each.id] = report.verdict


def follow_asynchronously(opened: Grader, seen: dict[str, Verdict]) -> None:
    async def run() -> None:
        async for each, report in opened.as_completed(broken_off()):
            seen[each.id] = report.verdict

    asyncio.run(run())


@pytest.mark.parametrize("loop", [follow, follow_asynchronously])
def test_reports_before_broken_input_are_given_out(
    settings: Settings, loop: Callable[[Grader, dict[str, Verdict]], None]
) -> None:
    seen: dict[str, Verdict] = {}
    with Grader(settings) as opened, pytest.raises(ValueError, match="row 3"):
        loop(opened, seen)
    assert seen == EXPECTED


def test_every_public_name_can_be_imported() -> None:
    for name in grader.__all__:
        assert getattr(grader, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = grader.Nothing
