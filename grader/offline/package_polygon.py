"""Packages of Codeforces' Polygon."""

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from grader.model import Checker, CheckerKind, Interactor, LimitOverrides, StdinCase
from grader.offline.package_parts import (
    EXPECTED,
    Package,
    PackagedSubmission,
    ProblemPackage,
    program_of,
)


def read_polygon(package: Package) -> ProblemPackage:
    """Read a package that has a `problem.xml`.

    Raises:
        InputError: It is wrong, or needs something that is not supported.
    """
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
    decider = program_of(package, role.get("path", ""), make, CheckerKind.TESTLIB)
    return ProblemPackage(
        name=root.get("short-name") or package.path.stem,
        suite=package.suite(
            _polygon_cases(package, testset), decider, _polygon_limits(package, testset)
        ),
        submissions=tuple(_polygon_submissions(package, root)),
    )


def _polygon_limits(package: Package, testset: ElementTree.Element) -> LimitOverrides:
    try:
        time_ms = int(testset.findtext("time-limit", ""))
        memory_bytes = int(testset.findtext("memory-limit", ""))
    except ValueError as error:
        package.refuse(f"problem.xml: a limit is not a whole number: {error}", error)
    return package.limits(min(time_ms, 10**9) / 1000, min(memory_bytes, 10**18))


_MOST_POINTS = 1e9
_PATTERN = re.compile(r"[^%]*%(?:0?[1-9])?d[^%]*")


def _polygon_cases(package: Package, testset: ElementTree.Element) -> list[StdinCase]:
    patterns = [testset.findtext(f"{kind}-path-pattern", "") for kind in ("input", "answer")]
    for pattern in patterns:
        if _PATTERN.fullmatch(pattern) is None:
            package.refuse(
                f"problem.xml: a pattern of paths is {pattern[:80]!r}; expected one with the "
                "number of the test, such as tests/%02d"
            )
    groups = {
        each.get("name")
        for each in testset.iterfind("groups/group")
        if each.get("points-policy") == "complete-group"
    }
    tests = list(testset.iterfind("tests/test"))
    worth = [_points(package, test) for test in tests]
    if not any(worth):
        worth = [1.0] * len(tests)
    cases = []
    for number, test in enumerate(tests, start=1):
        given, answer = (pattern % number for pattern in patterns)
        if given not in package.files and test.get("method") == "generated":
            package.refuse(
                f"{given} is not there, since generators make it; use Polygon's full package"
            )
        group = test.get("group")
        case = StdinCase(
            id=given,
            stdin=package.text(given),
            expected=package.text(answer),
            points=worth[number - 1],
            group=group if group in groups else None,
        )
        cases.append(case)
    return cases


def _points(package: Package, test: ElementTree.Element) -> float:
    try:
        points = float(test.get("points", "0"))
    except ValueError as error:
        package.refuse(f"problem.xml: points of a test are not a number: {error}", error)
    if not 0 <= points <= _MOST_POINTS:
        package.refuse(f"problem.xml: a test has {points:g} points; expected 0 to {_MOST_POINTS:g}")
    return points


def _polygon_submissions(
    package: Package, root: ElementTree.Element
) -> Iterator[PackagedSubmission]:
    for solution in root.iterfind("assets/solutions/solution"):
        source = solution.find("source")
        path = "" if source is None else source.get("path", "")
        if path not in package.files:
            package.refuse(f"there is no solution {path!r}")
        tag = solution.get("tag", "").replace("-", "_")
        yield package.submission(path, [path], EXPECTED.get(tag, frozenset()))
