"""Run a pair in plain Python: `python` or `python -m pytest`, in a throwaway process.

Nothing of the grader takes part but its comparison of outputs, for suites that are inputs and
outputs. As root the process is another user's, without a network, so that a mutant of a program
that deletes files can delete nothing of ours, and tests of permissions find what they expect.
"""

import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agreement.pairs import LIMITS, MUTANT_LIMITS, Outcome, Pair
from grader.judging.compare import compare_text, needs_checker
from grader.model import CallTests, PytestTests, ScriptTests, StdinTests
from grader.text.inert import inert
from sandbox_images.harness.wire import values

PROGRAMS = Path(__file__).with_name("programs")
"""Our programs that plain Python runs: a pytest plugin, and runners of single cases."""

_INSIDE = Path("/mnt")
"""Where the throwaway process finds its folder, if this process is root."""

_USER = 65534
_ADDRESS_SPACE_KIB = 4 << 20
_ID_CHARS = 300
_PATIENCE = 5


class NotPlainError(Exception):
    """The suite is of a kind that plain Python alone cannot judge."""


def can_hide() -> bool:
    """Tell whether the throwaway process can run as another user."""
    return os.geteuid() == 0


class Plain:
    """Plain Python with a cache: results of earlier runs are read from a folder."""

    def __init__(self, folder: Path) -> None:
        """Keep outcomes in a folder, which is made if it is missing."""
        sources = [Path(__file__), *sorted(PROGRAMS.glob("*.py"))]
        version = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:12]
        self._folder = folder / f"{sys.version_info.major}.{sys.version_info.minor}-{version}"
        self._folder.mkdir(parents=True, exist_ok=True)

    def judge(self, pair: Pair) -> Outcome:
        """Return the result of a pair, from the cache if it is known.

        Raises:
            NotPlainError: The suite needs a checker or an interactor.
        """
        file = self._folder / f"{pair.key}.json"
        if file.exists():
            return Outcome(**json.loads(file.read_text()))
        return self.judge_anew(pair)

    def judge_anew(self, pair: Pair) -> Outcome:
        """Run a pair now and return its result."""
        outcome = _run(pair)
        partial = self._folder / f"{pair.key}.{os.getpid()}"
        partial.write_text(json.dumps(asdict(outcome)))
        partial.replace(self._folder / f"{pair.key}.json")
        return outcome


def _run(pair: Pair) -> Outcome:
    with _base() as base:
        match pair.suite.tests:
            case PytestTests() as tests:
                return _run_pytest(pair, tests, base)
            case ScriptTests() as tests:
                cases = [[case.id, case.source] for case in tests.cases]
                return _run_cases(pair, "script", {"setup": tests.setup, "cases": cases}, base)
            case CallTests() as tests if not needs_checker(tests.comparison):
                return _run_cases(pair, "call", _calls(pair, tests), base)
            case StdinTests() as tests if not needs_checker(tests.comparison):
                return _run_programs(pair, tests)
            case _:
                message = "a program of the suite decides"
                raise NotPlainError(message)


@contextmanager
def _base() -> Iterator[Path]:
    """Make a folder with the process's work area, its input and its report."""
    base = Path(tempfile.mkdtemp(prefix="agreement-"))
    try:
        for name in ("run", "tmp", "told"):
            (base / name).mkdir()
        shutil.copytree(PROGRAMS, base / "programs", ignore=shutil.ignore_patterns("__pycache__"))
        yield base
    finally:
        shutil.rmtree(base, ignore_errors=True)


# ---------------------------------------------------------------- the kinds of suites


def _run_pytest(pair: Pair, tests: PytestTests, base: Path) -> Outcome:
    for file in tests.files:
        _write(base / "run" / file.path, file.content)
    _write(base / "run" / tests.solution_path, _source_of(pair).encode())
    options = ["-p", "no:cacheprovider", "-p", "recording", "-q", "--tb=short"]
    process = _start(
        ["-m", "pytest", *options, *tests.pytest_args, *tests.test_paths],
        base,
        pair,
        environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": "{base}/programs"},
    )
    cases: dict[str, bool] = {}
    details: dict[str, str] = {}
    for event in _told(base):
        id = inert(str(event["id"]), _ID_CHARS)
        cases[id] = cases.get(id, True) and bool(event["passed"])
        if not event["passed"]:
            details.setdefault(id, str(event["detail"]))
    details[""] = process.said
    return Outcome(
        passed=process.status == 0,
        verdict=process.word,
        cases=cases,
        details=details,
    )


def _run_cases(pair: Pair, kind: str, payload: Mapping[str, Any], base: Path) -> Outcome:
    _write(base / "run/solution.py", _source_of(pair).encode("utf-8", "surrogatepass"))
    _write(base / "payload.json", json.dumps(payload).encode())
    process = _start([f"{{base}}/programs/{kind}.py", "{base}/payload.json"], base, pair)
    events = {str(event["id"]): event for event in _told(base)}
    ids = [case.id for case in pair.suite.tests.cases]  # type: ignore[union-attr]
    cases = {id: bool(events.get(id, {}).get("passed")) for id in ids}
    details = {id: str(event["detail"]) for id, event in events.items() if not event["passed"]}
    details.setdefault("", process.said)
    return Outcome(passed=all(cases.values()), verdict=process.word, cases=cases, details=details)


def _calls(pair: Pair, tests: CallTests) -> dict[str, Any]:
    """Return the calls in a form that JSON can hold."""
    comparison = asdict(tests.comparison)
    del comparison["checker"]
    return {
        "entry_point": tests.entry_point,
        "comparison": comparison,
        "reference": pair.reference if tests.asks_reference else None,
        "repository": str(Path(__file__).resolve().parent.parent),
        "cases": [
            [
                case.id,
                values.encode((case.args, dict(case.kwargs))),
                values.encode([case.expected, *case.alternatives]),
            ]
            for case in tests.cases
        ],
    }


def _run_programs(pair: Pair, tests: StdinTests) -> Outcome:
    cases: dict[str, bool] = {}
    details: dict[str, str] = {}
    verdict = "passed"
    for case in tests.cases:
        with _base() as base:
            _write(base / "run/solution.py", _source_of(pair).encode("utf-8", "surrogatepass"))
            _write(base / "stdin", case.stdin.encode("utf-8", "surrogatepass"))
            process = _start(["solution.py"], base, pair, stdin=base / "stdin")
        compared = compare_text(tests.comparison, expected=case.expected, got=process.stdout)
        cases[case.id] = process.status == 0 and compared.equal
        if not cases[case.id]:
            verdict = process.word if process.status else "another output"
            details[case.id] = process.said if process.status else compared.difference
    return Outcome(passed=all(cases.values()), verdict=verdict, cases=cases, details=details)


def _source_of(pair: Pair) -> str:
    prelude = pair.suite.prelude
    return f"{prelude}\n{pair.code}" if prelude else pair.code


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _told(base: Path) -> Iterator[dict[str, Any]]:
    """Yield what the process reported, without a last unfinished line."""
    file = base / "told/results"
    for line in file.read_bytes().splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            return


# ---------------------------------------------------------------- the throwaway process


class _Ended:
    """A process that has ended."""

    def __init__(self, status: int | None, stdout: bytes, stderr: bytes) -> None:
        self.status = status
        self.stdout = stdout
        self._stderr = stderr

    @property
    def word(self) -> str:
        if self.status is None:
            return "time is up"
        return f"exit code {self.status}"

    @property
    def said(self) -> str:
        """The last lines that it wrote."""
        text = (self._stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        return " | ".join(text.splitlines()[-3:])[-400:]


def _start(
    arguments: list[str],
    base: Path,
    pair: Pair,
    *,
    environment: Mapping[str, str] | None = None,
    stdin: Path | None = None,
) -> _Ended:
    """Run Python to its end; `{base}` in arguments and environment is the folder as it sees it."""
    seen = _INSIDE if can_hide() else base
    limits = MUTANT_LIMITS if pair.mutation else LIMITS
    command = [sys.executable, *(each.replace("{base}", str(seen)) for each in arguments)]
    given = {
        name: value.replace("{base}", str(seen)) for name, value in (environment or {}).items()
    }
    with (
        (stdin or Path(os.devnull)).open("rb") as standard_input,
        tempfile.TemporaryFile() as stdout,
        tempfile.TemporaryFile() as stderr,
    ):
        process = subprocess.Popen(
            ["sh", "-c", _script(base, command, limits.cpu_time_s or 0)],
            stdin=standard_input,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            env={
                "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8",
                "HOME": str(seen / "run"),
                "TMPDIR": str(seen / "tmp"),
                "PYTHONHASHSEED": "0",
                "PYTHONDONTWRITEBYTECODE": "1",
                "AGREEMENT_TOLD": str(seen / "told/results"),
                **given,
            },
        )
        try:
            # CPU time decides, so a busy machine may take longer.
            status: int | None = process.wait(timeout=_PATIENCE * (limits.wall_time_s or 0))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            # Also kill what it left behind: its process group, or as root its whole pid namespace.
            _end(process)
        stdout.seek(0)
        stderr.seek(0)
        return _Ended(status, stdout.read(), stderr.read())


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _script(base: Path, command: list[str], cpu_time_s: float) -> str:
    """Return the shell command that enters the folder and executes Python there."""
    limits = f"ulimit -v {_ADDRESS_SPACE_KIB}; ulimit -t {round(cpu_time_s)}; ulimit -c 0"
    if not can_hide():
        return f"cd {shlex.quote(str(base))}/run; {limits}; exec {shlex.join(command)}"
    for folder in (base / "run", base / "tmp", base / "told"):
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _USER, _USER)
    base.chmod(0o755)
    user = f"--reuid={_USER} --regid={_USER} --clear-groups --inh-caps=-all --no-new-privs"
    inner = [
        "set -e",
        *_opened(base),
        f"mount --bind {base} {_INSIDE}",
        f"cd {_INSIDE}/run",
        limits,
        f"exec setpriv {user} -- {shlex.join(command)}",
    ]
    # It and all its processes end with this process, however that ends.
    outside = "setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc"
    return f"exec {outside} --net --ipc sh -c {shlex.quote('; '.join(inner))}"


def _opened(base: Path) -> Iterator[str]:
    """Yield commands that let another user reach a Python below a folder of root's alone."""
    closed: dict[Path, list[Path]] = {}
    for prefix in {Path(sys.base_prefix), Path(sys.prefix)}:
        for parent in reversed(prefix.parents):
            if not parent.stat().st_mode & 0o001:
                closed.setdefault(parent, []).append(prefix)
                break
    for number, (parent, prefixes) in enumerate(closed.items()):
        kept = [base / f"kept-{number}-{i}" for i in range(len(prefixes))]
        for prefix, keeper in zip(prefixes, kept, strict=True):
            yield f"mkdir {keeper}; mount --bind {prefix} {keeper}"
        yield f"mount -t tmpfs -o mode=755 none {parent}"
        for prefix, keeper in zip(prefixes, kept, strict=True):
            yield f"mkdir -p {prefix}; mount --bind {keeper} {prefix}"
