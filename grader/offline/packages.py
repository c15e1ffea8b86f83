"""Problem packages: the ICPC's problem package format, and packages of Codeforces' Polygon.

A package is a folder or a zip file. It holds the cases of one problem, perhaps a checker or an
interactor, and submissions, each with the verdicts that its folder or its tag expects.
"""

import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NoReturn
from xml.etree import ElementTree

from grader import languages
from grader.model import (
    Checker,
    CheckerKind,
    Comparator,
    Comparison,
    InteractiveTests,
    Interactor,
    LimitOverrides,
    MiB,
    StdinCase,
    StdinTests,
    SuiteFile,
    TestSuite,
)
from grader.model.errors import InputError
from grader.model.verdict import Verdict
from grader.suites.cases import check_cases
from grader.suites.fields import time_limits

_MOST_BYTES = 1 << 30
_MOST_FILES = 50_000
_HEADERS = (".h", ".hpp", ".hh", ".hxx")
_MARKS = ("problem.yaml", "problem.xml")

_REFUSED = frozenset(Verdict) - {Verdict.PASSED, Verdict.INTERNAL_ERROR, Verdict.NO_CODE}
_EXPECTED: Mapping[str, frozenset[Verdict]] = {
    "accepted": frozenset({Verdict.PASSED}),
    "wrong_answer": frozenset({Verdict.FAILED}),
    "presentation_error": frozenset({Verdict.FAILED}),
    "no_output": frozenset({Verdict.FAILED}),
    "time_limit_exceeded": frozenset({Verdict.TIME_LIMIT}),
    "run_time_error": frozenset({Verdict.RUNTIME_ERROR, Verdict.MEMORY_LIMIT}),
    "memory_limit_exceeded": frozenset({Verdict.MEMORY_LIMIT, Verdict.RUNTIME_ERROR}),
    "output_limit": frozenset({Verdict.OUTPUT_LIMIT}),
    "compiler_error": frozenset({Verdict.COMPILE_ERROR}),
    "rejected": _REFUSED,
    "main": frozenset({Verdict.PASSED}),
    "time_limit_exceeded_or_accepted": frozenset({Verdict.TIME_LIMIT, Verdict.PASSED}),
    "time_limit_exceeded_or_memory_limit_exceeded": frozenset(
        {Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.RUNTIME_ERROR}
    ),
}
"""By folder or tag, what submissions must get. All other folders and tags expect nothing."""

_RESULTS = re.compile(rb"@EXPECTED_RESULTS@:[ \t]*([^\r\n]*)")
_RESULT_NAMES = {
    "CORRECT": "accepted",
    "ACCEPTED": "accepted",
    "WRONG-ANSWER": "wrong_answer",
    "TIMELIMIT": "time_limit_exceeded",
    "RUN-ERROR": "run_time_error",
    "MEMORY-LIMIT": "memory_limit_exceeded",
    "OUTPUT-LIMIT": "output_limit",
    "COMPILER-ERROR": "compiler_error",
    "NO-OUTPUT": "no_output",
}
"""How a DOMjudge package names in a source what is expected, in place of the folder."""

_DEFAULT_VALIDATOR = """
import re

CASE, SPACE = "case_sensitive" in FLAGS, "space_change_sensitive" in FLAGS
TOLERANCES = [
    float(FLAGS[FLAGS.index(name) + 1]) if name in FLAGS else None
    for name in ("float_absolute_tolerance", "float_relative_tolerance")
]
if "float_tolerance" in FLAGS:
    TOLERANCES = [float(FLAGS[FLAGS.index("float_tolerance") + 1])] * 2
NUMBER = re.compile(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


def same(got, want):
    if TOLERANCES != [None, None] and NUMBER.fullmatch(want):
        if not NUMBER.fullmatch(got):
            return False
        distance, size = abs(float(got) - float(want)), abs(float(want))
        most, share = TOLERANCES
        return (most is not None and distance <= most) or (
            share is not None and distance <= share * size
        )
    return got == want if CASE else got.lower() == want.lower()


def check(input, output, answer):
    parts = (lambda text: re.split("(\\\\s)", text)) if SPACE else str.split
    got, want = parts(output), parts(answer)
    return len(got) == len(want) and all(map(same, got, want))
"""
"""The format's own comparison: tokens, regardless of case; `FLAGS` make it stricter or laxer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedSubmission:
    """A submission of a package."""

    path: str
    language: str | None
    """None: its language is unknown, or it has several files. Then it cannot be graded."""
    code: str
    expected: frozenset[Verdict]
    """Which verdicts will do; empty if the package expects none that the grader knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPackage:
    """A package, as it was read."""

    name: str
    suite: TestSuite
    submissions: tuple[PackagedSubmission, ...]


def is_package(path: Path) -> bool:
    """Tell whether a path is a zip file, or a folder with a package's description."""
    return path.suffix == ".zip" or any((path / mark).is_file() for mark in _MARKS)


def read_package(path: Path) -> ProblemPackage:
    """Read a package.

    Args:
        path: A folder or a zip file. In a zip file, the package may be in a folder.

    Raises:
        InputError: It is not a package, is damaged, or needs something that is not supported.
    """
    try:
        files = _of_zip(path) if path.suffix == ".zip" else _of_folder(path)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        message = f"{path}: the package cannot be read: {error}"
        raise InputError(message) from error
    tops = sorted((name for name in files if PurePosixPath(name).name in _MARKS), key=len)
    if not tops:
        message = f"{path} is not a problem package: it has neither {' nor '.join(_MARKS)}"
        raise InputError(message)
    top, _, mark = tops[0].rpartition("/")
    below = f"{top}/" if top else ""
    package = _Package(
        path=path,
        files={
            name.removeprefix(below): read for name, read in files.items() if name.startswith(below)
        },
    )
    return _read_icpc(package) if mark == "problem.yaml" else _read_polygon(package)


# ---------------------------------------------------------------- files

_Files = dict[str, bytes]


def _of_folder(folder: Path) -> _Files:
    root = folder.resolve()
    found: _Files = {}
    left = _MOST_BYTES
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        if not path.resolve().is_relative_to(root):
            message = f"{name} is a link out of the folder"
            raise OSError(message)
        left -= path.stat().st_size
        _require_room(left, len(found))
        found[name] = path.read_bytes()
    return found


def _of_zip(path: Path) -> _Files:
    found: _Files = {}
    left = _MOST_BYTES
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.is_dir():
                continue
            left -= entry.file_size
            _require_room(left, len(found))
            found[entry.filename.replace("\\", "/")] = archive.read(entry)
    return found


def _require_room(left_bytes: int, files: int) -> None:
    if left_bytes < 0 or files >= _MOST_FILES:
        message = f"it has more than {_MOST_FILES:,} files or {_MOST_BYTES // MiB:,} MiB"
        raise OSError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """The files of a package, and what is said about it in errors."""

    path: Path
    files: _Files = field(default_factory=dict)

    def refuse(self, words: str, cause: Exception | None = None) -> NoReturn:
        """Raise an `InputError` about the package."""
        message = f"{self.path}: {words}"
        raise InputError(message) from cause

    def text(self, name: str) -> str:
        if name not in self.files:
            self.refuse(f"there is no file {name}")
        try:
            return self.files[name].decode("utf-8-sig")
        except UnicodeDecodeError as error:
            self.refuse(f"{name} is not UTF-8: {error}", error)

    def submission(self, name: str, expected: frozenset[Verdict]) -> PackagedSubmission:
        """Return the submission in a file. Its code need not be UTF-8."""
        return PackagedSubmission(
            path=name,
            language=languages.of_file(name),
            code=self.files[name].decode("utf-8", "replace"),
            expected=expected,
        )

    def suite(self, cases: list[StdinCase], decider: Checker, limits: LimitOverrides) -> TestSuite:
        if not cases:
            self.refuse("the package has no case")
        comparison = Comparison(comparator=Comparator.CHECKER, checker=decider)
        tests: StdinTests | InteractiveTests = StdinTests(cases=tuple(cases), comparison=comparison)
        if isinstance(decider, Interactor):
            tests = InteractiveTests(cases=tuple(cases), interactor=decider)
        return check_cases(TestSuite(tests=tests, format="package", limits=limits))


# ---------------------------------------------------------------- the ICPC's format


def _read_icpc(package: _Package) -> ProblemPackage:
    told = dict(_scalars(package.text("problem.yaml")))
    kinds = f"{told.get('type', '')} {told.get('validation', '')}"
    if "multi" in kinds:
        package.refuse(f"problems with several passes are not supported: {kinds.strip()}")
    flags = tuple(told.get("validator_flags", "").split())
    source = _validator(package)
    decider: Checker
    if source is not None:
        make = Interactor if "interactive" in kinds else Checker
        decider = _program(package, source, make, CheckerKind.ICPC, flags)
    elif "interactive" in kinds:
        package.refuse("the problem is interactive, and the package has no output validator")
    else:
        decider = Checker(source=f"FLAGS = {list(flags)!r}\n{_DEFAULT_VALIDATOR}")
    cases = []
    for name in sorted(package.files):
        if not re.fullmatch(r"data/(sample|secret)/.+\.in", name):
            continue
        stem = name.removesuffix(".in")
        answer = f"{stem}.ans"
        is_optional = isinstance(decider, Interactor) and answer not in package.files
        expected = "" if is_optional else package.text(answer)
        case_id = stem.removeprefix("data/")
        cases.append(StdinCase(id=case_id, stdin=package.text(name), expected=expected))
    return ProblemPackage(
        name=told.get("name") or package.path.stem,
        suite=package.suite(cases, decider, _icpc_limits(package, told)),
        submissions=tuple(_icpc_submissions(package)),
    )


def _scalars(text: str) -> Iterator[tuple[str, str]]:
    """Yield the plain values of a YAML file, each with its key: `limits.memory`.

    Lists and texts of several lines are left out: no field that matters here has one.
    """
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        found = re.fullmatch(r"( *)([\w-]+):(?:[ \t]+(.*))?", line)
        if found is None:
            continue
        depth = len(found[1])
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, found[2]))
        value = re.sub(r"(^|[ \t]+)#.*", "", found[3] or "").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        yield ".".join(key for _, key in above), value


def _icpc_limits(package: _Package, told: Mapping[str, str]) -> LimitOverrides:
    ini = package.files.get("domjudge-problem.ini", b"").decode("utf-8", "replace")
    of_ini = re.search(r"^timelimit\s*=\s*['\"]?([\d.]+)", ini, re.MULTILINE)
    plain = package.files.get(".timelimit", b"").decode("utf-8", "replace").strip()
    time_s = told.get("limits.time_limit") or plain or (of_ini[1] if of_ini else "")
    memory = told.get("limits.memory", "")
    try:
        memory_bytes = round(float(memory) * MiB) if memory else None
        return (
            time_limits(float(time_s), memory_bytes=memory_bytes)
            if time_s
            else LimitOverrides(memory_bytes=memory_bytes)
        )
    except ValueError as error:
        package.refuse(f"a limit is not a number: {error}", error)


def _validator(package: _Package) -> str | None:
    """Return the path of the output validator's source; None if there is none.

    Raises:
        InputError: There are several.
    """
    found = [
        name
        for name in package.files
        if re.match(r"output_validators?/", name)
        and languages.of_file(name) is not None
        and not name.endswith(_HEADERS)
    ]
    if len(found) > 1:
        package.refuse(f"only an output validator of one source is supported: {found[:5]}")
    return found[0] if found else None


def _program(
    package: _Package,
    source: str,
    make: Callable[..., Checker],
    kind: CheckerKind,
    arguments: tuple[str, ...] = (),
) -> Checker:
    """Return a checker or interactor with the files of its folder."""
    language = languages.of_file(source)
    if language is None:
        package.refuse(f"{source}: its ending tells no language that the grader knows")
    folder = f"{source.rpartition('/')[0]}/"
    return make(
        source=package.text(source),
        kind=kind,
        language=language,
        arguments=arguments,
        files=tuple(
            SuiteFile(path=name.removeprefix(folder), content=content)
            for name, content in package.files.items()
            if name.startswith(folder) and name.endswith(_HEADERS)
        ),
    )


def _icpc_submissions(package: _Package) -> Iterator[PackagedSubmission]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(package.files):
        top, *rest = name.split("/")
        if top == "submissions" and len(rest) > 1:
            groups.setdefault((rest[0], rest[1]), []).append(name)
    for (folder, item), names in groups.items():
        expected = _EXPECTED.get(folder, frozenset())
        if len(names) > 1:
            path = f"submissions/{folder}/{item}"
            yield PackagedSubmission(path=path, language=None, code="", expected=expected)
            continue
        if named := _RESULTS.search(package.files[names[0]]):
            results = (each.strip() for each in named[1].decode("utf-8", "replace").split(","))
            sets = [_EXPECTED.get(_RESULT_NAMES.get(each, ""), frozenset()) for each in results]
            expected = frozenset().union(*sets)
        yield package.submission(names[0], expected)


# ---------------------------------------------------------------- Polygon


def _read_polygon(package: _Package) -> ProblemPackage:
    text = package.text("problem.xml")
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        package.refuse("problem.xml defines entities, which packages have no use for")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 - without entities, as was made sure
    except ElementTree.ParseError as error:
        package.refuse(f"problem.xml does not parse: {error}", error)
    judging = root.find("judging")
    testsets = [] if judging is None else judging.findall("testset")
    named = {each.get("name"): each for each in testsets}
    testset = named.get("tests", next(iter(testsets), None))
    if judging is None or testset is None:
        package.refuse("problem.xml has no test set")
    for attribute in ("input-file", "output-file"):
        if judging.get(attribute):
            package.refuse(f"{attribute}: only standard input and output are supported")
    role = root.find("assets/interactor/source")
    make: type[Checker] = Interactor
    if role is None:
        make, role = Checker, root.find("assets/checker/source")
    if role is None:
        package.refuse("problem.xml names neither a checker nor an interactor")
    decider = _program(package, role.get("path", ""), make, CheckerKind.TESTLIB)
    return ProblemPackage(
        name=root.get("short-name") or package.path.stem,
        suite=package.suite(
            _polygon_cases(package, testset), decider, _polygon_limits(package, testset)
        ),
        submissions=tuple(_polygon_submissions(package, root)),
    )


def _polygon_limits(package: _Package, testset: ElementTree.Element) -> LimitOverrides:
    try:
        time_ms = int(testset.findtext("time-limit", ""))
        memory_bytes = int(testset.findtext("memory-limit", ""))
    except ValueError as error:
        package.refuse(f"problem.xml: a limit is not a whole number: {error}", error)
    return time_limits(time_ms / 1000, memory_bytes=memory_bytes)


def _polygon_cases(package: _Package, testset: ElementTree.Element) -> list[StdinCase]:
    patterns = [testset.findtext(f"{kind}-path-pattern", "") for kind in ("input", "answer")]
    cases = []
    for number, test in enumerate(testset.iterfind("tests/test"), start=1):
        try:
            given, answer = (pattern % number for pattern in patterns)
        except (TypeError, ValueError) as error:
            package.refuse(f"problem.xml: a pattern of paths is wrong: {error}", error)
        if given not in package.files and test.get("method") == "generated":
            package.refuse(
                f"{given} is not there, since generators make it; use Polygon's full package"
            )
        cases.append(StdinCase(id=given, stdin=package.text(given), expected=package.text(answer)))
    return cases


def _polygon_submissions(
    package: _Package, root: ElementTree.Element
) -> Iterator[PackagedSubmission]:
    for solution in root.iterfind("assets/solutions/solution"):
        source = solution.find("source")
        path = "" if source is None else source.get("path", "")
        if path not in package.files:
            package.refuse(f"there is no solution {path!r}")
        tag = solution.get("tag", "").replace("-", "_")
        yield package.submission(path, _EXPECTED.get(tag, frozenset()))
