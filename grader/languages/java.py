"""Java. The file of a public class must be called like it, and its class be named to run it."""

import re

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
    split_equality,
    with_open_class,
)
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
"""Of Debian's libjavatuples-java, which MultiPL-E's rows import; no other program needs it."""
_PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)
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
    package = _PACKAGE.search(bare)
    name = public[1] if public else entry
    return SourceFile(
        path=f"{_usable(name)}.java",
        code=code,
        entry=_usable(f"{package[1]}.{entry}" if package else entry),
    )


def _usable(name: str) -> str:
    """Return the name of a class if a file can have it, else that of another class."""
    return name if len(name.encode()) <= _MOST_NAME_BYTES else _MAIN_CLASS


_IMPORT = re.compile(r"^[ \t]*import[ \t]+[\w.* \t]+;", re.MULTILINE)
_CLASS = re.compile(r"\bclass\b")
_NAMED = re.compile(r"\bclass\s+Problem\b")
_PUBLIC_CLASS = re.compile(r"^([ \t]*)public[ \t]+(?=(?:final[ \t]+)?class\b)", re.MULTILINE)
_SHOW = """
    static String shownForTests(Object value) {
        StringBuilder all = new StringBuilder();
        if (value == null) return "null";
        if (value instanceof String) {
            String text = (String) value;
            return '"' + text.replace("\\\\", "\\\\\\\\").replace("\\n", "\\\\n") + '"';
        }
        if (value instanceof java.util.Optional) {
            return "Optional " + shownForTests(((java.util.Optional<?>) value).orElse(null));
        }
        if (value instanceof java.util.Map) {
            java.util.TreeMap<String, String> sorted = new java.util.TreeMap<>();
            for (java.util.Map.Entry<?, ?> entry : ((java.util.Map<?, ?>) value).entrySet()) {
                sorted.put(shownForTests(entry.getKey()), shownForTests(entry.getValue()));
            }
            return sorted.toString();
        }
        if (value instanceof java.util.Set) {
            java.util.TreeSet<String> sorted = new java.util.TreeSet<>();
            for (Object item : (java.util.Set<?>) value) sorted.add(shownForTests(item));
            return sorted.toString();
        }
        if (value instanceof Iterable) {
            for (Object item : (Iterable<?>) value) all.append(shownForTests(item)).append(", ");
            return "[" + all + "]";
        }
        if (value.getClass().isArray()) {
            for (int i = 0; i < java.lang.reflect.Array.getLength(value); i++) {
                all.append(shownForTests(java.lang.reflect.Array.get(value, i))).append(", ");
            }
            return "[" + all + "]";
        }
        if (value instanceof Double || value instanceof Float) {
            double number = ((Number) value).doubleValue();
            if (number == Math.rint(number) && Math.abs(number) < 1e15) {
                return String.valueOf((long) number);
            }
        }
        return String.valueOf(value);
    }

    static boolean line(String start, Object value) {
        System.out.println(start + shownForTests(value));
        return true;
    }
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions, 1.0 as 1, as a number in them equals one of another type.

    Without source around them, they are over the static methods of a class `Problem`. Source that
    begins no class continues the last one of the answer. The problem's imports stand in the first
    line of the answer, which keeps its line numbers.
    """
    code = _PUBLIC_CLASS.sub(r"\1", _MAIN.sub("void mainOfTheAnswer(", values.code))
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
    main = f"public static void main(String[] args) {{\n{tests}\n}}"
    return f"{code}\nclass Main extends Problem {{\n{_SHOW}\n{main}\n}}"


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

    A method outside of any class is taken into one. What LeetCode imports stands in the first line.
    """
    code = _PUBLIC_CLASS.sub(
        r"\1", _MAIN.sub("void mainOfTheAnswer(", _PACKAGE.sub("", driver.code))
    )
    holder = driver.holder
    if holder is None:
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


_TESTS = TranslatedTests(
    start="assert(", call="", split=split_equality, name=re.compile(r"assert\((\w+)\(")
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<listed>\bcorrect\s*=\s*Arrays\.asList\s*\()|(?P<condition>\bassert\b)"),
    ends=";",
    before_message=":",
    between=", ",
    stub=lambda _begun, _name: "class Solution {}",
)

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
    source="""import java.io.*;
import java.util.*;
import java.util.function.*;
import java.util.stream.*;

public class Archived {
    enum Kind { ODD, EVEN }
    interface Shape { default int sides() { return 0; } }
    record Point(int x, int y) implements Shape {}
    static class Node<T extends Comparable<T>> { T value; Node<T> next; }

    public static void main(String[] args) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        Map<String, List<Integer>> found = new TreeMap<>();
        int[][] table = new int[2][];
        for (String line; (line = in.readLine()) != null; ) {
            found.computeIfAbsent(line.trim(), key -> new ArrayList<>()).add(table.length);
        }
        try (PrintWriter out = new PrintWriter(System.out)) {
            Function<Integer, Kind> kind = n -> n % 2 == 0 ? Kind.EVEN : Kind.ODD;
            var counted = found.values().stream().flatMap(List::stream).map(kind)
                .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()));
            switch (counted.size()) {
                case 0: out.println("none"); break;
                default: out.printf("%d %s%n", counted.size(), new Point(1, 2));
            }
        } catch (RuntimeException error) {
            throw new IllegalStateException("failed: " + error.getMessage());
        }
    }
}
""",
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
        aliases=frozenset({"java8", "java11", "java17", "java21", "java 8", "java 11", "openjdk"}),
        # Rows of MultiPL-E import the library.
        packages={
            "javac": "default-jdk-headless libjavatuples-java",
            "java": "default-jdk-headless",
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
