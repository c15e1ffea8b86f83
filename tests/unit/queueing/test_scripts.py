"""The scripts of the ledger and the names that they share with Python."""

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

import pytest

import grader.queueing.ledger as ledger_module
from grader.queueing.names import AnswerKind, Counter, JobState, Key
from grader.queueing.scripts import SCRIPTS

FOLDER = Path(ledger_module.__file__).parent / "scripts"
FILES = {file.stem: file.read_text() for file in sorted(FOLDER.glob("*.lua"))}


def fields(table: str, texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in re.findall(rf"\b{table}\.(\w+)", text)}


@pytest.mark.parametrize(
    ("table", "members"),
    [("KEY", Key), ("COUNTER", Counter), ("ANSWER", AnswerKind), ("STATE", JobState)],
)
def test_scripts_use_every_shared_name_and_no_other(table: str, members: type[StrEnum]) -> None:
    assert fields(table, FILES.values()) == {member.name for member in members}


def test_scripts_spell_no_key_themselves() -> None:
    assert not [name for name, text in FILES.items() if "grader:" in text]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_script_declares_the_arguments_that_it_uses_and_is_called_with_them(name: str) -> None:
    text = FILES[name]
    comment = " ".join(re.findall(r"^--(.*)$", text, re.MULTILINE))
    used = fields("args", [text])
    assert used
    assert not {each for each in used if not re.search(rf"\b{each}\b", comment)}
    call = re.search(rf'"{name}",(.*?)\n    def |"{name}",(.*)', _ledger_source(), re.DOTALL)
    assert call is not None
    given = set(re.findall(r"(\w+)=", call[1] or call[2]))
    assert used <= given


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_script_begins_with_its_flags_and_runs_without_memory_unless_it_needs_some(
    name: str,
) -> None:
    first = SCRIPTS[name].source.partition("\n")[0]
    needs_memory = name in {"submit", "store_suite"}
    assert first == ("#!lua" if needs_memory else "#!lua flags=allow-oom")


def _ledger_source() -> str:
    return Path(ledger_module.__file__).read_text()
