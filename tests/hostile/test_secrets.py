"""Attacks that look for secrets: on disk, in /proc, in memory, in the next run."""

import hashlib
import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from grader.model import SuiteFile
from grader.sandbox import payload
from grader.sandbox.contract import Program, RunBatch
from sandbox_images.harness.wire import values
from tests.hostile.conftest import LIMITS, Target

HOLDS = """
import hashlib
def holds(data, wanted):
    \"\"\"Tell whether a text, of which it has a digest, is in some bytes.\"\"\"
    start_of_text, length, digest = wanted
    place = data.find(start_of_text)
    while place >= 0:
        if hashlib.sha256(data[place : place + length]).hexdigest() == digest:
            return True
        place = data.find(start_of_text, place + 1)
    return False
"""
SEARCH_MEMORY = f"""{HOLDS}
def search(wanted):
    \"\"\"Return where in this process's memory a text is.\"\"\"
    found = []
    for line in open("/proc/self/maps"):
        bounds, rights, *rest = line.split()
        if rights[0] != "r" or rest[-1].startswith("[v"):
            continue
        start, end = (int(bound, 16) for bound in bounds.split("-"))
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            data = attempt(lambda: memory.read(end - start))
        if isinstance(data, bytes) and holds(data, wanted):
            found.append(line)
    return found
"""
SEARCH_OBJECTS = f"""{HOLDS}
def search(wanted):
    \"\"\"Return how many of the objects that can be reached here hold a text.\"\"\"
    texts = [r for o in gc.get_objects() for r in gc.get_referents(o) if type(r) in (str, bytes)]
    return sum(
        holds(text if type(text) is bytes else text.encode("utf-8", "replace"), wanted)
        for text in texts
    )
"""


def wanted(text: str) -> tuple[bytes, int, str]:
    """Describe a text without giving it away."""
    return text[:6].encode(), len(text), hashlib.sha256(text.encode()).hexdigest()


def search(target: Target, text: str) -> Any:
    """Return the places in its memory at which a fresh run finds a text."""
    outcome = target.attack(SEARCH_MEMORY + f"print(json.dumps(search({wanted(text)})))")
    assert outcome.exit_code == 0, outcome.stderr.decode()
    return json.loads(outcome.stdout)


def test_search_of_memory_finds_what_is_there(target: Target) -> None:
    secret = secrets.token_hex()
    source = SEARCH_MEMORY + f"kept = '{secret}'\nprint(json.dumps(search({wanted(secret)})))"
    assert json.loads(target.attack(source).stdout) != []


@pytest.mark.parametrize("place", ["source", "stdin", "file", "file name", "output"])
def test_memory_has_nothing_of_an_earlier_submission(target: Target, place: str) -> None:
    secret = secrets.token_hex()
    given = {name: secret if name == place else "plain" for name in ("stdin", "file", "file name")}
    text = {"source": f"kept = {secret!r}", "output": f"print({secret!r})"}.get(place, "")
    batch = RunBatch(
        program=Program.STDIN,
        source=text,
        runs=(given["stdin"].encode(),),
        limits=LIMITS,
        files=(SuiteFile(path=given["file name"], content=given["file"].encode()),),
    )
    for _ in range(3):
        assert [outcome.exit_code for outcome in target.slot.run(batch)] == [0]
    assert search(target, secret) == []


def test_memory_has_nothing_of_an_earlier_call(target: Target) -> None:
    secret = secrets.token_hex()
    run = payload.calls("f", [([secret], {})])
    outcome = target.attack("def f(x):\n    return x", run, program=Program.CALL)
    assert secret in outcome.report.decode()
    assert search(target, secret) == []


@pytest.mark.parametrize("program", [Program.STDIN, Program.CALL])
def test_a_run_has_nothing_of_the_other_runs(target: Target, program: Program) -> None:
    inputs = [secrets.token_hex() for _ in range(3)]
    source = f"""
{SEARCH_MEMORY}
def find(own):
    return [len(search(text)) > 0 for text in {[wanted(text) for text in inputs]}]
"""
    if program is Program.STDIN:
        source += "print(json.dumps(find(sys.stdin.read())))"
        runs = [text.encode() for text in inputs]
    else:
        runs = [payload.calls("find", [([text], {})]) for text in inputs]
    outcomes = target.attack_all(source, *runs, program=program)
    events = [
        json.loads(outcome.stdout)
        if program is Program.STDIN
        else next(
            values.decode(event["value"])
            for event in map(json.loads, outcome.report.splitlines())
            if event["e"] == "result"
        )
        for outcome in outcomes
    ]
    assert events == [[i == n for i in range(3)] for n in range(3)]


def test_arguments_of_a_call_are_not_there_while_the_code_loads(target: Target) -> None:
    secret = secrets.token_hex()
    run = payload.calls("f", [([secret], {})])
    source = f"{SEARCH_MEMORY}\nfound = search({wanted(secret)})\ndef f(x):\n    return found"
    outcome = target.attack(source, run, program=Program.CALL)
    events = [json.loads(line) for line in outcome.report.splitlines()]
    assert [values.decode(e["value"]) for e in events if e["e"] == "result"] == [[]]


def test_objects_of_the_harness_tell_nothing(target: Target) -> None:
    secret = secrets.token_hex()
    target.attack(f"kept = {secret!r}", secret.encode())
    source = f"{SEARCH_OBJECTS}\nprint(search({wanted(secret)}))"
    assert int(target.attack(source).stdout) == 0


def test_search_of_objects_finds_what_is_there(target: Target) -> None:
    secret = secrets.token_hex()
    source = f"{SEARCH_OBJECTS}\nkept = {secret!r}\nprint(search({wanted(secret)}))"
    assert int(target.attack(source).stdout) > 0


def test_files_of_the_host_are_not_there(target: Target, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("treasure")
    secret.chmod(0o644)
    files = (str(secret), __file__, "/etc/shadow", "/root/.ssh", "/root/.bash_history")
    answers = target.tell_all({path: f"open({path!r}).read()" for path in files})
    assert set(answers.values()) <= {"ENOENT", "EACCES"}
    folders = ("/home", "/run/secrets", "/var/lib/docker", "/boot", "/mnt", "/media", "/srv")
    answers = target.tell_all({path: f"len(os.listdir({path!r}))" for path in folders})
    assert set(answers.values()) <= {"ENOENT", "EACCES", 0}


def test_environment_is_the_fixed_one(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_TEST_SECRET", "treasure")
    assert "treasure" not in json.dumps(target.look()["environment"])
    assert set(target.tell("dict(os.environ)")) <= {
        *("HOME", "LANG", "LOGNAME", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH"),
        *(
            "JE_ARROW_MALLOC_CONF",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONHASHSEED",
            "PYTHONINTMAXSTRDIGITS",
            "TMPDIR",
            "TZ",
            "USER",
        ),
    }
    initial = target.tell("open('/proc/self/environ').read()")
    assert "treasure" not in initial
    assert {pair.partition("=")[0] for pair in initial.split("\0")} <= {
        *("", "LANG", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PYTHONHASHSEED"),
        "JE_ARROW_MALLOC_CONF",
    }


def test_proc_shows_only_processes(target: Target) -> None:
    for name in (
        "cmdline",
        "kallsyms",
        "kcore",
        "keys",
        "meminfo",
        "mounts",
        "net",
        "sys",
        "version",
    ):
        answer = target.tell(f"os.lstat('/proc/{name}') and True")
        assert answer == "ENOENT", name


def test_counters_of_the_slot_are_covered(target: Target) -> None:
    assert target.tell("os.listdir('/sys')") in ([], "ENOENT")
    assert target.tell("os.listdir('/dev/mqueue')") in ([], "ENOENT")
