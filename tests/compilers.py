"""The compilers and interpreters of this machine, which tests in other languages need."""

from grader import languages
from tests.conftest import missing


def need(*names: str) -> None:
    """Skip the test if this machine lacks a language; fail it in CI."""
    for name in names:
        if lacking := languages.missing([languages.languages()[name]]):
            missing(name, f"there is no {', '.join(lacking)}")
