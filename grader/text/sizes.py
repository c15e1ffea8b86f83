"""Sizes as people write them."""

import re

_KiB = 1024
_UNITS = {
    "": 1,
    "b": 1,
    "k": _KiB,
    "kib": _KiB,
    "m": _KiB**2,
    "mib": _KiB**2,
    "g": _KiB**3,
    "gib": _KiB**3,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes that a size such as "512MiB", "64k" or "1048576" means.

    Raises:
        ValueError: It is not a size.
    """
    match = _SIZE.fullmatch(text)
    if match is None or match[2].lower() not in _UNITS:
        message = f"{text!r} is not a size"
        raise ValueError(message)
    return int(float(match[1]) * _UNITS[match[2].lower()])
