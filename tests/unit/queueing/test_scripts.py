"""The scripts of the ledger: the names that they share with Python, and their arguments."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.queueing.ledger import Ledger
from grader.queueing.ledger_values import Handover, LedgerEntry, Wanted
from grader.queueing.names import AnswerKind, Counter, JobState, Key
from grader.queueing.scripts import SCRIPTS
from tests.deployment import REPO

FILES = {
    file.name.removesuffix(".lua"): file.read_text()
    for file in files("grader.queueing.scripts").iterdir()
    if file.name.endswith(".lua")
}
ENTRY = LedgerEntry(key="k", suite="s", image="python", timeout_s=1, settings="{}", code=b"\xff")
CLIENTS_SCRIPTS = {"submit", "store_suite", "check", "cancel"}
USERS = (REPO / "deploy/redis/users.acl").read_text().splitlines()
DELIVERY = "token"
HANDOVER = Handover(token=DELIVERY, key="k", report=b"\xff", error="", keep=True, edition="e")
WANTED = Wanted(token=DELIVERY, images=["python"])
CALLS: Mapping[str, Callable[[Ledger], Any]] = {
    "submit": lambda ledger: ledger.submit("client", [ENTRY]),
    "store_suite": lambda ledger: ledger.store_suite("s", b"\xff"),
    "check": lambda ledger: ledger.check("client", ["k"]),
    "cancel": lambda ledger: ledger.cancel("client", ["k"]),
    "step": lambda ledger: ledger.step("worker", [HANDOVER], [WANTED]),
    "note": lambda ledger: ledger.run_alone("worker", "token", "k"),
    "ask_again": lambda ledger: ledger.ask_again("worker", "token", "k"),
    "retry": lambda ledger: ledger.retry("worker", "token", "k"),
    "give_back": lambda ledger: ledger.give_back("worker", [("token", "k")]),
    "beat": lambda ledger: ledger.beat("worker", "{}", [("token", "k")], ["token"], edition="e"),
    "leave": lambda ledger: ledger.leave_worker("worker"),
    "reap": lambda ledger: ledger.reap(),
}


def fields(table: str, texts: Iterable[str]) -> set[str]:
    return {name for text in texts for name in re.findall(rf"\b{table}\.(\w+)", text)}


def comments(name: str) -> str:
    return " ".join(re.findall(r"^--(.*)$", FILES[name], re.MULTILINE))


def sent_by(call: Callable[[Ledger], Any]) -> tuple[Any, ...]:
    """Return the command that a method of the ledger sends."""
    ledger, sent = Ledger(Settings(broker="redis://127.0.0.1:1/0")), list[tuple[Any, ...]]()

    def execute(*words: Any) -> list[Any]:
        sent.append(words)
        return []

    ledger._execute = execute
    call(ledger)
    (command,) = sent
    return command


@pytest.mark.parametrize(
    ("table", "members"),
    [("KEY", Key), ("COUNTER", Counter), ("ANSWER", AnswerKind), ("STATE", JobState)],
)
def test_scripts_use_every_shared_name_and_no_other(table: str, members: type[StrEnum]) -> None:
    assert fields(table, FILES.values()) == {member.name for member in members}


def test_scripts_spell_no_key_themselves() -> None:
    assert not [name for name, text in FILES.items() if "grader:" in text]


def test_every_script_is_called() -> None:
    assert CALLS.keys() == SCRIPTS.keys() == FILES.keys() - {"prelude"}


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_script_gets_and_declares_the_arguments_that_it_uses(name: str) -> None:
    command, digest, keys, arguments, *_ = sent_by(CALLS[name])
    assert (command, digest, keys) == ("EVALSHA", SCRIPTS[name].digest, 0)
    used = fields("args", [FILES[name]])
    assert used <= json.loads(arguments).keys()
    declared = comments(name) + comments("prelude")
    assert not {each for each in used if not re.search(rf"\b{each}\b", declared)}


def test_client_looks_after_many_jobs_in_steps_of_bounded_size() -> None:
    ledger, sent = Ledger(Settings(broker="redis://127.0.0.1:1/0")), list[list[str]]()

    def execute(*words: Any) -> list[Any]:
        keys = json.loads(words[3])["keys"]
        sent.append(keys)
        return [[keys[0].encode()], [], []]

    ledger._execute = execute
    keys = [str(number) for number in range(5000)]
    assert ledger.check("client", keys).lost == tuple(step[0] for step in sent)
    assert [key for step in sent for key in step] == keys
    assert max(map(len, sent)) <= 1024


def test_key_with_a_lone_surrogate_is_sent_as_a_question_mark() -> None:
    arguments = sent_by(lambda ledger: ledger.cancel("client", ["a\ud800"]))[3]
    assert json.loads(arguments)["keys"] == ["a?"]


@pytest.mark.parametrize("name", sorted(SCRIPTS))
def test_script_begins_with_its_flags_and_runs_without_memory_unless_it_needs_some(
    name: str,
) -> None:
    first = SCRIPTS[name].source.partition("\n")[0]
    needs_memory = name in {"submit", "store_suite"}
    assert first == ("#!lua" if needs_memory else "#!lua flags=allow-oom")


@pytest.mark.parametrize("user", ["client", "worker"])
def test_user_may_run_every_command_of_its_scripts(user: str) -> None:
    """A script that is refused in its middle has done half of its step."""
    rights = next(line for line in USERS if line.startswith(f"user {user} "))
    scripts = CLIENTS_SCRIPTS if user == "client" else FILES.keys() - CLIENTS_SCRIPTS
    used = {
        command.lower()
        for name in scripts
        for command in re.findall(r"redis\.call\('(\w+)'", FILES[name])
    }
    assert used
    assert used <= set(re.findall(r"\+(\S+)", rights))
