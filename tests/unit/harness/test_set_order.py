"""Sets made anew of their items, in the order of the set that they came from."""

import random
from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any

import pytest

from sandbox_images.harness.set_order import fill, frozen

MADE: dict[str, Callable[[list[Any]], set[Any]]] = {
    "item by item": set,
    "from a constant": lambda items: set(frozenset(items)),
    "as a copy": lambda items: set(items).copy(),
    "as a union": lambda items: set(items[::2]) | set(items[1::2]),
    "as a difference": lambda items: set(items) - set(items[::5]),
    "as an intersection": lambda items: set(items) & set(items[::2]),
    "with items removed": lambda items: _without(items, items[::4]),
}
"""How sets come to be."""

OFTEN = {"with items removed": 0.6, "as a difference": 0.8, "multiples": 0.75, "floats": 0.95}
"""What share is put in order where items were removed, which leaves traces that nobody sees, or
where most of them belong to few places of the table, as floats' fractions do."""

POOLS: dict[str, Callable[[random.Random], Hashable]] = {
    "small numbers": lambda rng: rng.randrange(-50, 100),
    "large numbers": lambda rng: rng.randrange(10**12),
    "multiples": lambda rng: rng.randrange(300) * 64,
    "floats": lambda rng: rng.randrange(400) / 8,
    "tuples": lambda rng: (rng.randrange(9), rng.randrange(9)),
}
"""Items whose hash is the same in every process."""


def _without(items: list[Any], removed: list[Any]) -> set[Any]:
    made = set(items)
    for item in removed:
        made.discard(item)
    return made


@pytest.mark.parametrize("pool", sorted(POOLS))
@pytest.mark.parametrize("made", sorted(MADE))
def test_set_gets_the_order_of_the_one_it_came_from(made: str, pool: str) -> None:
    rng = random.Random(f"{made} {pool}")  # noqa: S311 - nobody is to be surprised
    orders = []
    for _ in range(60):
        items = [POOLS[pool](rng) for _ in range(rng.choice([2, 3, 5, 6, 8, 12, 17, 25, 60]))]
        original = MADE[made](items)
        anew: set[Hashable] = set()
        fill(anew, list(original))
        assert anew == original
        orders.append(list(anew) == list(original))
    assert sum(orders) / len(orders) >= min(OFTEN.get(made, 0.98), OFTEN.get(pool, 0.98))


@pytest.mark.parametrize("pool", sorted(POOLS))
def test_frozenset_gets_the_order_of_the_one_it_came_from(pool: str) -> None:
    rng = random.Random(pool)  # noqa: S311 - nobody is to be surprised
    orders = []
    for number in range(60):
        items = [POOLS[pool](rng) for _ in range(rng.choice([2, 3, 5, 6, 8, 12, 17, 25, 60]))]
        original = frozenset(items if number % 2 else set(items))
        anew = frozen(list(original))
        assert anew == original
        orders.append(list(anew) == list(original))
    assert sum(orders) / len(orders) >= OFTEN.get(pool, 0.98)


def test_order_of_a_constant_and_of_a_list_differ() -> None:
    """What makes all of this necessary."""
    assert list({12, 13, 14, 15, 16}) != list(set([12, 13, 14, 15, 16]))  # noqa: C405 - that is it


def test_set_that_is_filled_again_holds_nothing_of_before() -> None:
    target: set[Hashable] = {1, 2, 3}
    fill(target, [16, 12, 13, 14, 15])
    assert list(target) == [16, 12, 13, 14, 15]


def test_items_that_repeat_are_one() -> None:
    target: set[Hashable] = set()
    fill(target, [3, 1, 3, 2])
    assert target == {1, 2, 3}
    assert frozen([3, 1, 3, 2]) == {1, 2, 3}


def test_order_that_no_table_gives_is_let_go() -> None:
    target: set[Hashable] = set()
    fill(target, [3, 1, 2])
    assert target == {1, 2, 3}


def test_large_set_is_made_in_a_common_way() -> None:
    original = set(range(5_000, 105_000))
    anew: set[Hashable] = set()
    fill(anew, list(original))
    assert anew == original


def test_items_of_any_kind_are_kept() -> None:
    class Odd:
        """Hashed by where it lies."""

    items: list[Hashable] = [Odd(), Decimal("1.5"), None, "text", (1, "a"), b"b", Odd()]
    target: set[Hashable] = set()
    fill(target, items)
    assert target == set(items)
