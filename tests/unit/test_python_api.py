"""docs/python-api.md names what `grader` offers, as the code has it."""

import dataclasses
import enum
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import grader

PAGE = (Path(__file__).resolve().parents[2] / "docs/python-api.md").read_text()
SECTIONS = dict(re.findall(r"^### `(\w+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))
ITEM = re.compile(r"^- `\.?(\w+)(\(.*?\))?`(.*?)(?=^-|^\n|\Z)", re.MULTILINE | re.DOTALL)
ONE_SENTENCE = {"Settings", "Limits"}
"""Their fields are on a page of their own."""


def items(name: str) -> dict[str, tuple[str, str]]:
    """Return what a section lists: signature and text, by name."""
    return {found: (signature, text) for found, signature, text in ITEM.findall(SECTIONS[name])}


def listed(name: str, word: str) -> list[str]:
    """Return what follows "Fields:" or "Values:" in a section."""
    (text,) = re.findall(rf"{word}: (.*?)[.;]", SECTIONS[name], re.DOTALL)
    return re.findall(r"`(\w+)`", text)


def signature_of(thing: Any) -> str:
    parameters = [
        each.replace(annotation=inspect.Parameter.empty)
        for each in inspect.signature(thing).parameters.values()
        if each.name != "self"
    ]
    return str(inspect.Signature(parameters))


def check(thing: Any, signature: str, text: str) -> None:
    """Hold a listed callable against the code."""
    assert signature == signature_of(thing)
    raised = re.findall(r"^ +(\w+Error): ", inspect.getdoc(thing) or "", re.MULTILINE)
    if raised:
        assert re.findall(r"`(\w+Error)`", text.partition("Raises")[2]) == raised


def test_sections_are_the_public_names() -> None:
    assert sorted(SECTIONS) == sorted(grader.__all__)


def test_every_error_that_a_name_raises_is_public() -> None:
    raised = set(re.findall(r"`(\w+Error)`", PAGE))
    assert len(raised) > 5
    assert raised <= set(grader.__all__)


@pytest.mark.parametrize("name", grader.__all__)
def test_section_says_what_the_code_has(name: str) -> None:
    thing = getattr(grader, name)
    if not inspect.isclass(thing):
        check(thing, *items(name)[name])
    elif issubclass(thing, enum.Enum):
        assert listed(name, "Values") == [each.value for each in thing]
    elif dataclasses.is_dataclass(thing):
        if name not in ONE_SENTENCE:
            assert listed(name, "Fields") == [each.name for each in dataclasses.fields(thing)]
    elif not issubclass(thing, Exception):
        check_class(name, thing)


def check_class(name: str, thing: type) -> None:
    found = items(name)
    if name in found:
        check(thing.__init__, *found.pop(name))  # type: ignore[misc]
    members = {key: value for key, value in inspect.getmembers(thing) if not key.startswith("_")}
    assert sorted(found) == sorted(members)
    for key, (signature, text) in found.items():
        if callable(members[key]):
            check(members[key], signature, text)
