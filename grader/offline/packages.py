"""Problem packages: the ICPC's problem package format, and packages of Codeforces' Polygon.

A package is a folder or a zip file. It holds the cases of one problem, perhaps a checker or an
interactor, and submissions, each with the verdicts that its folder or its tag expects.
"""

import math
import re
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
from grader.offline.package_files import read_files
from grader.suites.cases import check_cases
from grader.suites.fields import time_limits

_MOST_TIME_S = 3600.0
_MOST_MEMORY_BYTES = 1 << 40
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
    "partially_accepted": _REFUSED,
    "compiler_error": frozenset({Verdict.COMPILE_ERROR}),
    "rejected": _REFUSED,
    "main": frozenset({Verdict.PASSED}),
    "time_limit_exceeded_or_accepted": frozenset({Verdict.TIME_LIMIT, Verdict.PASSED}),
    "time_limit_exceeded_or_memory_limit_exceeded": frozenset(
        {Verdict.TIME_LIMIT, Verdict.MEMORY_LIMIT, Verdict.RUNTIME_ERROR}
    ),
}
"""By folder or tag, what submissions must get. All other folders and tags expect nothing."""

_RESULTS = re.compile(rb"@EXPECTED_(?:RESULTS|SCORE)@:[ \t]*([^\r\n]*)")
_RESULT_NAMES = {
    "CORRECT": "accepted",
    "ACCEPTED": "accepted",
    "WRONG-ANSWER": "wrong_answer",
    "TIMELIMIT": "time_limit_exceeded",
    "TIME-LIMIT-EXCEEDED": "time_limit_exceeded",
    "RUN-ERROR": "run_time_error",
    "RUN-TIME-ERROR": "run_time_error",
    "MEMORY-LIMIT": "memory_limit_exceeded",
    "OUTPUT-LIMIT": "output_limit",
    "COMPILER-ERROR": "compiler_error",
    "NO-OUTPUT": "no_output",
}
"""How a DOMjudge package names in a source what is expected, in place of the folder."""

_SWITCHES = ("case_sensitive", "space_change_sensitive")
_TOLERANCES = ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance")
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
        LabelError: It has too many cases.
    """
    files = read_files(path)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """The files of a package, and what is said about it in errors."""

    path: Path
    files: Mapping[str, bytes] = field(default_factory=dict)

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

    def limits(self, time_s: float | None, memory_bytes: float | None) -> LimitOverrides:
        """Return limits after a check that they can be ones; None: the package gives none."""
        for name, value, unit, most in (
            ("time", time_s, "s", _MOST_TIME_S),
            ("memory", memory_bytes, "bytes", _MOST_MEMORY_BYTES),
        ):
            if value is not None and not 0 < value <= most:
                self.refuse(
                    f"the {name} limit is {value:g} {unit}; expected more than 0, at most {most:g}"
                )
        memory = None if memory_bytes is None else round(memory_bytes)
        if time_s is None:
            return LimitOverrides(memory_bytes=memory)
        return time_limits(time_s, memory_bytes=memory)

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
    told = _description(package, "problem.yaml")
    kinds = f"{told.get('type', '')} {told.get('validation', '')}"
    if "multi" in kinds:
        package.refuse(f"problems with several passes are not supported: {kinds.strip()}")
    if re.search(r"\bscore\b", kinds):
        package.refuse(f"scores that an output validator gives are not supported: {kinds.strip()}")
    flags = _flags(package, told)
    source = _validator(package)
    decider: Checker
    if source is not None:
        make = Interactor if "interactive" in kinds else Checker
        decider = _program(package, source, make, CheckerKind.ICPC, flags)
    elif "interactive" in kinds:
        package.refuse("the problem is interactive, and the package has no output validator")
    else:
        _require_known(package, flags)
        decider = Checker(source=f"FLAGS = {list(flags)!r}\n{_DEFAULT_VALIDATOR}")
    names = sorted(filter(re.compile(r"data/(sample|secret)/.+\.in").fullmatch, package.files))
    worth = _points(package, names) if "scoring" in kinds else {}
    cases = []
    for name in names:
        stem = name.removesuffix(".in")
        answer = f"{stem}.ans"
        is_optional = isinstance(decider, Interactor) and answer not in package.files
        points, group = worth.get(name, (1.0, None))
        case = StdinCase(
            id=stem.removeprefix("data/"),
            stdin=package.text(name),
            expected="" if is_optional else package.text(answer),
            points=points,
            group=group,
        )
        cases.append(case)
    return ProblemPackage(
        name=told.get("name") or told.get("name.en") or package.path.stem,
        suite=package.suite(cases, decider, _icpc_limits(package, told)),
        submissions=tuple(_icpc_submissions(package)),
    )


_KEY_CHARS, _MOST_LEVELS = 100, 10
"""Of the names of fields. None that matters is longer or deeper."""
_KEY = re.compile(r"""( *)(["']?)([\w-]+)\2[ ]*:(?:[ \t]+(.*))?""")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")


def _description(package: _Package, name: str) -> dict[str, str]:
    """Return the values of a YAML file, each with its key: `limits.memory`.

    A list, or a text of several lines, is the value of its key as it is written: no field that
    matters here need have one, and its readers refuse what they do not understand.
    """
    told: dict[str, list[str]] = {}
    path = ""
    above: list[tuple[int, str]] = []
    for line in package.text(name).splitlines():
        text = _COMMENT.sub("", line).strip()
        if not text or text in ("---", "..."):
            continue
        found = _KEY.fullmatch(line)
        if found is None:
            if not above:
                package.refuse(f"{name}: expected `key: value`, but found {line[:80]!r}")
            told[path].append(text)
            continue
        depth = len(found[1])
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, found[3][:_KEY_CHARS]))
        value = _COMMENT.sub("", found[4] or "").strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        path = ".".join(key for _, key in above[-_MOST_LEVELS:])
        told[path] = [value] if value else []
    return {path: " ".join(lines) for path, lines in told.items()}


def _flags(package: _Package, told: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments of the output validator.

    Raises:
        InputError: Some cases have other arguments than the rest.
    """
    flags = _words(told.get("validator_flags", ""))
    for name in sorted(package.files):
        if not re.fullmatch(r"data/(?:.+/)?(?:testdata|test_group)\.yaml", name):
            continue
        group = _description(package, name)
        for key in ("output_validator_flags", "output_validator_args"):
            given = _words(group.get(key, ""))
            if given and not flags and name.count("/") == 1:
                flags = given
            elif given and given != flags:
                package.refuse(f"{name}: {key} for some of the cases only are not supported")
    return flags


def _words(value: str) -> tuple[str, ...]:
    """Return the words of a text, or of a YAML list of words."""
    return tuple(word for word in re.split(r"[\s,\[\]]+", value) if word not in ("", "-"))


def _require_known(package: _Package, flags: tuple[str, ...]) -> None:
    """Refuse flags that the comparison of the format does not have.

    Raises:
        InputError: There is one.
    """
    left = list(flags)
    while left:
        flag = left.pop(0)
        if flag in _SWITCHES:
            continue
        try:
            is_known = flag in _TOLERANCES and 0 <= float(left.pop(0)) < math.inf
        except (ValueError, IndexError):
            is_known = False
        if not is_known:
            known = ", ".join((*_SWITCHES, *(f"{each} NUMBER" for each in _TOLERANCES)))
            package.refuse(f"the validator flags are {' '.join(flags)!r:.200}; expected {known}")


def _points(package: _Package, names: list[str]) -> dict[str, tuple[float, str | None]]:
    """Return the points of each case, and the group of cases that earn theirs together.

    A folder that has points for its whole, such as a subtask, is a group. Samples earn nothing.
    """
    worth: dict[str, tuple[float, str | None]] = {}
    for folder in {name.rpartition("/")[0] for name in names}:
        inside = [name for name in names if name.rpartition("/")[0] == folder]
        marks = (f"{folder}/{name}.yaml" for name in ("test_group", "testdata"))
        mark = next((name for name in marks if name in package.files), None)
        told = {} if mark is None else _description(package, mark)
        given = told.get("max_score") or told.get("accept_score") or "1"
        try:
            points = float(given)
        except ValueError as error:
            package.refuse(f"{mark}: the score is {given[:80]!r}; expected a number", error)
        rules = f"{told.get('grader_flags', '')} {told.get('score_aggregation', '')}".split()
        is_group = "max_score" in told or "min" in rules or "pass-fail" in rules
        if folder.startswith("data/sample"):
            points = 0.0
        for name in inside:
            worth[name] = (points / len(inside), folder) if is_group else (points, None)
    return worth


def _icpc_limits(package: _Package, told: Mapping[str, str]) -> LimitOverrides:
    ini = package.files.get("domjudge-problem.ini", b"").decode("utf-8", "replace")
    of_ini = re.search(r"^timelimit\s*=\s*['\"]?([\d.]+)", ini, re.MULTILINE)
    plain = package.files.get(".timelimit", b"").decode("utf-8", "replace").strip()
    time_s = told.get("limits.time_limit") or plain or (of_ini[1] if of_ini else "")
    memory = told.get("limits.memory", "")
    if told.get("limits"):
        package.refuse(
            f"limits is {told['limits'][:80]!r}; expected lines of `key: value` below it"
        )
    try:
        return package.limits(
            float(time_s) if time_s else None, float(memory) * MiB if memory else None
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
        named = _RESULTS.search(package.files[names[0]])
        if named is not None:
            results = named[1].decode("utf-8", "replace").upper().replace("_", "-").split(",")
            known = (_RESULT_NAMES.get(each.strip()) for each in results)
            # If it has only words that tell no verdict, those of the folder hold.
            expected = frozenset().union(*(_EXPECTED[each] for each in known if each)) or expected
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
    return package.limits(min(time_ms, 10**9) / 1000, min(memory_bytes, 10**18))


_PATTERN = re.compile(r"[^%]*%(?:0?[1-9])?d[^%]*")


def _polygon_cases(package: _Package, testset: ElementTree.Element) -> list[StdinCase]:
    patterns = [testset.findtext(f"{kind}-path-pattern", "") for kind in ("input", "answer")]
    for pattern in patterns:
        if _PATTERN.fullmatch(pattern) is None:
            package.refuse(
                f"problem.xml: a pattern of paths is {pattern[:80]!r}; expected one with the "
                "number of the test, such as tests/%02d"
            )
    cases = []
    for number, test in enumerate(testset.iterfind("tests/test"), start=1):
        given, answer = (pattern % number for pattern in patterns)
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
