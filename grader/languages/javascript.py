"""JavaScript, by Node.js."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    call_first,
)
from grader.model import MiB

_MODULE = re.compile(
    r"^[ \t]*(?:import\b(?:[^\n;(]*\bfrom\b|[ \t]*['\"])"
    r"|export[ \t]+(?:default|const|function|class|\{))",
    re.MULTILINE,
)


def prepare(code: str) -> SourceFile:
    """Name the file so that Node takes one that imports for the module that it is."""
    return SourceFile(path="solution.mjs" if _MODULE.search(code) else "solution.js", code=code)


_SHOW = """
function shownForTests(value) {
  return JSON.stringify(value, (_key, inner) => {
    if (inner === undefined || typeof inner === "function") return `(${typeof inner})`;
    if (typeof inner === "bigint") return String(inner);
    if (typeof inner === "number") return Number.isFinite(inner) ? inner : String(inner);
    if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return inner;
    if (inner instanceof Map || inner instanceof Set) return [...inner];
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
"""


def show(values: ValueDriver) -> str:
    """Show what expressions are worth as JSON, keys in order and 1.0 as 1."""
    statements = values.statements(
        'console.log("\\n{mark} {number} " + shownForTests({expression}))', end=";"
    )
    return "\n".join([values.code, _SHOW, statements])


_TESTS = TranslatedTests(
    start="assert.deepEqual(",
    split=call_first(");"),
    setup="const candidate = {name};",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bconsole\.assert\s*\()"),
    truth="!!({})",
    stub=lambda _begun, name: f"function {name}() {{}}",
)

JAVASCRIPT = Language(
    name="javascript",
    title="JavaScript",
    image="javascript",
    aliases=frozenset({"js", "node", "nodejs", "node.js", "mjs", "cjs", "ecmascript"}),
    packages={"node": "nodejs"},
    folders=("/usr/share/nodejs",),
    source="solution.js",
    prepare=prepare,
    compile=("node", "--check", "{source}"),
    run=("node", "--max-old-space-size={memory_mib}", "--stack-size=49152", "{source}"),
    environment={"NODE_DISABLE_COLORS": "1", "UV_THREADPOOL_SIZE": "2"},
    time_factor=2.0,
    start_up_s=0.2,
    runtime_memory_bytes=64 * MiB,
    show=show,
    tests=_TESTS,
    assertions=_ASSERTIONS,
    compile_words=ErrorWords(
        message=re.compile(r"^(?P<message>\w*Error: .+)", re.MULTILINE),
        line=re.compile(r"solution\.m?js:(?P<line>\d+)"),
    ),
    runtime_words=ErrorWords(
        message=re.compile(r"^(?:Uncaught )?(?P<message>\w*(?:Error|Exception)\b.*)", re.MULTILINE),
        line=re.compile(r"solution\.m?js:(?P<line>\d+)"),
    ),
    out_of_memory=("JavaScript heap out of memory",),
)

LANGUAGES = (JAVASCRIPT,)
