"""Ruby."""

import re
from itertools import count

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
    without_comments,
)
from grader.languages.reading_tests import masked

_SOURCE = "solution.rb"
_WITHOUT_GEMS = re.compile(r"""\brequire\s*\(?\s*(["'])(?:set|json)\1""")
"""A statement that loads a library of Ruby's own, as most programs have."""
_NOTICES_GEMS = re.compile(
    # What loads gems, or code that is not here.
    r"\b(?:require|require_relative|load|autoload|eval|\w+_eval)\b"
    # What RubyGems and the gems that it loads at the start define.
    r"|\b(?:CROSS_COMPILING|DidYouMean|ErrorHighlight|Gem|Monitor|MonitorMixin|RbConfig)\b"
    r"|\b(?:RUBYGEMS\w*|corrections|gem|gem_original_require|original_message|spell_checker)\b"
    # Their suggestions are part of an error's message.
    r"|\brescue\b|\$!"
    # What lists all that is defined or loaded.
    r"|\b(?:constants|const_get|\w*methods|ObjectSpace|TracePoint|LOADED_FEATURES|LOAD_PATH)\b"
    r"""|\$["':]"""
)

_SHOW = driver_source("show.rb")


def prepare(code: str) -> SourceFile:
    """Load RubyGems only for code that may notice it. It takes four fifths of Ruby's start."""
    notices = _NOTICES_GEMS.search(_WITHOUT_GEMS.sub("", code))
    return SourceFile(_SOURCE, code, format=f"--{'enable' if notices else 'disable'}=gems")


def show(values: ValueDriver) -> str:
    """Show the values of expressions as Ruby writes them, keys in order and 1.0 as 1."""
    form = 'puts "", "{mark} {number} #{shown_for_tests({expression})}"'
    return "\n".join([values.code, _SHOW, values.statements(form)])


def split_assertion(rest: str) -> tuple[str, str] | None:
    """Split `VALUE, candidate.call(...))`; see `TranslatedTests.sides`."""
    at = rest.rfind(", candidate.call(")
    return None if at == -1 or not rest.endswith(")") else (rest[at + 2 : -1], rest[:at])


_TESTS = TranslatedTests(
    start="assert_equal(",
    call="candidate.call(",
    split=split_assertion,
    texts_span_lines=True,
    name=re.compile(r"candidate = method\(:(\w+)"),
    setup="candidate = method(:{name})",
)

_CHECKED = re.compile(r"^\s*(?P<check>\w+)[ (]\s*method\(:(?P<name>\w+)\)", re.MULTILINE)


def call_by_name(source: str) -> str:
    """Call the method by its name in tests that get it as an argument."""
    checked = _CHECKED.search(source)
    if checked is None:
        return source
    parameter = re.search(rf"\bdef\s+{checked['check']}\s*\(?\s*(\w+)", source)
    if parameter is None:
        return source
    return re.sub(rf"\b{parameter[1]}\.(?:call)?\(", f"{checked['name']}(", source)


_ASSERTIONS = Assertions(
    start=re.compile(
        r"(?P<condition>\braise\b[^\n;]*?\bunless )|(?P<denial>\braise\b[^\n;]*?\bif )"
    ),
    prepare=call_by_name,
    comments=r"#[^\n]*",
    has_braces=False,
    truth="!!({})",
    stub=lambda _begun, name: f"def {name}(*all) end",
)

_TEXTS = r"""(?s:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|%[wiqQ][\[({].*?[\])}])"""
_TEXT_OR_COMMENT = re.compile(rf"{_TEXTS}|#[^\n]*")
_AUTORUN = re.compile(r"^[ \t]*require[ \t]+['\"]minitest/\w+['\"][ \t]*$", re.MULTILINE)
_RAISED = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?P<name>\w+)[ \t]*=[ \t]*)?assert_raises[ (]+(?P<kind>[\w:]+)\)?[ \t]*"
    r"(?:\{(?P<braces>[^{}\n]*)\}|do\n(?P<body>(?:(?!^[ \t]*end\b).*\n)*?)[ \t]*end)[ \t]*$",
    re.MULTILINE,
)
_BARE = re.compile(r"^[ \t]*(?:assert|refute)\w*(?P<blank>[ \t]+)(?!\()", re.MULTILINE)
_TEST_NAME = re.compile(r"^([ \t]*def[ \t]+test_)\w*", re.MULTILINE)
_CONSTANT = re.compile(r"(?<![\w:.@$])[A-Z]\w*")
_OWN_CLASS = re.compile(r"^[ \t]*(?:class|module)[ \t]+(\w+)", re.MULTILINE)
_EXERCISE_DRIVER = driver_source("tests.rb")
_STAND_IN = driver_source("stand_in.rb")


def tests_program(source: str, _solution_path: str, _example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of minitest's tests; see `Exercises.program`.

    What the tests take from the submission are the constants that they do not define.
    """
    bare = without_comments(source, r"#[^\n]*", _TEXTS)
    program = _with_brackets(_RAISED.sub(_raised, _AUTORUN.sub("", bare)))
    # Names of tests may tell what is expected.
    numbers = count()
    program = _TEST_NAME.sub(lambda found: f"{found[1]}{next(numbers)}", program)
    defined = {"Minitest", *_OWN_CLASS.findall(program)}
    found = dict.fromkeys(_CONSTANT.findall(masked(program, _TEXT_OR_COMMENT)))
    names = [name for name in found if name not in defined]
    return f"{_EXERCISE_DRIVER}\n{program}", (*names, "thrown_for_tests") if names else ()


def _raised(found: re.Match[str]) -> str:
    """Return a call that gives what was raised, and an assertion about its class."""
    body = (found["braces"] or found["body"] or "").strip()
    thrown = f"thrown_for_tests(-> {{ {body} }})"
    if found["name"] is None:
        return f"{found['indent']}assert_kind({thrown}, {found['kind']})"
    start = found["indent"]
    return (
        f"{start}{found['name']} = {thrown}\n{start}assert_kind({found['name']}, {found['kind']})"
    )


def _with_brackets(source: str) -> str:
    """Put brackets around the arguments of assertions that have none."""
    mask, parts, end = masked(source, _TEXT_OR_COMMENT), list[str](), 0
    for found in _BARE.finditer(mask):
        stop, depth = found.end(), 0
        while stop < len(mask) and (mask[stop] != "\n" or depth or mask[stop - 1] in ",([{"):
            depth += (mask[stop] in "([{") - (mask[stop] in ")]}")
            stop += 1
        parts += [source[end : found.start("blank")], "(", source[found.end() : stop].rstrip(), ")"]
        end = stop
    return "".join([*parts, source[end:]])


_MATCHERS = {
    "assert_equal": Matcher(expected_first=True),
    "refute_equal": Matcher(expected_first=True, relation="!="),
    "assert": Matcher(actual="!!({actual})", expected="true"),
    "refute": Matcher(actual="!!({actual})", expected="false"),
    "assert_nil": Matcher(expected="nil"),
    "assert_empty": Matcher(actual="({actual}).empty?", expected="true"),
    "assert_in_delta": Matcher(expected_first=True, has_tolerance=True),
    "refute_nil": Matcher(actual="({actual}).nil?", expected="false"),
    "refute_empty": Matcher(actual="({actual}).empty?", expected="false"),
}


def minitest_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion of minitest compares; see `Exercises.matcher`."""
    if kind == "assert_kind":
        return Matcher(actual=f"kind_for_tests({{actual}}, {argument})", expected=f'"{argument}"')
    return _MATCHERS.get(kind)


_EXERCISES = Exercises(
    start=re.compile(r"(?<![\w.])(?P<kind>(?:assert|refute)\w*)\("),
    matcher=minitest_matcher,
    comments=r"#[^\n]*",
    texts=_TEXTS,
    prefix=re.compile(r"(?!)"),
    judging=frozenset(
        {"all", "any", "none", "include", "select", "map", "find", "count", "match", "between"}
    ),
    program=tests_program,
    stub=lambda names: _STAND_IN.replace(
        "{names}", str([name for name in names if name[0].isupper()])
    ),
)

_OWN_PATH, _RUN_PATH = (
    rf"(?:{path}|\bFile\.\w+\(\s*{path}\s*\))" for path in ("__FILE__", r"\$(?:0|PROGRAM_NAME)\b")
)

LANGUAGES = (
    Language(
        name="ruby",
        title="Ruby",
        image="ruby",
        aliases=frozenset({"rb", "ruby 3"}),
        packages={"ruby": "ruby"},
        folders=("/usr/share/ruby*", "/usr/share/rubygems-integration", "/var/lib/gems"),
        source=_SOURCE,
        prepare=prepare,
        compile=("ruby", "-c", "{source}"),
        only_checks=True,
        run=("ruby", "{format}", "{source}"),
        environment={"RUBY_THREAD_VM_STACK_SIZE": "50331648"},
        time_factor=3.0,
        start_up_s=0.1,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=_EXERCISES,
        compile_words=ErrorWords(
            message=re.compile(r"solution\.rb:\d+: (?P<message>.+)"),
            line=re.compile(r"solution\.rb:(?P<line>\d+): "),
        ),
        is_run=(
            re.compile(rf"{_OWN_PATH}\s*==\s*{_RUN_PATH}|{_RUN_PATH}\s*==\s*{_OWN_PATH}"),
            "false",
        ),
        reads_input=re.compile(r"\b(?:gets|readlines?|each_line|STDIN|ARGF)\b|\$(?:stdin\b|<)"),
        runtime_words=ErrorWords(
            # The files of the submission, and none of Ruby's own.
            message=re.compile(
                r"(?<![\w./-])(?!/usr/)[\w./-]+\.rb:\d+:(?:in .{1,200}?:)? (?P<message>.+)"
            ),
            line=re.compile(r"(?<![\w./-])(?!/usr/)[\w./-]+\.rb:(?P<line>\d+)"),
        ),
        out_of_memory=("(NoMemoryError)",),
    ),
)
