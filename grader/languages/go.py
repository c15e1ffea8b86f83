"""Go."""

import re
from collections.abc import Mapping

from grader.languages.go_tests import read_tests
from grader.languages.language import (
    Assertions,
    CallDriver,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    driver_source,
    end_of_call,
    lacking_nodes,
)

_PACKAGE = re.compile(r"^package[ \t]+\w+[ \t]*;?", re.MULTILINE)
_IMPORT = re.compile(
    r"""^import[ \t]*(?:\([^)]*\)|(?:[\w.]+[ \t]+)?["`][^"`\n]*["`])[ \t]*;?""", re.MULTILINE
)
_IMPORTED = re.compile(r"""(?:(?<![\w.])(?!import\b)([\w.]+)[ \t]+)?["`]([^"`\n]+)["`]""")
_MAIN = re.compile(r"\bfunc[ \t]+main[ \t]*\(")
_TEST = re.compile(r"^func[ \t]+(Test\w*)[ \t]*\(\w+ \*testing\.T\)", re.MULTILINE)
_REPORTER = re.compile(r"^[ \t]*assert[ \t]*:=[ \t]*assert\.New\(t\)[ \t]*;?$", re.MULTILINE)
_USUAL_IMPORTS = (
    'import ("container/heap"; "fmt"; "math"; "math/bits"; "sort"; "strconv"; "strings")'
)
"""What may be used without an import in calls, as on LeetCode."""
_NO_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|`[^`]*`|//[^\n]*|/\*.*?\*/', re.DOTALL)
"""Texts and comments, which may mention packages that are not used."""
_BODY = re.compile(r"(?P<body>^func[ \t]+Test.*?)^\}", re.MULTILINE | re.DOTALL)
_LOCAL_FUNCTION = re.compile(r"^(?:\t| {4})(\w+)[ \t]*:=[ \t]*func\(", re.MULTILINE)
_RANDOM = re.compile(r"\brand\.(?!New)")
_SHOW = driver_source("show.go")

_SHOW_SEEN = (
    'import (shownreflect "reflect"; shownsort "sort"; shownstrconv "strconv"; showntime "time")\n'
    f"{driver_source('tests.go')}"
)
"""What tests of exercises need."""


def imported_files(files: Mapping[str, str]) -> dict[str, str]:
    """Return copies of files in folders, at the places to which the paths of imports lead.

    `shapes/area.go` is imported as `shapes` or, with any name of the module, `name/shapes`.
    """
    folders = {path.rpartition("/")[0] for path in files if path.endswith(".go")} - {""}
    clauses = (clause for code in files.values() for clause in _IMPORT.findall(code))
    copies: dict[str, str] = {}
    for imported in {path for clause in clauses for _name, path in _IMPORTED.findall(clause)}:
        named = [each for each in folders if f"/{imported}".endswith(f"/{each}")]
        if not named or imported.startswith("."):
            continue
        folder = max(named, key=len)
        for path, code in files.items():
            if path.rpartition("/")[0] == folder and path.endswith(".go"):
                copies[f"src/{imported}/{path.rpartition('/')[2]}"] = code
    return copies


def show(values: ValueDriver) -> str:
    """Show the values of expressions as Go writes values for debugging, with their types.

    Go compiles no import that is not used, so those of the problem, the submission and the tests
    are taken together, as far as their names occur.
    """
    tests = values.statements('shownForTests("{mark} {number}", {expression})')
    if not values.around:
        tests = f"func main() {{\n{tests}\n}}"
    own = "" if values.code else _SHOW_SEEN  # a submission that is a file of its own
    return _program(values.code, values.head, f'import shownfmt "fmt"\n{own}{_SHOW}', tests)


def as_main(code: str) -> str:
    """Let a file be in one package with a program of tests, which has a `main` of its own."""
    code = _MAIN.sub("func mainOfTheAnswer(", code)
    code, found = _PACKAGE.subn("package main", code, count=1)
    return code if found else f"package main; {code}"


def _program(code: str, head: str, own: str, tests: str) -> str:
    """Put a program together.

    Args:
        code: The submission.
        head: The problem's imports.
        own: Our functions, after their imports.
        tests: What uses both.
    """
    code = _MAIN.sub("func mainOfTheAnswer(", code)
    found = _IMPORT.findall(head) + _IMPORT.findall(code)
    while (clause := _IMPORT.match(tests)) is not None:
        found.append(clause[0])
        tests = tests[clause.end() :].lstrip()
    imports = dict.fromkeys(
        (path, "" if name == path.rpartition("/")[2] else name)
        for clause in found
        for name, path in _IMPORTED.findall(clause)
        if "." not in path
    )
    if "testing.T" in tests:
        imports["testing", ""] = None
    # What is taken out leaves its lines, so that errors name those of the answer.
    code = _IMPORT.sub(_lines_alone, _PACKAGE.sub("", code))
    read = _NO_CODE.sub("", f"{code}\n{tests}")
    used = [
        f'import {name} "{path}"'
        for path, name in imports
        if name in ("_", ".")
        or re.search(rf"\b{re.escape(name or path.rpartition('/')[2])}\s*\.", read)
    ]
    start = ["package main", *used, own, "//line solution.go:1:1"]
    return "\n".join([*start, code, "//line tests.go:1:1", tests])


def _lines_alone(clause: re.Match[str]) -> str:
    return "\n" * clause[0].count("\n")


_CALL = driver_source("call.go")


_NODES = {
    "ListNode": "type ListNode struct { Val int; Next *ListNode };",
    "TreeNode": "type TreeNode struct { Val int; Left, Right *TreeNode };",
}


def call(driver: CallDriver) -> str:
    """Read arguments as the parameters of the function want them, and show its first result."""
    called = driver.function
    if driver.holder is not None:
        called = f"(&{driver.holder}{{}}).{called}"
    main = f'func main() {{ callForTests("{driver.mark}", {called}) }}\n'
    main += lacking_nodes(driver.code, _NODES)
    return _program(driver.code, _USUAL_IMPORTS, _CALL, main)


def call_tests(source: str) -> str:
    """Make a program of the functions that `go test` would call.

    Their random numbers are the same for each submission.

    Go refuses local functions that are not used, such as those that only assertions called.
    """

    def use_all(test: re.Match[str]) -> str:
        uses = "; ".join(f"_ = {name}" for name in _LOCAL_FUNCTION.findall(test["body"]))
        return f"{test['body']}{uses}\n}}"

    source, found = _RANDOM.subn("randForTests.", source.replace("time.Now().UnixNano()", "42"))
    own = "var randForTests = rand.New(rand.NewSource(42))\n" if found else ""
    calls = "; ".join(f"{name}(new(testing.T))" for name in _TEST.findall(source))
    return f"{_BODY.sub(use_all, _REPORTER.sub('', source))}\n{own}func main() {{ {calls} }}\n"


_RESULTS = re.compile(r"\)\s*\((?P<all>[^()]*)\)\s*\Z")
"""The results of a function that has several, or names them."""


def return_nothing(begun: str, _name: str) -> str:
    """Complete a function so that it returns the zeros of its types."""
    several = _RESULTS.search(begun)
    if several is not None:
        results = several["all"]
        if not re.search(r"\w\s+[\w*\[]", results):
            results = ", ".join(f"_ {type.strip()}" for type in results.split(","))
        return f"{begun[: several.start('all')]}{results}) {{ return }}"
    result = begun.rpartition(")")[2].strip()
    return f"{begun} {{ return *new({result}) }}" if result else f"{begun} {{ }}"


_ASSERTIONS = Assertions(
    start=re.compile(
        r"(?P<expected_first>\bassert\.Equal\s*\()|(?P<condition>\bassert\.True\s*\()"
        r"|(?P<denial>\bassert\.False\s*\()|(?P<close>\bassert\.InDelta\s*\()"
        r"|(?P<unequal>\bassert\.NotEqual\s*\()"
        r"|(?P<unknown>\bassert\.\w+\s*\()"
    ),
    expected="likeForTests(func() { _ = {actual} }, {expected})",
    prepare=call_tests,
    imports='import ("bytes"; "crypto/md5"; "fmt"; "math"; "math/rand"; "regexp"; "sort"; '
    '"strconv"; "strings"; "time")',
    stub=return_nothing,
)

_RESERVED = frozenset(
    """
    break case chan const continue default defer else fallthrough for func go goto if import
    interface map package range return select struct switch type var init main
    """.split()
)


def split_row(rest: str) -> tuple[str, str] | None:
    """Split `candidate(...), expected: VALUE },`; see `TranslatedTests.sides`."""
    end = end_of_call(rest)
    value = None if end is None else re.fullmatch(r", expected: (.*) \},", rest[end:], re.DOTALL)
    if value is None:
        return None
    # The tests compare what "%v" makes of both, for which a nil slice is an empty one.
    return f"asTextForTests({rest[:end]})", f"asTextForTests({value[1]})"


_TESTS = TranslatedTests(
    start="{ actual: ",
    call="asTextForTests(candidate(",
    split=split_row,
    name=re.compile(r"candidate := (\w+)"),
    setup="candidate := {name}",
    head=_USUAL_IMPORTS,
)

LANGUAGES = (
    Language(
        name="go",
        title="Go",
        image="go",
        aliases=frozenset({"golang", "go_test.go"}),
        packages={"go": "golang-go"},
        folders=("/usr/share/go-*",),
        source="solution.go",
        # Without what a debugger needs, it links sooner; panics name their lines all the same.
        compile=("go", "build", "-ldflags=-s -w", "-o", "program", "{sources}"),
        run=("./program",),
        environment={
            "GO111MODULE": "off",
            "GOCACHE": "/tmp/go-cache",  # noqa: S108 - each run mounts its own
            "GOMAXPROCS": "2",
            # The second is the work area, where `imported_files` puts what is imported.
            "GOPATH": "/tmp/go:/work",  # noqa: S108 - as above
            "GOTOOLCHAIN": "local",
        },
        imported=imported_files,
        program=_MAIN,
        beside_tests=as_main,
        show=show,
        call=call,
        reserved=_RESERVED,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=read_tests,
        compile_words=ErrorWords(
            message=re.compile(
                r"\S\.go:\d+:\d+: (?P<message>.+)"
                # Errors without a line, such as those of the linker.
                r"|^(?:#|package) command-line-arguments\n(?!\S*\.go:)\s*(?P<other>.+)",
                re.MULTILINE,
            ),
            line=re.compile(r"solution\.go:(?P<line>\d+):\d+: "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"^(?:panic|fatal error): (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"solution\.go:(?P<line>\d+)"),
        ),
        out_of_memory=("fatal error: runtime: out of memory", "runtime: cannot allocate memory"),
    ),
)
