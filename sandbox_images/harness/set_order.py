"""Sets that are iterated in the order in which an equal one was.

Nobody promises an order of a set's items, but code relies on it, and tests do. In CPython it
follows from the size of the hash table and from which items met in it, and so from how the set
came to be: the literal `{16, 12, 15}` has another table than `set([16, 12, 15])`. A set that is
made anew of the items of another is therefore made in the ways in which sets usually come to be,
until one gives the same order, and else put together place by place.
"""

from collections.abc import Hashable, Iterable, Iterator

from sandbox_images.harness import values

_MOST_ITEMS = 500
"""Of a set that is put together; a larger one is made in the common ways only."""
_TABLES = 5
"""How many sizes of table are tried, each twice the one before."""
_STEPS_PER_ITEM = 10
"""How often a place may be chosen, before the search for a table is given up."""
_PLAIN = (*values.LEAF_TYPES, bool, str, tuple, frozenset)
"""Types of items whose hash costs no call to another process, and is the same there."""
_LINEAR_PROBES = 9
_PERTURB_SHIFT = 5
_WORD = (1 << 64) - 1
_MOST_CHOICES = 40
"""Places at which an item is looked for, after the one that is taken last."""


def fill(target: set[Hashable], items: list[Hashable]) -> None:
    """Make a set hold `items`, and where it can be done, in their order."""
    for source in _sources(items):
        target.clear()
        target.update(source)
        if _same_order(target, items):
            return
    if len(target) == len(items) and _put_together(target, items):
        return
    target.clear()
    target.update(items)


def frozen(items: list[Hashable]) -> frozenset[Hashable]:
    """Return a frozenset of `items`, where it can be done in their order."""
    made: frozenset[Hashable] = frozenset()
    for source in _sources(items):
        made = frozenset(source)
        if _same_order(made, items):
            return made
    if len(made) == len(items):
        for size, places in _tables(items):
            ordered = _insertion_order(items, places, size - 1)
            # A dict makes room for all at once, as a set would, but has an order of its own.
            for source in (ordered, dict.fromkeys(ordered)):
                made = frozenset(source)
                if _same_order(made, items):
                    return made
    return frozenset(items)


def _sources(items: list[Hashable]) -> Iterator[Iterable[Hashable]]:
    """Yield what a set of `items` is commonly made from: item by item, or from another set."""
    yield items
    yield set(items)


def _same_order(found: Iterable[Hashable], items: list[Hashable]) -> bool:
    return all(one is other for one, other in zip(found, items, strict=False))


# ---------------------------------------------------------------- place by place


def _put_together(target: set[Hashable], items: list[Hashable]) -> bool:
    """Try tables of several sizes, and tell whether one gave the order."""
    for size, places in _tables(items):
        ordered = _insertion_order(items, places, size - 1)
        for opening in _openings(items, ordered, places, size):
            _insert(target, opening, ordered)
            if len(target) == len(items) and _same_order(target, items):
                return True
    return False


def _tables(items: list[Hashable]) -> Iterator[tuple[int, list[int]]]:
    """Yield tables in which the items may lie in their order: size, and the place of each."""
    if len(items) > _MOST_ITEMS or not all(type(item) in _PLAIN for item in items):
        return
    hashes = [hash(item) for item in items]
    size = 8
    while 5 * len(items) >= 3 * (size - 1):
        size *= 2
    for _ in range(_TABLES):
        places = _find_places(hashes, size - 1)
        if places is not None:
            yield size, places
        size *= 2


def _openings(
    items: list[Hashable], ordered: list[Hashable], places: list[int], size: int
) -> Iterator[Iterable[Hashable]]:
    """Yield what a set may begin with for its table to get that size.

    That is nothing, for a table grows by itself; or all items at once; or items that lie where
    they belong, and so get there in any order, with numbers, where those are too few, that lie
    where no item comes by and are taken out at the end.
    """
    yield ()
    yield dict.fromkeys(ordered)
    home = [item for item, place in zip(items, places, strict=True) if _is_home(item, place, size)]
    taken = set(places)
    fillers = [place + size * 3 for place in range(size) if place not in taken]
    # A table that is filled from a set of five and more gets the next power of two after twice
    # its size; one filled one by one grows to four times what is in it at three fifths.
    count = max(5, size // 4)
    yield set([*home, *fillers][:count])
    yield [*home, *fillers][: 3 * size // 20 + 1]


def _is_home(item: Hashable, place: int, size: int) -> bool:
    return hash(item) & (size - 1) == place


def _insert(target: set[Hashable], opening: Iterable[Hashable], ordered: list[Hashable]) -> None:
    target.clear()
    target.update(opening)
    for item in ordered:
        target.add(item)
    for filler in target.difference(ordered):
        target.discard(filler)


def _find_places(hashes: list[int], mask: int) -> list[int] | None:
    """Return rising places of a table in which items with these hashes may lie; None: none.

    An item lies at the first place of its probes that was free; those before are taken. So each
    item gets the first place after the one before it, unless an earlier probe has to stay free.
    """
    owed: set[int] = set()
    """Places further on that must be taken, since an item has passed them."""
    places: list[int] = []
    taken: set[int] = set()
    choices: list[tuple[Iterator[int], set[int]]] = []
    steps = _STEPS_PER_ITEM * len(hashes)
    index = 0
    while index < len(hashes):
        if index == len(choices):
            last = places[-1] if places else -1
            choices.append((_choices(hashes[index], mask, taken, last), owed))
        found, owed = choices[index]
        before = places[-1] if places else -1
        for place in found:
            steps -= 1
            passed = {p for p in _passed(hashes[index], mask, place) if p > before}
            between = range(before + 1, place)
            if steps < 0:
                return None
            if any(p in owed or p in passed for p in between):
                continue
            owed = (owed | passed) - {place}
            places.append(place)
            taken.add(place)
            index += 1
            break
        else:
            choices.pop()
            if not choices:
                return None
            index -= 1
            taken.remove(places.pop())
    return None if owed else places


def _choices(hashed: int, mask: int, taken: set[int], last: int) -> Iterator[int]:
    """Yield the places after `last`, the last that is taken, to which an item's probes may lead."""
    seen: set[int] = set()
    for place in _probes(hashed, mask):
        if place > last:
            if place not in seen:
                yield place
            seen.add(place)
        elif place not in taken:
            return  # it would lie there
        if len(seen) > _MOST_CHOICES:
            return


def _passed(hashed: int, mask: int, place: int) -> Iterator[int]:
    """Yield the places that an item's probes come by before `place`."""
    for probe in _probes(hashed, mask):
        if probe == place:
            return
        yield probe


def _insertion_order(items: list[Hashable], places: list[int], mask: int) -> list[Hashable]:
    """Return the items in an order in which each finds taken what its probes have to pass."""
    at = dict(zip(places, items, strict=True))
    ordered: dict[int, Hashable] = {}
    begun = set()
    # Those at home first: they get there in any order.
    to_do = sorted(places, key=lambda place: _is_home(at[place], place, mask + 1))
    while to_do:
        place = to_do[-1]
        missing = [p for p in _passed(hash(at[place]), mask, place) if p not in ordered]
        if place in ordered or not missing or place in begun:
            to_do.pop()
            ordered.setdefault(place, at[place])
        else:
            begun.add(place)
            to_do += missing
    return list(ordered.values())


def _probes(hashed: int, mask: int) -> Iterator[int]:
    """Yield the places where CPython looks for an item, one after another."""
    perturb = hashed & _WORD
    place = hashed & mask
    while True:
        run = _LINEAR_PROBES if place + _LINEAR_PROBES <= mask else 0
        yield from range(place, place + run + 1)
        perturb >>= _PERTURB_SHIFT
        place = (place * 5 + 1 + perturb) & mask
