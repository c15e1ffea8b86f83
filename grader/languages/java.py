"""Java. The file of a public class must have its name, and the command to run it names a class."""

import re

from grader.languages.junit_tests import EXERCISES, PACKAGE, TEXT_OR_COMMENT
from grader.languages.language import (
    PREBUILT,
    Assertions,
    CallDriver,
    ErrorWords,
    Language,
    Prebuilt,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
    lacking_nodes,
    with_empty_method,
    with_open_class,
)
from grader.languages.reading_tests import masked
from grader.model import MiB

_PUBLIC = re.compile(
    r"^[ \t]*public[ \t]+(?:(?:final|abstract|strictfp|sealed)[ \t]+)*"
    r"(?:class|interface|enum|record)[ \t]+(\w+)",
    re.MULTILINE,
)
_TOP_LEVEL = re.compile(
    r"^(?:import\b[^;\n]*;[ \t]*)*(?:(?:public|final|abstract|strictfp|sealed)[ \t]+)*"
    r"(?:class|interface|enum|record)[ \t]+(\w+)",
    re.MULTILINE,
)
_MAIN = re.compile(r"\bvoid\s+main\s*\(")
_TUPLES = "/usr/share/java/javatuples.jar"
"""From Debian's libjavatuples-java. Rows of MultiPL-E import it; no other program needs it."""
_COMMENT = re.compile(
    # Or a text, which may hold what looks like a comment.
    r"""(?P<text>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|/\*(?s:.*?)(?:\*/|\Z)|//.*"""
)
_MAIN_CLASS = "Main"
_MOST_NAME_BYTES = 245
"""A file's name has at most 255, and `.java` or `.class` comes on top. `javac` refuses a class with
a longer name in whatever file it stands."""


def prepare(code: str) -> SourceFile:
    """Name the file as the public class, and find the class that has `main`."""
    bare = _COMMENT.sub(lambda found: found["text"] or "", code)
    public = _PUBLIC.search(bare)
    main = _MAIN.search(bare)
    before = _TOP_LEVEL.findall(bare, 0, main.start() if main else len(bare))
    # Of classes that are written from the margin on, the last one before `main` holds it.
    entry = before[-1] if before else public[1] if public else _MAIN_CLASS
    package = PACKAGE.search(bare)
    name = public[1] if public else entry
    return SourceFile(
        path=f"{_usable(name)}.java",
        code=code,
        entry=_usable(f"{package[1]}.{entry}" if package else entry),
    )


def _usable(name: str) -> str:
    """Return the name of a class; `Main` if it is too long for that of a file."""
    return name if len(name.encode()) <= _MOST_NAME_BYTES else _MAIN_CLASS


_IMPORT = re.compile(r"^[ \t]*import[ \t]+[\w.* \t]+;", re.MULTILINE)
_CLASS = re.compile(r"\bclass\b")
_NAMED = re.compile(r"\bclass\s+Problem\b")
_MAIN_OF_TESTS = re.compile(r"\bclass\s+Main\b")
_PUBLIC_CLASS = re.compile(r"^([ \t]*)public[ \t]+(?=(?:final[ \t]+)?class\b)", re.MULTILINE)
_SHOW = driver_source("show.java")


def show(values: ValueDriver) -> str:
    """Show the values of expressions, 1.0 as 1, since numbers of different types may be equal.

    If there is no source around them, they call methods of one class. Source that begins no class
    continues the last one of the answer. The problem's imports stand in the first line of the
    answer, which keeps its line numbers.
    """
    if values.around and not values.code:
        tests = values.statements('ShownForTests.line("\\n{mark} {number} ", {expression})')
        return f"{tests}\n{_EXERCISE_DRIVER}"
    code = _PUBLIC_CLASS.sub(r"\1", _MAIN.sub("void mainOfTheAnswer(", values.code))
    if any(_MAIN_OF_TESTS.search(part) for part in values.around):
        code = re.sub(r"\bMain\b", "MainOfTheAnswer", code)
    if not _NAMED.search(code) and not _CLASS.search(code):
        code = f"class Problem {{ {code}\n}}"
    code = " ".join(values.head.split("\n")) + code
    if values.around:
        tests = values.statements('ShownForTests.line("\\n{mark} {number} ", {expression})')
        shown = f"class ShownForTests {{\n{_SHOW}\n}}"
        if _CLASS.search(values.around[0].partition("{")[0]):
            return f"{code}\n{shown}\n{tests}"
        return f"{with_open_class(code)}\n{tests}\n{shown}"
    tests = values.statements('line("\\n{mark} {number} ", {expression})', end=";")
    main = (
        "public static void main(String[] args) throws Exception {\n"
        "new ShownForTests().showForTests();\n}\n"
        f"void showForTests() throws Exception {{\n{tests}\n}}"
    )
    holder = _holder(code, values.expressions)
    return f"{code}\nclass ShownForTests extends {holder} {{\n{_SHOW}\n{main}\n}}"


def _holder(code: str, expressions: tuple[str, ...]) -> str:
    """Return the class whose methods expressions call: `Problem`, or the one that has the first."""
    if _NAMED.search(code):
        return "Problem"
    called = re.match(r"\w+", expressions[0]) if expressions else None
    defined = re.search(rf"\s{called[0]}\s*\(", code) if called else None
    before = _TOP_LEVEL.findall(code, 0, defined.start() if defined else len(code))
    return before[-1] if before else "Problem"


_CLASS_OR_BRACE = re.compile(r"\b(?:class|interface|enum|record)\s+(?P<name>\w+)|[{}]")
_CALL = driver_source("call.java")
_NODES = {
    "ListNode": "class ListNode { int val; ListNode next; ListNode() {}"
    " ListNode(int val) { this(val, null); }"
    " ListNode(int val, ListNode next) { this.val = val; this.next = next; } }",
    "TreeNode": "class TreeNode { int val; TreeNode left; TreeNode right; TreeNode() {}"
    " TreeNode(int val) { this(val, null, null); } TreeNode(int val, TreeNode left, TreeNode right)"
    " { this.val = val; this.left = left; this.right = right; } }",
}


def call(driver: CallDriver) -> str:
    """Read arguments as the parameters of the method want them, and show what it returns.

    The class may be inside another one. Without it, the method may be in any class, and a method
    outside of all classes is taken into one. What LeetCode imports stands in the first line.
    """
    code = _PUBLIC_CLASS.sub(
        r"\1", _MAIN.sub("void mainOfTheAnswer(", PACKAGE.sub("", driver.code))
    )
    holder = ".".join(_classes_around(code, driver))
    if not holder:
        holder, imports = "Solution", " ".join(_IMPORT.findall(code))
        code = f"{imports} class Solution {{ {_IMPORT.sub('', code)}\n}}"
    return (
        "import java.util.*; import java.util.function.*; import java.util.stream.*; "
        + f"{code}\n"
        + _CALL.replace("{holder}", holder)
        .replace("{function}", driver.function)
        .replace("{mark}", driver.mark)
        + lacking_nodes(driver.code, _NODES)
    )


def _classes_around(code: str, driver: CallDriver) -> list[str]:
    """Return the class whose method is called, after the classes that it is in; none if none is."""
    bare = masked(code, TEXT_OR_COMMENT)
    wanted = rf"[\w>\]]\s+{re.escape(driver.function)}\s*\([^;{{}}]*\)[^;{{}}()]*\{{"
    last = []
    if driver.holder is not None:
        wanted, last = rf"\bclass\s+{re.escape(driver.holder)}\b", [driver.holder]
    found = re.search(wanted, bare)
    around = list[str | None]()
    name = None
    for part in _CLASS_OR_BRACE.finditer(bare, 0, 0 if found is None else found.start()):
        if part["name"]:
            name = part["name"]
        elif part[0] == "{":
            around.append(name)
            name = None
        elif around:
            around.pop()
    return [each for each in around if each is not None] + last


_TESTS = TranslatedTests(start="assert(", call="", name=re.compile(r"assert\((\w+)\("))


def empty_method(begun: str, _name: str) -> str:
    """Complete a class whose last method has only begun."""
    values = {"void": "", "boolean": "return false;"}
    values |= dict.fromkeys(
        ("byte", "short", "int", "long", "float", "double", "char"), "return 0;"
    )
    stub = with_empty_method(begun, lambda type: values.get(type, "return null;"))
    return "class Solution {}" if stub is None else stub


_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<listed>\bcorrect\s*=\s*Arrays\.asList\s*\()|(?P<condition>\bassert\b)"),
    ends=";",
    before_message=":",
    stub=empty_method,
)

_EXERCISE_DRIVER = driver_source("tests.java")
_ARCHIVE = "javac.jsa"
_JAVAC = (
    *("javac", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData"),
    *("-J-Xmx512m", "-J-XX:ActiveProcessorCount=2", "-encoding", "UTF-8", "-proc:none"),
    *("-nowarn", "-XDshould-stop.ifError=FLOW"),
)

_ARCHIVED = Prebuilt(
    path=_ARCHIVE,
    source_path="Archived.java",
    # What is loaded to compile it is what most programs need.
    source=driver_source("archived.java"),
    command=(*_JAVAC, "-J-XX:ArchiveClassesAtExit={file}", "{source}"),
)

_RESERVED = frozenset(
    """
    abstract assert boolean break byte case catch char class const continue default do double else
    enum extends false final finally float for goto if implements import instanceof int interface
    long native new null package private protected public return short static strictfp super
    switch synchronized this throw throws transient true try void volatile while main
    """.split()
)

LANGUAGES = (
    Language(
        name="java",
        title="Java",
        image="java",
        aliases=frozenset(
            (
                "openjdk",
                *(f"java{blank}{of}" for of in (6, 7, 8, 11, 17, 21) for blank in ("", " ")),
            )
        ),
        # Without the library, rows of MultiPL-E do not compile, whatever is submitted.
        packages={
            "javac": "default-jdk-headless",
            "java": "default-jdk-headless",
            _TUPLES: "libjavatuples-java",
        },
        folders=("/etc/java-*", "/usr/share/java"),
        source="Main.java",
        prepare=prepare,
        # Java starts without the archive if it is missing, or if another Java made it.
        compile=(
            *(*_JAVAC, f"-J-XX:SharedArchiveFile={PREBUILT}/{_ARCHIVE}"),
            *("-cp", _TUPLES, "-d", "classes", "{sources}"),
        ),
        prebuilt=_ARCHIVED,
        run=(
            # With its assertions, which every other language checks.
            *("java", "-ea", "-XX:+UseSerialGC", "-XX:-UsePerfData"),
            "-XX:ActiveProcessorCount=2",
            *("-XX:ReservedCodeCacheSize=48m", "-XX:-UseContainerSupport", "-Xss64m"),
            *("-Xmx{memory_mib}m", "-Dfile.encoding=UTF-8", "-cp", f"classes:{_TUPLES}", "{entry}"),
        ),
        program=_MAIN,
        time_factor=2.0,
        start_up_s=0.5,
        runtime_memory_bytes=128 * MiB,
        show=show,
        call=call,
        reserved=_RESERVED,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=EXERCISES,
        compile_words=ErrorWords(
            message=re.compile(r"\.java:\d+: error: (?P<message>.+)"),
            line=re.compile(r"\.java:(?P<line>\d+): error: "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(
                r"(?:^Exception in thread \"[^\"\n]*\"|^Error:) (?P<message>.+)", re.MULTILINE
            ),
            line=re.compile(
                r"^[ \t]+at (?!java|jdk)[^\n(]*\(\w+\.java:(?P<line>\d+)\)", re.MULTILINE
            ),
        ),
        out_of_memory=("java.lang.OutOfMemoryError",),
    ),
)
