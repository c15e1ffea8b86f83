"""Every run, a judge's too, has namespaces that no other process is in."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path

import pytest

from grader.model.verdict import Verdict
from grader.sandbox.contract import Program, RunBatch, Slot
from grader.sandbox.payload import Apart
from tests.hostile.conftest import LIMITS, PRELUDE, Target
from tests.hostile.judged_suites import Suite, grade, run_script, verdicts

KINDS = ("user", "pid", "mnt", "ipc", "uts")

LINKS = "{kind: os.readlink(f'/proc/self/ns/{kind}') for kind in " + repr(KINDS) + "}"


def test_user_namespace_maps_one_user_and_nothing_more(target: Target) -> None:
    found = target.tell_all(
        {
            "users": "open('/proc/self/uid_map').read().split()",
            "groups": "open('/proc/self/gid_map').read().split()",
            "setgroups": "open('/proc/self/setgroups').read()",
            "ids": "[*os.getresuid(), *os.getresgid()]",
        }
    )
    for mapping in (found["users"], found["groups"]):
        assert (mapping[0], mapping[2], len(mapping)) == ("20000", "1", 3)
    assert found["setgroups"] == "deny\n"
    assert found["ids"] == [20000] * 6


APART = Suite(
    right=f"import os\ndef links():\n    return {LINKS}\n",
    module="import os\nfrom solution import links\n"
    "def test_apart():\n"
    f"    theirs, ours = links(), {LINKS}\n"
    "    assert sorted(theirs) == sorted(ours)\n"
    "    assert [kind for kind in ours if theirs[kind] == ours[kind]] == []\n",
)


def test_tests_and_submission_are_in_none_together(target: Target) -> None:
    apart = run_script(target.slot, APART, APART.right, Apart(names=("links",)))
    assert b'"outcome": "passed"' in apart.report, apart
    # The test can tell: in one process it fails.
    together = grade(target.slot, APART, APART.right).cases
    assert [case.verdict for case in together] == [Verdict.FAILED], verdicts(together)


def test_runs_at_the_same_time_are_in_none_together_and_nobody_else_is(
    target: Target, open_slot: Callable[[], Slot]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may look at other users' namespaces")
    source = f"{PRELUDE}\nprint(json.dumps({LINKS}), flush=True)\ntime.sleep(1.5)"
    batch = RunBatch(program=Program.STDIN, source=source, runs=(b"",), limits=LIMITS)

    def links_in(slot: Slot) -> dict[str, str]:
        (outcome,) = slot.run(batch)
        links: dict[str, str] = json.loads(outcome.stdout)
        return links

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(links_in, slot) for slot in (target.slot, open_slot())]
        views = []
        while not all(future.done() for future in running):
            views.append(Counter(_user_namespaces()))
            wait(running, timeout=0.1)
        first, second = (future.result() for future in running)
    assert {kind: first[kind] for kind in KINDS if first[kind] == second[kind]} == {}
    own = {first["user"], second["user"]}
    assert {view[user] for view in views if own <= view.keys() for user in own} == {1}


def _user_namespaces() -> Iterator[str]:
    """Yield, for each process of the host, which user namespace it is in."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended while we looked
            yield str((process / "ns" / "user").readlink())
