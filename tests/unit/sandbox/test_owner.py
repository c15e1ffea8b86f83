"""Owners: alive, dead, replaced, or beyond what can be known."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from grader.sandbox.owner import Owner


def test_label_reads_back() -> None:
    assert Owner.parse(Owner.current().label) == Owner.current()


def test_owner_is_this_process() -> None:
    assert Owner.current().pid == os.getpid()


@pytest.mark.parametrize("text", ["", "x", "/1/2", "machine/notanumber/3", "machine//"])
def test_foreign_label_is_no_owner(text: str) -> None:
    assert Owner.parse(text) is None


def test_living_process_is_not_gone() -> None:
    assert not Owner.current().is_gone()


def test_dead_process_is_gone() -> None:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    assert replace(Owner.current(), pid=done.pid).is_gone()


def test_later_process_of_the_same_number_is_not_the_owner() -> None:
    assert replace(Owner.current(), started="1").is_gone()


def test_owner_on_another_machine_is_never_known_to_be_gone() -> None:
    assert not replace(Owner.current(), machine="elsewhere", pid=2**22 + 1).is_gone()


def test_living_owner_is_not_gone_for_a_process_to_which_it_started_at_another_time() -> None:
    program = (
        "import sys; from grader.sandbox.owner import Owner;"
        " print(Owner.parse(sys.argv[1]).is_gone())"
    )
    shifted = ["unshare", "--user", "--map-root-user", "--time", "--boottime", "9999", "--fork"]
    asked = [*shifted, sys.executable, "-c", program, Owner.current().label]
    told = subprocess.run(asked, check=False, capture_output=True, text=True)
    if told.returncode != 0:
        pytest.skip(f"no time namespace can be made: {told.stderr.strip()}")
    assert told.stdout == "False\n"
