"""The languages of submissions, other than Python.

Each module here describes one language, with its dialects in a tuple `LANGUAGES`, except for
`language` and for those called `..._tests`, which read tests in one language. All modules of this
package are found. No code outside of it depends on which language it has.
"""

import pkgutil
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from grader.languages.language import (
    COMPILE_LIMITS,
    PREBUILT,
    Assertions,
    CallDriver,
    ErrorWords,
    Exercises,
    Language,
    Prebuilt,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    call_driver,
    in_type_of_call,
    name_pattern,
    spelled,
    with_closed_blocks,
)
from grader.model import Checker, InteractiveTests, StdinTests, Tests, TestSuite
from grader.model.errors import LabelError

__all__ = [
    "ANY",
    "COMPILE_LIMITS",
    "PREBUILT",
    "PYTHON",
    "PYTHON_NAMES",
    "Assertions",
    "CallDriver",
    "ErrorWords",
    "Exercises",
    "Language",
    "Prebuilt",
    "SourceFile",
    "TranslatedTests",
    "ValueDriver",
    "call_driver",
    "decider",
    "find",
    "image_of",
    "in_image",
    "in_type_of_call",
    "joined",
    "languages",
    "missing",
    "name_pattern",
    "named",
    "of_decider",
    "of_file",
    "parts",
    "spelled",
    "with_closed_blocks",
]

PYTHON = "python"
"""The language of a suite that names none. It needs no description here."""
ANY = "any"
"""The language of a label whose answers may be in any language. Their fences name it."""
_MAX_NAME_CHARS = 200
"""The longest name that is looked up, since labels and fences may hold any text."""
PYTHON_NAMES = frozenset({"", PYTHON, "py", "python3", "python 3", "pypy3", "pypy 3", "pypy 3-64"})
"""Names of Python in labels, in lower case."""


@cache
def languages() -> Mapping[str, Language]:
    """Return all languages by name.

    Raises:
        ValueError: Two languages have a name or an alias in common.
    """
    modules = sorted(found.name for found in pkgutil.iter_modules(__path__))
    every: list[Language] = []
    for name in modules:
        if name != "language" and not name.endswith("_tests"):
            every += import_module(f"{__name__}.{name}").LANGUAGES
    taken: dict[str, str] = dict.fromkeys({*PYTHON_NAMES, ANY}, PYTHON)
    for language in every:
        for name in language.names:
            if name in taken:
                message = f"{language.name} and {taken[name]} both claim the name {name!r}"
                raise ValueError(message)
            taken[name] = language.name
    return {language.name: language for language in every}


def find(name: str) -> Language | None:
    """Return the language of a name; None for Python and unknown names."""
    if len(name) > _MAX_NAME_CHARS:
        return None
    return _by_any_name().get(_plain(name))


@cache
def _by_any_name() -> Mapping[str, Language]:
    return {name: language for language in languages().values() for name in language.names}


def _plain(name: str) -> str:
    """Return a name in lower case, without the compiler in brackets as in `C++20 (GCC 13-64)`."""
    return re.sub(r"(?<=\S)\s*\([^()]*\)$", "", name.strip().lower())


def named(name: object) -> str:
    """Return the language of a label by its own name: `PYTHON`, `ANY`, or that of a language.

    Args:
        name: What the label says; None or an empty text is Python.

    Raises:
        LabelError: The language is not graded.
    """
    if name is None:
        return PYTHON
    if not isinstance(name, str):
        message = f"language must be text, but is {name!r:.80}"
        raise LabelError(message)
    if _plain(name) in PYTHON_NAMES:
        return PYTHON
    if _plain(name) == ANY:
        return ANY
    if (language := find(name)) is None:
        known = ", ".join((PYTHON, *sorted(languages())))
        message = (
            f"the language {name!r:.80} is not graded; expected one of {known}, {ANY}, "
            "or no such field if it does not say what the code is in"
        )
        raise LabelError(message)
    return language.name


def of_decider(suite: TestSuite) -> Language | None:
    """Return the language of a suite's checker or interactor; None for Python or if it has none."""
    program = decider(suite.tests)
    return None if program is None else find(program.language)


def decider(tests: Tests) -> Checker | None:
    """Return the checker or interactor of tests; None if they have none."""
    if isinstance(tests, InteractiveTests):
        return tests.interactor
    return tests.comparison.checker if isinstance(tests, StdinTests) else None


def image_of(suite: TestSuite, language: str) -> str:
    """Return the image variant for submissions to a suite in a language.

    It also has the language of the suite's checker or interactor.
    """
    found, decider = find(language), of_decider(suite)
    own = suite.image if found is None else found.image
    return own if decider is None else joined(own, decider.image)


def joined(*images: str) -> str:
    """Return the image variant that has all of what some variants have, such as `cpp+java`."""
    names = {part for image in images for part in parts(image)} - {PYTHON}
    return "+".join(sorted(names)) or PYTHON


def parts(image: str) -> tuple[str, ...]:
    """Return the variants that a variant joins; itself if it joins none."""
    return tuple(image.split("+"))


def in_image(image: str) -> tuple[Language, ...]:
    """Return the languages of a sandbox image variant; empty if it is for Python."""
    names = parts(image)
    return tuple(language for language in languages().values() if language.image in names)


def of_file(path: str) -> str | None:
    """Return the language that the ending of a file's name tells, by its name; None if unknown."""
    _, dot, ending = path.rpartition(".")
    if not dot or "/" in ending:
        return None
    if ending in PYTHON_NAMES:
        return PYTHON
    found = next(
        (each for each in languages().values() if f".{ending}" in each.endings), None
    ) or find(ending)
    return None if found is None else found.name


def missing(found: Iterable[Language]) -> dict[str, str]:
    """Return what this machine lacks for some languages: programs and files, with packages."""
    return {
        program: package
        for language in found
        for program, package in language.packages.items()
        if not _has(program)
    }


def _has(program: str) -> bool:
    if "/" in program:
        return Path(program).is_file()
    return shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is not None
