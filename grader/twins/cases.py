"""The cases of a suite, as its source and as a run names them."""

from collections import Counter
from collections.abc import Collection
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
