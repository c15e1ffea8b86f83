"""The compilers and interpreters of this machine, which tests in other languages need."""

import pytest

from grader import languages
from tests.conftest import missing

OUTSIDE_CI = frozenset({"csharp", "haskell", "ocaml", "r"})
"""Languages whose packages are too large to be installed in each run of CI."""


def need(*names: str) -> None:
    """Skip the test if this machine lacks a language; fail it if CI must have that language."""
    for name in names:
        if lacking := languages.missing([languages.languages()[name]]):
            words = f"there is no {', '.join(lacking)}"
            if name in OUTSIDE_CI:
                pytest.skip(f"{name} is not available: {words}")
            missing(name, words)
