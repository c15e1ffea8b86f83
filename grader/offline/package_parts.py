"""What readers of problem packages share: a package's files, and what is made of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from grader import languages
from grader.model import (
    Checker,
    CheckerKind,
    Comparator,
    Comparison,
    InteractiveTests,
    Interactor,
    LimitOverrides,
    StdinCase,
    StdinTests,
    SuiteFile,
    TestSuite,
)
from grader.model.errors import InputError, LabelError
from grader.model.verdict import Verdict
from grader.source.files import is_own, join_files, why_refused
from grader.suites.cases import check_cases
from grader.suites.fields import limit_overrides, time_limits

_MOST_TIME_S = 3600.0
_MOST_MEMORY_BYTES = 1 << 40
HEADERS = (".h", ".hpp", ".hh", ".hxx")

_REFUSED = frozenset(Verdict) - {Verdict.PASSED, Verdict.INTERNAL_ERROR, Verdict.NO_CODE}
EXPECTED: Mapping[str, frozenset[Verdict]] = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedSubmission:
    """A submission of a package."""

    path: str
    language: str | None
    """None: it is unknown, or its files are in several. Then it cannot be graded."""
    code: str
    expected: frozenset[Verdict]
    """Which verdicts will do; empty if the package expects none that the grader knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemPackage:
    """A package, as it was read."""

    name: str
    suite: TestSuite
    submissions: tuple[PackagedSubmission, ...]
    time_multiplier: float | None = None
    """The time limit is that of the slowest accepted submission times this, rounded up; None: the
    suite has the limit."""
    time_resolution_s: float = 1.0
    """Then the limit is a multiple of this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """The files of a package, and what is said about it in errors."""

    path: Path
    files: Mapping[str, bytes] = field(default_factory=dict)
    cpp: str = "cpp"
    """The language of sources in C++."""

    def language_of(self, name: str) -> str | None:
        """Return the language of a source, by its name; None if it is unknown."""
        language = languages.of_file(name)
        return self.cpp if language == "cpp" else language

    def refuse(self, words: str, cause: Exception | None = None) -> NoReturn:
        """Raise an `InputError` about the package."""
        message = f"{self.path}: {words}"
        raise InputError(message) from cause

    def text(self, name: str) -> str:
        """Return the text of a file.

        Raises:
            InputError: There is no such file, or it is not UTF-8.
        """
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
        try:
            if time_s is None:
                return limit_overrides(memory_bytes=memory)
            return time_limits(time_s, memory_bytes=memory)
        except LabelError as error:
            self.refuse(str(error), error)

    def submission(
        self, path: str, names: Sequence[str], expected: frozenset[Verdict]
    ) -> PackagedSubmission:
        """Return the submission in some files. Its code need not be UTF-8.

        Args:
            path: Of the file or, if there are several, of their folder.
            names: The files.
            expected: As in `PackagedSubmission`.
        """
        known = {self.language_of(name) for name in names} - {None}
        language = known.pop() if len(known) == 1 else None
        texts = {name: self.files[name].decode("utf-8", "replace") for name in names}
        code = texts.get(path, "")
        if path not in texts and language is not None:
            found = languages.find(language)
            own = {
                name.removeprefix(f"{path}/"): text
                for name, text in texts.items()
                if is_own(name, found)
            }
            code = join_files(own) if why_refused(list(own)) is None else ""
            language = language if code else None
        return PackagedSubmission(path=path, language=language, code=code, expected=expected)

    def suite(self, cases: list[StdinCase], decider: Checker, limits: LimitOverrides) -> TestSuite:
        """Return the suite of a package.

        Raises:
            InputError: There is no case.
            LabelError: There are too many cases.
        """
        if not cases:
            self.refuse("the package has no case")
        comparison = Comparison(comparator=Comparator.CHECKER, checker=decider)
        tests: StdinTests | InteractiveTests = StdinTests(cases=tuple(cases), comparison=comparison)
        if isinstance(decider, Interactor):
            tests = InteractiveTests(cases=tuple(cases), interactor=decider)
        return check_cases(TestSuite(tests=tests, format="package", limits=limits))


def program_of(
    package: Package,
    source: str,
    make: Callable[..., Checker],
    kind: CheckerKind,
    arguments: tuple[str, ...] = (),
) -> Checker:
    """Return a checker or interactor with the files of its folder."""
    language = package.language_of(source)
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
            if name.startswith(folder) and name.endswith(HEADERS)
        ),
    )
