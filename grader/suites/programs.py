"""Reads the programs of a suite that decide about outputs: checkers and interactors."""

import re
from collections.abc import Mapping
from typing import Any

from grader import languages
from grader.model import Checker, CheckerKind, Interactor, SuiteFile
from grader.model.errors import LabelError
from grader.suites.fields import choice, clean, require_known, wrong
from grader.suites.files import suite_files
from grader.suites.source import defines, parse

_KEYS = ("source", "kind", "language", "name", "files", "arguments")
_FENCED = re.compile(
    r"\s*```[ \t]*(?P<language>[^\s`]*)[^\n]*\n(?P<source>.*?)\n?```\s*", re.DOTALL
)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]", re.MULTILINE)


def read_checker(given: object, name: str) -> Checker:
    """Return the checker of a label, an object or only its source; `name` is its field, for errors.

    Raises:
        LabelError: It is neither text nor an object with a `source`, or another of its fields is
            wrong; or it is text in Python that does not define `check`.
        SuiteError: It is text in Python that does not parse.
    """
    return Checker(**_read(given, name, "check", "input, output, answer"))


def read_interactor(given: object) -> Interactor:
    """Return the interactor of a label; as `read_checker`, but its function is `interact`."""
    return Interactor(**_read(given, "interactor", "interact", "input, answer"))


def _read(given: object, name: str, function: str, parameters: str) -> dict[str, Any]:
    if isinstance(given, str):
        found = _read({"source": clean(given)}, name, function, parameters)
        if found["language"] == languages.PYTHON and not defines(
            parse(found["source"], name), function
        ):
            message = (
                f"{name} must define {function}({parameters}), or be {{source, kind, language}}"
            )
            raise LabelError(message)
        return found
    if not isinstance(given, Mapping):
        raise wrong(given, name, "source text or an object with a source")
    require_known(given, _KEYS, name)
    source = given.get("source")
    if not isinstance(source, str):
        raise wrong(source, f"{name}.source", "text")
    language = _language(given, source, name)
    if (fenced := _FENCED.fullmatch(source)) is not None:
        source = fenced["source"] + "\n"
    usual = CheckerKind.FUNCTION if language == languages.PYTHON else CheckerKind.TESTLIB
    kind = choice(CheckerKind, given.get("kind", usual), f"{name}.kind")
    if kind is CheckerKind.FUNCTION and language != languages.PYTHON:
        message = f"{name}.kind is function, but only Python has these, and not {language}"
        raise LabelError(message)
    return {
        "source": source,
        "kind": kind,
        "language": language,
        "files": _files(given.get("files"), f"{name}.files"),
        "arguments": _arguments(given.get("arguments"), f"{name}.arguments"),
    }


def _language(given: Mapping[str, object], source: str, name: str) -> str:
    """Return the language that a program names or, if it names none, that its text shows.

    Raises:
        LabelError: The language, or the ending of the file's name, is unknown.
    """
    if given.get("language") is not None:
        language = languages.named(given["language"])
        if language == languages.ANY:
            raise wrong(language, f"{name}.language", "one language")
        return language
    if (path := given.get("name")) is not None:
        found = languages.of_file(path) if isinstance(path, str) else None
        if found is None:
            message = f"{name}.name is {path!r:.80}, whose ending tells no language; give language"
            raise LabelError(message)
        return found
    fenced = _FENCED.fullmatch(source)
    if fenced is not None and fenced["language"]:
        return languages.named(fenced["language"])
    # In Python, such a line is a comment, which a checker has little reason to have.
    return "cpp" if _INCLUDE.search(source) else languages.PYTHON


def _files(given: object, name: str) -> tuple[SuiteFile, ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise wrong(given, name, "an object of texts by path")
    return suite_files(given)


def _arguments(given: object, name: str) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise wrong(given, name, "a list of texts")
    return tuple(given)
