"""What the grader has to know of a language. docs/languages.md says how to add one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from grader.model import ExpressionCase, ExpressionTests, Limits, MiB

COMPILE_LIMITS = Limits(
    cpu_time_s=30.0,
    wall_time_s=40.0,  # code that runs while it is compiled may sleep, and would hold a slot
    memory_bytes=1024 * MiB,
    output_bytes=256 * 1024,
    work_bytes=256 * MiB,
)
"""The limits of compiling any submission. `work_bytes` includes the files that the compiler
makes."""


class SourceFile(NamedTuple):
    """A submission's file, ready to be compiled."""

    path: str
    """Relative to the work area."""
    code: str
    entry: str = ""
    """The value of `{entry}` in the commands."""
    format: str = ""
    """The value of `{format}` in the commands."""
    beside: Mapping[str, str] = MappingProxyType({})
    """Files by path that it needs if the submission has several files and lacks these."""


class ValueDriver(NamedTuple):
    """Expressions whose values a program is to show."""

    code: str
    """The submission or, in the program that shows what is expected, what stands for it."""
    head: str
    """What the problem's own code begins with, such as imports; empty if there is none."""
    setup: str
    """Statements ahead of the expressions."""
    expressions: tuple[str, ...]
    mark: str
    """For each expression, the program prints a line of its own with this, the expression's number
    from 0 and the value, in order, whatever the submission prints."""
    around: tuple[str, ...] = ()
    """See `grader.model.ExpressionTests`."""

    def statements(self, form: str, end: str = "") -> str:
        """Return the statements that show the values, amid the source that is around them.

        Args:
            form: One such statement, with `{mark}`, `{number}` and `{expression}`.
            end: What ends a statement, unless the source around it does.
        """
        shown = [
            form.replace("{mark}", self.mark)
            .replace("{number}", str(number))
            .replace("{expression}", expression)
            for number, expression in enumerate(self.expressions)
        ]
        if not self.around:
            return "\n".join([self.setup, *(f"{statement}{end}" for statement in shown)])
        first, *rest = self.around
        parts = (f"{one}{part}" for one, part in zip(shown, rest, strict=True))
        return "".join([self.setup, first, *parts])


class CallDriver(NamedTuple):
    """A call whose arguments a program reads, and whose result it shows."""

    code: str
    """The submission."""
    holder: str | None
    """The class whose method is called on a new instance; None if a plain function is called."""
    function: str
    arguments: int
    """How many arguments there are in the first case."""
    mark: str
    """The program reads a JSON list of the arguments from standard input, and prints a line of its
    own with this, " 0 " and the result as JSON. NaN and Infinity are numbers there."""


def driver_source(name: str) -> str:
    """Return what programs that show values or make calls have in them, from `drivers/`."""
    return (Path(__file__).parent / "drivers" / name).read_text()


def call_driver(code: str, entry_point: str, arguments: int, mark: str) -> CallDriver:
    """Return the call of a submission's function or method.

    A method may also be a plain function, and a plain function a method of the class `Solution`;
    and it may be called `two_sum` instead of `twoSum`, or the other way round, as is usual in the
    submission's language.

    Args:
        code: The submission.
        entry_point: As in `grader.model.CallTests`.
        arguments: As in `CallDriver`.
        mark: As in `CallDriver`.
    """
    holder, _, function = entry_point.rpartition(".")
    holder = holder or "Solution"
    spellings = (each for each in spelled(function) if re.search(rf"\b{re.escape(each)}\b", code))
    has_holder = re.search(
        rf"\b(?:class|struct|impl|type|function)\s+{re.escape(holder)}\b"
        rf"|\b(?:const|let|var)\s+{re.escape(holder)}\s*=",
        code,
    )
    return CallDriver(
        code=code,
        holder=holder if has_holder else None,
        function=next(spellings, function),
        arguments=arguments,
        mark=mark,
    )


def spelled(function: str) -> tuple[str, str, str]:
    """Return a function's name as it is given, in snake case and in camel case."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", function).lower()
    camel = re.sub(r"(?<=[A-Za-z0-9])_([a-z0-9])", lambda found: found[1].upper(), function)
    return function, snake, camel


def name_pattern(entry_point: str) -> str:
    """Return a pattern of the names that an answer may give a function, or a method of a class."""
    names = dict.fromkeys(spelled(entry_point.rpartition(".")[2]))
    return rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)"


_TEXT_OR_COMMENT = re.compile(
    r"""@"(?:[^"]|"")*"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|//[^\n]*|/\*.*?\*/""", re.DOTALL
)


def lacking_nodes(code: str, definitions: Mapping[str, str]) -> str:
    """Return the definitions of LeetCode's nodes that code uses and does not define itself.

    Args:
        code: A submission, which may have such definitions in its comments.
        definitions: Source by the name of the class, each on one line.
    """
    bare = _TEXT_OR_COMMENT.sub("", code)
    return " ".join(
        definition
        for name, definition in definitions.items()
        if re.search(rf"\b{name}\b", bare)
        and not re.search(
            rf"\b(?:class|struct|type|interface|function|const|let|var)\s+{name}\b(?!\s*[;*&])",
            bare,
        )
    )


def without_comments(source: str, comments: str, texts: str) -> str:
    """Return source with blanks in place of comments.

    Args:
        source: The source.
        comments: A pattern of the language's comments.
        texts: A pattern of its texts, in which nothing is a comment.
    """
    pattern = re.compile(f"(?P<text>{texts})|{comments}", re.DOTALL)
    return pattern.sub(lambda found: found["text"] or re.sub(r"[^\n]", " ", found[0]), source)


PREBUILT = "/opt/prebuilt"
"""Where compilers find what was made beforehand; they must do without it, too."""


class Prebuilt(NamedTuple):
    """A file that is made once per machine, for all submissions."""

    path: str
    """Relative to `PREBUILT`, as `source_path` is."""
    source_path: str
    source: str
    """What it is made of. Compilers may read this in place of it."""
    command: tuple[str, ...]
    """What makes `{file}` of `{source}`. No sandbox confines it, so it must read no submission."""

    def command_for(self, *, file: str, source: str) -> list[str]:
        """Return the command with both paths filled in."""
        return [part.replace("{file}", file).replace("{source}", source) for part in self.command]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorWords:
    """How to read what a compiler or a runtime says. Nothing but feedback depends on it.

    Each is searched for on its own, in text of at most 64 KiB, and the first match counts.
    """

    message: re.Pattern[str]
    """The group `message` is what is wrong."""
    line: re.Pattern[str] | None = None
    """The group `line` is the number of the line in the submission."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertions:
    """How people write assertions in a language, for `grader.suites.assertions`."""

    read: Callable[[str, str], ExpressionTests] | None = None
    """Reads tests of another form, from their source without comments and the name of the function
    that they call. Raises SuiteError if it cannot. If it is given, `start` is not used."""
    start: re.Pattern[str] = re.compile(r"(?!)")
    """Matches the beginning of an assertion, up to its opening bracket or, without a bracket, up
    to its condition. The name of the group that matched is its form.

    `condition`: a condition and perhaps a message. `denial`: a condition that must be false.
    `actual_first`, `expected_first`: two values. `unequal`: two that must differ. `close`: the
    expected value, the other one and their tolerance. `listed`: a list of conditions. `unknown`:
    not supported.
    """
    comments: str = r"//[^\n]*|/\*.*?\*/"
    """A pattern of comments."""
    ends: str = "\n;"
    """Each of these characters ends an assertion without brackets."""
    before_message: str = ","
    """What separates a condition from its message."""
    has_braces: bool = True
    """Whether the body of a loop is in braces."""
    truth: str = "{}"
    """Makes a truth value of the expression `{}`."""
    true: str = "true"
    false: str = "false"
    expected: str = "{expected}"
    """The value that `{actual}` must equal, in its own type if the language has some."""
    loose: str = "{}"
    """What `==` compares of the value of the expression `{}`, if it is not as strict as `===`."""
    named: str = "{name}"
    """How the value of the name `{name}` is read without being used up."""
    imports: str = ""
    """Imports that the original harness adds to answers, in addition to those of the row."""
    prepare: Callable[[str], str] | None = None
    """Makes a program of the source of the tests; None if the source is one."""
    stub: Callable[[str, str], str] | None = None
    """Makes a function that does nothing, from the beginning of its code and its name; None if the
    program that shows expected values needs none."""


class Matcher(NamedTuple):
    """What an assertion compares: two expressions."""

    actual: str = "{actual}"
    """The one over the submission."""
    expected: str = "{expected}"
    """The other one, in which `{actual}` may be used for its type. If it lacks `{expected}`, what
    is in the brackets only tells the kind of assertion."""
    within: float | None = None
    """As in `grader.model.ExpressionCase`."""
    contains: bool = False
    """As there."""
    relation: str = ""
    """As there."""
    argument: str | None = None
    """The part of what is in the brackets that is expected; None for all of it."""
    expected_first: bool = False
    """Whether the expected value is the first argument."""
    is_of_a_function: bool = False
    """Whether `{actual}` is a function of the tests, to be called."""
    either_first: bool = False
    """Whether the expected value may be the first argument or the second."""
    is_condition: bool = False
    """Whether the argument may be an equality, which is read as the kind of assertion `==`."""
    negation: str = ""
    """The kind of an assertion that holds if and only if this one does not; empty if none is known.
    It takes the place of a `!` ahead of the value, which would tell what is expected."""
    has_tolerance: bool = False
    """Whether the third argument is `within`."""
    is_whole: bool = False
    """Whether all that is in the brackets is the first argument, whatever commas it has."""

    def case(self, id: str, actual: str, expected: str) -> ExpressionCase:
        """Return the case of an assertion about two expressions."""
        both = {"{actual}": actual, "{expected}": expected}
        actual, expected = (
            re.sub(r"\{(?:actual|expected)\}", lambda found: both[found[0]], form)
            for form in (self.actual, self.expected)
        )
        return ExpressionCase(
            id=id,
            actual=actual,
            expected=expected,
            within=self.within,
            contains=self.contains,
            relation=self.relation,
        )


class Named(NamedTuple):
    """A name of an expected value, as its definition has it."""

    name: str
    type: str
    """Empty if none is given."""
    value: str
    more: str
    """Statements that follow the definition and add to the value, such as calls of `push`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exercises:
    """How the tests of Exercism's track are written, for `grader.suites.chained`."""

    start: re.Pattern[str]
    """Matches the beginning of an assertion, up to its opening bracket. If there is a group `kind`,
    all that is compared is in the bracket. If not, only the first value is, and a chain follows."""
    matcher: Callable[[str, str], Matcher | None]
    """Tells what is compared, from the kind of an assertion (in a chain, the words that follow the
    value) and from its second argument (in a chain, what is in the brackets there); None if that
    is not known."""
    comments: str
    """A pattern of comments."""
    texts: str
    """A pattern of texts."""
    prefix: re.Pattern[str]
    """Matches words ahead of a call that do not change what it is, such as `new`."""
    judging: frozenset[str]
    """Methods of the language's own values whose result a submission could change, such as `every`
    of a list. An assertion must not rest on them."""
    program: Callable[[str, str, str], tuple[str, tuple[str, ...]]]
    """Makes a program of a file of tests that takes the submission from a path, and finds the names
    that it takes. The third argument is the exercise's example; empty if it has none."""
    stub: Callable[[tuple[str, ...]], str] | None = None
    """Makes a file of things of these names that do nothing, whatever is done to them; None if the
    example stands for the submission, since values in this language have the submission's types."""
    test: re.Pattern[str] | None = None
    """Matches the beginning of a test, up to the bracket that opens its body. No assertion may be
    outside of tests, or in a further block. None if assertions may be anywhere."""
    defines: re.Pattern[str] = re.compile(
        r"(?P<other>(?:.*[{;])?)\s*(?:const|let(?:\s+mut)?|var|local)\s+|\s*"
    )
    """Matches what may stand before a name in the line that gives it a value. The group `other` is
    the part that does not belong to the definition. If more than that matches, the line declares
    the name. A group `type` is its type."""
    lines_end: bool = True
    """Whether a line break may end a statement."""
    data: re.Pattern[str] = re.compile(r"(?!)")
    """Matches names of the submission's types and constants, if expected values made of them run no
    code of the submission."""
    words: frozenset[str] = frozenset()
    """Further words in expected values that are not names of the tests."""
    named: Callable[[Named], str | None] = lambda named: None if named.more else f"({named.value})"
    """Makes an expression of the value that a name has; None if it cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslatedTests:
    """How MultiPL-E writes tests in a language: each case is one line."""

    start: str
    """How the line of a case begins; no other line begins so."""
    call: str = "candidate("
    """How the expression that calls the submission begins."""
    close: str = ");"
    """What ends the line, after the expected value."""
    split: Callable[[str], tuple[str, str] | None] | None = None
    """Does what `sides` does; None if the expression is followed by an operator and the value."""
    name: re.Pattern[str] = re.compile(r"candidate = (\w+)")
    """Finds the name of the submission's function in the tests."""
    texts_span_lines: bool = False
    """Whether texts may have line breaks, so that a case may be longer than its line."""
    setup: str = ""
    """Defines `candidate` as `{name}`; empty if the tests call the function by its name."""
    head: str = ""
    """Imports besides those of the prompt."""
    expected: str = "{expected}"
    """The value that `{actual}` must equal, in its own type if the language has some."""
    stub: Callable[[str], str] | None = None
    """Makes a function that does nothing, from a prompt that ends with the beginning of its code;
    None if the program that shows expected values needs none."""

    def sides(self, rest: str) -> tuple[str, str] | None:
        """Split such a line, after `start`, into that expression and the expected one.

        Returns None if the line has another form.
        """
        if self.split is not None:
            return self.split(rest)
        end = end_of_call(rest)
        compared = None if end is None else _COMPARED.match(rest, end)
        if end is None or compared is None:
            return None
        close = f"){self.close}" if compared["method"] else self.close
        value = rest[compared.end() :]
        return (rest[:end], value[: -len(close)]) if value.endswith(close) else None


_COMPARED = re.compile(r"\s*(?:,|!==|==|(?P<method>\.[eE]quals\())\s*")
"""What is between a call and the value that it is compared with."""


def in_type_of_call(form: str, actual: str, expected: str) -> str:
    """Return an expected value in the type of the call; `form` is that of `Assertions.expected`."""
    return form.replace("{actual}", actual).replace("{expected}", expected)


_TEXT_OR_BRACKET = re.compile(r"""(?s:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|["'()]""")


def end_of_call(text: str) -> int | None:
    """Return where the call at the start of `text` ends, by its brackets and quotes."""
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        depth += (found[0] == "(") - (found[0] == ")")
        if found[0] in ("'", '"') or depth < 0:
            return None
        if found[0] == ")" and depth == 0:
            return found.end()
    return None


_METHOD = re.compile(
    r"(?:^|[;{}/])\s*(?:(?:public|private|protected|internal|static|final|abstract)\s+)*"
    r"(?:<[^<>()]*>\s+)?(?P<type>[\w.<>\[\],? \t]+?)\s+\w+\s*\([^()]*\)[^(){};]*\Z",
    re.MULTILINE,
)


def with_empty_method(begun: str, returned: Callable[[str], str]) -> str | None:
    """Complete a class that ends with the beginning of a method.

    Args:
        begun: The class.
        returned: Makes the statements of a method that returns a type.

    Returns None if it is not the beginning of such a class.
    """
    found = _METHOD.search(begun)
    if found is None or not re.search(r"\bclass\b", begun):
        return None
    body = f"{begun} {{ {returned(found['type'].strip())} }}"
    return body + "}" * (body.count("{") - body.count("}"))


def with_closed_blocks(code: str) -> str:
    """Return code whose blocks are closed, if a stop token of its data set cut their ends off."""
    bare = _TEXT_OR_COMMENT.sub("", code)
    open_blocks = bare.count("{") - bare.count("}")
    if open_blocks <= 0 or code.rstrip().rpartition("\n")[2].startswith("}"):
        return code
    return f"{code.rstrip()}\n{'}' * open_blocks}\n"


def with_open_class(code: str) -> str:
    """Return code whose last class is still open, for tests that continue the class."""
    bare = _TEXT_OR_COMMENT.sub("", code)
    return code.rstrip().removesuffix("}") if bare.count("{") == bare.count("}") else code


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language.

    In commands and environment, `{source}` stands for the path of the submission's file, `{entry}`
    and `{format}` for what `prepare` says, and `{memory_mib}` for the memory limit in MiB. An
    argument `{sources}` stands for the paths of all source files, if there are several the one that
    begins the program last. A run's stack may grow to half of its memory limit, and to 64 MiB at
    least.
    """

    name: str
    """Its name in labels and reports."""
    title: str
    """Its name in texts for people."""
    image: str
    """The sandbox image variant that has it."""
    aliases: frozenset[str] = frozenset()
    """Other names, in fences and data sets, in lower case."""
    shared_fences: frozenset[str] = frozenset()
    """Names that its fences share with another language, in lower case, such as `python` in one
    that is another version of Python."""
    packages: Mapping[str, str]
    """The programs that it needs, and paths of other files, each with its Debian package."""
    wheels: Mapping[str, str] = field(default_factory=dict)
    """Programs that sandbox images have from Python packages and not from Debian's, each with its
    path there. sandbox_images/language/requirements.in names the packages."""
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Debian packages that only some programs need, each with a command that fails without it.
    `grader doctor` runs it, and never with anything of a submission's."""
    folders: tuple[str, ...] = ()
    """Patterns of folders that these programs need, besides /usr/bin and /usr/lib."""
    source: str
    """The path of the submission's file, if `prepare` does not say otherwise."""
    other_endings: tuple[str, ...] = ()
    """How names of source files end if not like that one."""
    headers: tuple[str, ...] = ()
    """How names of files end that only source files include."""
    compile: tuple[str, ...] = ()
    """What compiles the submission or, if the language is interpreted, checks it."""
    only_checks: bool = False
    """Whether `compile` makes nothing that a run needs, so that it tells something only if a run
    fails."""
    prebuilt: Prebuilt | None = None
    """What makes compiling quicker if it is there."""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Files by path that lie beside every program."""
    libraries: Mapping[str, bytes] = field(default_factory=dict)
    """Files by path that lie beside the source of a checker or interactor, such as headers."""
    run: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[str], SourceFile] | None = None
    """Makes the file from the code of an answer; None if the file is the code as it is."""
    imported: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    """Makes the further files by which the files of a program import those in other folders. Then
    only the files in the folder of the one that begins the program are `{sources}`. If this is
    None, all are."""
    beside_tests: Callable[[str], str] | None = None
    """Changes the code of a submission that is a file beside a program of tests; None if it stays
    as it is."""
    show: Callable[[ValueDriver], str] | None = None
    """Makes a program that shows the values of expressions, in texts that are equal if and only if
    tests in this language take the values for equal; None if only programs are graded."""
    call: Callable[[CallDriver], str] | None = None
    """Makes a program that makes a call; None if calls cannot be graded."""
    reserved: frozenset[str] = frozenset()
    """Words that cannot be the name of a function or method that is called: keywords, and names
    that the program around it needs."""
    tests: TranslatedTests | None = None
    """How MultiPL-E writes tests in it; None if such tests cannot be graded. They need `show`."""
    assertions: Assertions | None = None
    """How people write tests in it; None if such tests cannot be graded. They need `show`."""
    exercises: Exercises | Callable[[str, str], ExpressionTests] | None = None
    """How the tests of Exercism's track are written, or what reads such a file, given the path from
    which it takes the submission, and raises SuiteError if it cannot; None if they cannot be
    graded.
    """
    program: re.Pattern[str] | None = None
    """Matches what a whole program has and a part of one lacks, such as `main`; None if there is no
    such thing."""
    reads_input: re.Pattern[str] | None = None
    """Matches what reads standard input, in a language whose programs need no `main`. It tells a
    program from code that tests or explains it."""
    is_run: tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]] | None = None
    """Matches the condition by which a script tells that it is run, and not loaded by another, and
    what stands for it, as for `re.sub`: a condition that has the value of a loaded script."""
    time_factor: float = 1.0
    """The factor by which time limits are multiplied; 1 for languages about as fast as C."""
    start_up_s: float = 0.0
    """CPU time that the runtime takes before the program begins, added to the limit."""
    runtime_memory_bytes: int = 0
    """Memory that the runtime takes for itself, added to the limit."""
    compile_words: ErrorWords
    runtime_words: ErrorWords
    out_of_memory: tuple[str, ...] = ()
    """Texts on standard error by which the runtime says that memory ran out."""

    @property
    def endings(self) -> tuple[str, ...]:
        """How names of source files end."""
        return (f".{self.source.rpartition('.')[2]}", *self.other_endings)

    @property
    def fences(self) -> frozenset[str]:
        """The names of fences that hold its code, in lower case."""
        return self.names | self.shared_fences

    @property
    def names(self) -> frozenset[str]:
        """Its name and aliases, in lower case."""
        return self.aliases | {self.name}

    def as_library(self, code: str) -> str:
        """Return the code of a script so that it takes itself for loaded, and not for run."""
        if self.is_run is None:
            return code
        condition, never = self.is_run
        return condition.sub(never, code)

    def limits(self, limits: Limits) -> Limits:
        """Return the limits of a run in this language; `limits` are those of one in C."""
        return replace(
            limits,
            cpu_time_s=limits.cpu_time_s * self.time_factor + self.start_up_s,
            # This must leave room for the CPU time, or it would always be hit first.
            wall_time_s=limits.wall_time_s * self.time_factor + 2 * self.start_up_s,
            memory_bytes=limits.memory_bytes + self.runtime_memory_bytes,
        )
