"""When the interpreter looks for reference cycles."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from grader.model import MiB
from grader.process.garbage import RareCollection


class Cycle:
    """Refers to itself, so that only a collection frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _usual_collection_after() -> Iterator[None]:
    usual = gc.get_threshold()
    yield
    gc.set_threshold(*usual)
    gc.unfreeze()


@pytest.fixture
def begun() -> RareCollection:
    collection = RareCollection()
    collection.begin()
    return collection


@pytest.mark.parametrize(
    ("size", "is_freed"),
    [
        pytest.param(16 * MiB, False, id="at the limit"),
        pytest.param(16 * MiB + 1, True, id="above"),
    ],
)
def test_cycle_is_freed_once_texts_are_large(
    begun: RareCollection, size: int, is_freed: bool
) -> None:
    found = weakref.ref(Cycle())
    begun.count(size)
    assert (found() is None) == is_freed


@pytest.mark.usefixtures("begun")
def test_cycle_is_freed_once_objects_are_many() -> None:
    found = weakref.ref(Cycle())
    few = [[] for _ in range(5_000)]  # type: ignore[var-annotated]
    assert found() is not None
    many = [[] for _ in range(10_000)]  # type: ignore[var-annotated]
    assert found() is None
    assert few
    assert many


def test_nothing_changes_before_the_process_begins() -> None:
    usual = gc.get_threshold()
    gc.collect()
    found = weakref.ref(Cycle())
    RareCollection().count(1024 * MiB)
    assert found() is not None
    assert gc.get_threshold() == usual
