"""Which image variant tests or a submission need, by what they import."""

import re
import sys
from collections.abc import Iterator

SCIENCE_MODULES = frozenset(
    ["numpy", "pandas", "scipy", "sklearn", "sortedcontainers", "networkx", "sympy", "requests"]
)
"""The modules of the "science" image besides the standard library and pytest."""
_NAMED = re.compile(rf"\b(?:{'|'.join(sorted(SCIENCE_MODULES))})\b")
_PLAIN_MODULES = sys.stdlib_module_names | {"pytest", "solution"}
_IMPORT = re.compile(
    r"^[ \t]*(?:import[ \t]+([^\n#;]+)|from[ \t]+([\w.]+)[ \t]+import\b)", re.MULTILINE
)


def image_for(*sources: str | None) -> str:
    """Return the image variant that has the most of what these sources import."""
    found = (name for source in sources for name in _imported(source or ""))
    return "python" if SCIENCE_MODULES.isdisjoint(found) else "science"


def image_named_in(code: str) -> str:
    """Return the image variant that a submission may need.

    The code is hostile, and there are many ways to import a module, so mentioning one is enough.
    The "science" image has everything that the "python" image has, and may have been built with
    further packages, so it is tried for every import that the "python" image cannot satisfy.
    """
    if _NAMED.search(code):
        return "science"
    return "python" if _PLAIN_MODULES.issuperset(_imported(code)) else "science"


def _imported(source: str) -> Iterator[str]:
    """Yield the top-level names of the modules that import statements name."""
    for plain, origin in _IMPORT.findall(source):
        for part in [origin] if origin else plain.split(","):
            if name := part.strip().partition(" ")[0].partition(".")[0]:
                yield name
