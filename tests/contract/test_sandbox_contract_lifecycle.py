"""Slots and runs: fresh each time, one at a time, and gone when they are closed."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from grader.model.errors import ImageNotFoundError, SandboxUnavailableError
from grader.sandbox.connection import SlotConnection
from grader.sandbox.contract import Sandbox, Slot
from tests.contract.conftest import MEMORY_BYTES, make_batch, run_one
from tests.deployment import wait_until

HELLO = "print('hello')"

OpenSlot = Callable[[], Slot]


# ---------------------------------------------------------------- runs


def test_runs_come_in_order_each_with_its_input(slot: Slot) -> None:
    outcomes = list(slot.run(make_batch("print(input())", b"a\n", b"b\n", b"c\n")))
    assert [(o.index, o.stdout) for o in outcomes] == [(0, b"a\n"), (1, b"b\n"), (2, b"c\n")]


def test_outcome_is_yielded_while_later_runs_wait(slot: Slot) -> None:
    source = "import time\nif input() == 'slow': time.sleep(600)"
    outcomes = slot.run(make_batch(source, b"quick\n", b"slow\n", limits={"wall_time_s": 600}))
    assert next(outcomes).index == 0
    outcomes.close()


def test_slot_takes_batch_after_batch(slot: Slot) -> None:
    assert [run_one(slot, make_batch(f"print({n})")).stdout for n in range(5)] == [
        f"{n}\n".encode() for n in range(5)
    ]


def test_each_run_finds_an_empty_work_area(slot: Slot) -> None:
    source = """
import os
print(sorted(os.listdir('.')))
open('left', 'w').close()
os.chmod('.', 0o700)
"""
    outcomes = list(slot.run(make_batch(source, b"", b"")))
    again = run_one(slot, make_batch(source))
    assert [o.stdout for o in (*outcomes, again)] == [b"['solution.py']\n"] * 3


def test_each_run_finds_a_fresh_process(slot: Slot) -> None:
    source = """
import os, sys
print(os.environ.get('MARK'), 'marked' in sys.modules, os.getcwd() == sys.path[0])
os.environ['MARK'] = 'yes'
open('marked.py', 'w').close()
import marked
sys.path.clear()
os.chdir('/')
"""
    outcomes = list(slot.run(make_batch(source, b"", b"")))
    assert [o.stdout for o in outcomes] == [b"None False True\n"] * 2


@pytest.mark.usefixtures("isolated")
def test_patched_builtins_do_not_reach_the_next_run(slot: Slot) -> None:
    source = "import builtins\nprint(hasattr(builtins, 'mark'))\nbuiltins.mark = 1"
    outcomes = list(slot.run(make_batch(source, b"", b"")))
    assert [o.stdout for o in outcomes] == [b"False\n"] * 2


@pytest.mark.usefixtures("isolated")
@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])  # noqa: S108 - of the sandbox
def test_shared_folders_are_private_to_a_run(slot: Slot, place: str) -> None:
    source = f"import os\nprint(os.listdir('{place}'))\nopen('{place}/left', 'w').close()"
    outcomes = list(slot.run(make_batch(source, b"", b"")))
    assert [o.stdout for o in outcomes] == [b"[]\n"] * 2


@pytest.mark.usefixtures("isolated")
def test_process_left_behind_neither_delays_nor_survives_its_run(slot: Slot) -> None:
    source = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(60)
    os._exit(0)
os.wait()
"""
    # If the slot had waited for it, this would be a limit.
    assert run_one(slot, make_batch(source)).limit_hit is None
    listing = "import os\nprint(sum(name.isdigit() for name in os.listdir('/proc')))"
    seen = int(run_one(slot, make_batch(listing)).stdout)
    assert seen <= 2  # the run and its pid namespace's first process


# ---------------------------------------------------------------- closing the iterator early


def test_closing_the_iterator_drops_the_runs_that_are_left(slot: Slot) -> None:
    source = "import time\nprint(word := input(), flush=True)\nif word != 'first': time.sleep(600)"
    runs = (b"first\n", b"second\n", b"third\n")
    outcomes = slot.run(make_batch(source, *runs, limits={"wall_time_s": 600}))
    assert next(outcomes).stdout == b"first\n"
    # Also the one that has begun.
    outcomes.close()
    assert run_one(slot, make_batch(HELLO)).stdout == b"hello\n"


# ---------------------------------------------------------------- slots


def test_slots_have_names_of_their_own(open_slot: OpenSlot, backend: str) -> None:
    names = {open_slot().name, open_slot().name}
    assert len(names) == 2
    kind = "docker-runsc-reduced" if backend == "runsc" else backend
    assert all(name.startswith(f"{kind}-") for name in names)


def test_slots_open_and_work_side_by_side(open_slot: OpenSlot) -> None:
    def use(number: int) -> bytes:
        return run_one(open_slot(), make_batch(f"print({number})")).stdout

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(use, range(4))) == [b"0\n", b"1\n", b"2\n", b"3\n"]


def test_unknown_image_is_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ImageNotFoundError, match="nosuch"):
        sandbox.open_slot(image="nosuch", memory_bytes=MEMORY_BYTES)


def test_closed_slot_is_unavailable_and_closes_again(open_slot: OpenSlot) -> None:
    slot = open_slot()
    assert slot.is_alive()
    slot.close()
    slot.close()
    assert not slot.is_alive()
    with pytest.raises(SandboxUnavailableError):
        run_one(slot, make_batch(HELLO))


@pytest.mark.usefixtures("isolated")
def test_slot_closed_by_another_thread_ends_a_run_in_progress(open_slot: OpenSlot) -> None:
    slot = open_slot()
    timer = threading.Timer(0.3, slot.close)
    timer.start()
    with pytest.raises(SandboxUnavailableError):
        run_one(slot, make_batch("import time\ntime.sleep(600)", limits={"wall_time_s": 600}))
    timer.join()


@pytest.mark.usefixtures("isolated")
def test_slot_that_died_while_it_was_idle_says_so(
    open_slot: OpenSlot, kill_slot: Callable[[SlotConnection], None]
) -> None:
    slot = open_slot()
    assert isinstance(slot, SlotConnection)
    run_one(slot, make_batch(HELLO))
    assert slot.is_alive()
    kill_slot(slot)
    wait_until(lambda: not slot.is_alive(), 10, "the slot is seen to be dead")
    slot.close()
    assert not slot.is_alive()


@pytest.mark.usefixtures("isolated")
def test_slot_that_dies_behind_our_back_is_unavailable(
    open_slot: OpenSlot, kill_slot: Callable[[SlotConnection], None]
) -> None:
    slot = open_slot()
    assert isinstance(slot, SlotConnection)
    outcomes = slot.run(make_batch("import time\nif input(): time.sleep(9)", b"\n", b"slow\n"))
    next(outcomes)
    kill_slot(slot)
    with pytest.raises(SandboxUnavailableError, match=slot.name):
        next(outcomes)
    with pytest.raises(SandboxUnavailableError):
        run_one(slot, make_batch(HELLO))


def test_sandbox_closes_the_slots_that_are_open(new_sandbox: Callable[[], Sandbox]) -> None:
    sandbox = new_sandbox()
    slots = [sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES) for _ in range(2)]
    sandbox.close()
    sandbox.close()
    for slot in slots:
        with pytest.raises(SandboxUnavailableError):
            run_one(slot, make_batch(HELLO))


@pytest.mark.usefixtures("isolated")
def test_closed_slot_leaves_nothing(open_slot: OpenSlot, remains: Callable[[], set[str]]) -> None:
    before = remains()
    slot = open_slot()
    next(slot.run(make_batch(HELLO)))
    assert remains() > before
    slot.close()
    assert remains() == before


def test_layers_are_named_with_their_state(sandbox: Sandbox) -> None:
    layers = sandbox.layers()
    assert layers
    assert all((*layers, *layers.values()))


def test_environment_of_an_image_has_a_name_that_stays(sandbox: Sandbox) -> None:
    assert sandbox.environment("python") == sandbox.environment("python") != ""


def test_environment_of_an_image_that_is_missing_has_another_name(sandbox: Sandbox) -> None:
    assert sandbox.environment("fortran") != sandbox.environment("python")
