"""The cases of a suite, as its source and as a run names them."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from grader.source.pytest_tests import base_id


@dataclass(frozen=True, slots=True, order=True)
class CaseKey:
    """A case, or all cases of one test with parameters.

    pytest's ids have parameters in them, so changing a parameter may change an id. The order of a
    test's cases stays the same.
    """

    base: str
    """The id of a script's case, or a pytest node id without parameters."""
    row: int | None = None
    """The row of the parameters, from 0; None: all rows."""
    rows: int | None = None
    """The number of rows. If fixtures have parameters, too, the test has more cases than that."""

    @property
    def test(self) -> "CaseKey":
        """All cases of its test."""
        return CaseKey(self.base)


def keys_of(ids: Collection[str]) -> dict[str, CaseKey]:
    """Return the case that each id of a run means.

    Args:
        ids: Ids of all cases of a suite, in order.
    """
    bases = [(id, base_id(id)) for id in ids]
    counts = Counter(base for id, base in bases if base != id)
    seen: Counter[str] = Counter()
    keys = {}
    for id, base in bases:
        if base == id:
            keys[id] = CaseKey(id)
        else:
            keys[id] = CaseKey(base, seen[base], counts[base])
            seen[base] += 1
    return keys


def settled_ids(runs: Sequence[Mapping[CaseKey, str]]) -> dict[CaseKey, str]:
    """Return the id that each case has in the suite as it is.

    pytest numbers the rows of a test that have the same id. In a run that changes one of them, the
    others have other numbers, or none.

    Args:
        runs: For each run, the ids of the cases that were unchanged.
    """
    settled = {key: id for run in runs for key, id in run.items()}
    found: dict[str, list[dict[CaseKey, str]]] = {}
    for run in runs:
        rows: dict[str, dict[CaseKey, str]] = {}
        for key, id in run.items():
            name = id.removesuffix("]")
            rows.setdefault(name, {})[key] = ""
            if number := _NUMBER.search(name):
                rows.setdefault(name[: number.start()], {})[key] = number[0].lstrip("_")
        for name, numbers in rows.items():
            found.setdefault(name, []).append(numbers)
    # If both "x" and "x1" could be the name of rows, pytest has made "x1" from "x": longest first.
    for name, numbered in sorted(found.items(), key=lambda item: len(item[0]), reverse=True):
        if all(map(_are_counted, numbered)):
            gap = "_" if name[-1].isdigit() else ""
            keys = sorted({key for numbers in numbered for key in numbers})
            if len(keys) > 1:
                settled.update((key, f"{name}{gap}{n}]") for n, key in enumerate(keys))
    return settled


_NUMBER = re.compile(r"(?<=\d)_\d+$|(?<=\D)\d+$")


def _are_counted(numbers: Mapping[CaseKey, str]) -> bool:
    """Tell whether cases are numbered as pytest does it, with no number if there is one case."""
    expected = [str(n) for n in range(len(numbers))] if len(numbers) > 1 else [""]
    return [numbers[key] for key in sorted(numbers)] == expected
