"""The known names that are nearest to an unknown one, for messages."""

import difflib
from collections.abc import Iterable
from itertools import islice

_COMPARED = 20_000
"""Most names that are compared, which takes a tenth of a second."""
_SHOWN = 3


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names like this one; if none is like it, the first of them."""
    names = list(islice(known, _COMPARED))
    return difflib.get_close_matches(name, names, n=_SHOWN) or names[:_SHOWN]
