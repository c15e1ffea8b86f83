"""Problem packages in the ICPC's format, as Kattis and DOMjudge read them, too."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from grader import languages
from grader.model import (
    Checker,
    CheckerKind,
    Interactor,
    LimitOverrides,
    MiB,
    StdinCase,
)
from grader.offline.package_parts import (
    EXPECTED,
    HEADERS,
    Package,
    PackagedSubmission,
    ProblemPackage,
    program_of,
)

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


_CPP = "cpp20"
"""The format names C++ without a standard. DOMjudge compiles it as C++20; so did Kattis's
problemtools, which went from 17 to 20 and 23."""


def read_icpc(package: Package) -> ProblemPackage:
    """Read a package that has a `problem.yaml`.

    Raises:
        InputError: It is wrong, or needs something that is not supported.
    """
    package = replace(package, cpp=_CPP)
    told = _description(package, "problem.yaml")
    kinds = f"{told.get('type', '')} {told.get('validation', '')}"
    if "multi" in kinds:
        package.refuse(f"problems with several passes are not supported: {kinds.strip()}")
    if re.search(r"\bscore\b", kinds):
        package.refuse(f"scores that an output validator gives are not supported: {kinds.strip()}")
    if "submit-answer" in kinds:
        package.refuse("problems whose submissions are answers and no programs are not supported")
    _require_plain_runs(package)
    flags = _flags(package, told)
    source = _validator(package, must_exist="custom" in kinds)
    decider: Checker
    if source is not None:
        make = Interactor if "interactive" in kinds else Checker
        decider = program_of(package, source, make, CheckerKind.ICPC, flags)
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
    limits = _icpc_limits(package, told)
    return ProblemPackage(
        name=told.get("name") or told.get("name.en") or package.path.stem,
        suite=package.suite(cases, decider, limits),
        submissions=tuple(_icpc_submissions(package)),
        time_multiplier=None if limits.cpu_time_s is not None else _multiplier(package, told),
        time_resolution_s=_limit(package, told, "time_resolution", usual=1.0, least=0.001),
    )


_BESIDE = re.compile(r"include/.+|data/(?:sample|secret)/.+(?:\.args|\.files/.+)")


def _require_plain_runs(package: Package) -> None:
    """Refuse what submissions would be given besides the input of a case.

    Raises:
        InputError: There is something.
    """
    found = next(filter(_BESIDE.fullmatch, sorted(package.files)), None)
    if found is not None:
        package.refuse(f"{found}: submissions get nothing here besides the input of a case")


_MOST = 100
_KEY_CHARS, _MOST_LEVELS = 100, 10
"""The longest name of a field and the deepest nesting that are read; no known field has more."""
_KEY = re.compile(r"""( *)(["']?)([\w-]+)\2[ ]*:(?:[ \t]+(.*))?""")
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")


def _description(package: Package, name: str) -> dict[str, str]:
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


def _flags(package: Package, told: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments of the output validator.

    Raises:
        InputError: Some cases have other arguments than the rest.
    """
    flags = _words(told.get("validator_flags", ""))
    for name in sorted(package.files):
        if not re.fullmatch(r"data/(?:(?:sample|secret)/.+|testdata|test_group)\.yaml", name):
            continue
        told = _description(package, name)
        if told.get("args"):
            package.refuse(f"{name}: args for submissions are not supported")
        for key in ("output_validator_flags", "output_validator_args"):
            given = _words(told.get(key, ""))
            if given and not flags and name.count("/") == 1:
                flags = given
            elif given and given != flags:
                package.refuse(f"{name}: {key} for some of the cases only are not supported")
    return flags


def _words(value: str) -> tuple[str, ...]:
    """Return the words of a text, or of a YAML list of words."""
    return tuple(word for word in re.split(r"[\s,\[\]]+", value) if word not in ("", "-"))


def _require_known(package: Package, flags: tuple[str, ...]) -> None:
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


def _points(package: Package, names: list[str]) -> dict[str, tuple[float, str | None]]:
    """Return the points of each case, and the group of cases that earn theirs together.

    A folder that has points for its whole, such as a subtask, is a group. Samples earn nothing.
    """
    worth: dict[str, tuple[float, str | None]] = {}
    by_folder = sorted((name.rpartition("/")[0], name) for name in names)
    for folder, pairs in groupby(by_folder, key=lambda pair: pair[0]):
        inside = [name for _, name in pairs]
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


def _icpc_limits(package: Package, told: Mapping[str, str]) -> LimitOverrides:
    ini = package.files.get("domjudge-problem.ini", b"").decode("utf-8", "replace")
    of_ini = re.search(r"^timelimit\s*=\s*['\"]?([\d.]+)", ini, re.MULTILINE)
    plain = package.files.get(".timelimit", b"").decode("utf-8", "replace").strip()
    time_s = told.get("limits.time_limit") or plain or (of_ini[1] if of_ini else "")
    memory = told.get("limits.memory", "")
    for key in ("limits", "limits.time_multipliers"):
        if told.get(key):
            package.refuse(f"{key} is {told[key][:80]!r}; expected lines of `key: value` below it")
    try:
        return package.limits(
            float(time_s) if time_s else None, float(memory) * MiB if memory else None
        )
    except ValueError as error:
        package.refuse(f"a limit is not a number: {error}", error)


def _multiplier(package: Package, told: Mapping[str, str]) -> float:
    key, usual = "time_multiplier", 5.0
    if told.get("problem_format_version", "legacy").startswith("2"):
        key, usual = "time_multipliers.ac_to_time_limit", 2.0
    return _limit(package, told, key, usual=usual, least=1)


def _limit(
    package: Package, told: Mapping[str, str], key: str, *, usual: float, least: float
) -> float:
    """Return the number that a key of `limits` has, or what is usual if there is none."""
    given = told.get(f"limits.{key}")
    try:
        value = float(given) if given else usual
    except ValueError as error:
        package.refuse(f"a limit is not a number: {error}", error)
    if not least <= value <= _MOST:
        package.refuse(f"{key} is {given}; expected a number from {least} to {_MOST}")
    return value


def _validator(package: Package, *, must_exist: bool) -> str | None:
    """Return the path of the output validator's source; None if there is none.

    Raises:
        InputError: There are several, or there is none that the grader knows but must be one.
    """
    found = [
        name
        for name in package.files
        if re.match(r"output_validators?/", name)
        and languages.of_file(name) is not None
        and not name.endswith(HEADERS)
    ]
    if len(found) > 1:
        package.refuse(f"only an output validator of one source is supported: {found[:5]}")
    if must_exist and not found:
        package.refuse("the package has no output validator in a language that the grader knows")
    return found[0] if found else None


def _icpc_submissions(package: Package) -> Iterator[PackagedSubmission]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in sorted(package.files):
        top, *rest = name.split("/")
        if top == "submissions" and len(rest) > 1:
            groups.setdefault((rest[0], rest[1]), []).append(name)
    for (folder, item), names in groups.items():
        expected = EXPECTED.get(folder, frozenset())
        found = (_RESULTS.search(package.files[name]) for name in names)
        named = next((each for each in found if each is not None), None)
        if named is not None:
            results = named[1].decode("utf-8", "replace").upper().replace("_", "-").split(",")
            known = (_RESULT_NAMES.get(each.strip()) for each in results)
            # If no word of it names a verdict, the folder still decides.
            expected = frozenset().union(*(EXPECTED[each] for each in known if each)) or expected
        path = names[0] if len(names) == 1 else f"submissions/{folder}/{item}"
        yield package.submission(path, names, expected)
