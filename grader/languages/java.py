"""Java. The file of a public class must have its name, and the command to run it names a class."""

import re

from grader.languages.language import (
    PREBUILT,
    Assertions,
    CallDriver,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    Named,
    Prebuilt,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
    end_of_call,
    lacking_nodes,
    with_empty_method,
    with_open_class,
    without_comments,
)
from grader.languages.reading_tests import masked, refuse
from grader.model import MiB
from grader.model.errors import SuiteError

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
    """Return the name of a class; `Main` if it is too long for that of a file."""
    return name if len(name.encode()) <= _MOST_NAME_BYTES else _MAIN_CLASS


_IMPORT = re.compile(r"^[ \t]*import[ \t]+[\w.* \t]+;", re.MULTILINE)
_CLASS = re.compile(r"\bclass\b")
_NAMED = re.compile(r"\bclass\s+Problem\b")
_MAIN_OF_TESTS = re.compile(r"\bclass\s+Main\b")
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
        r"\1", _MAIN.sub("void mainOfTheAnswer(", _PACKAGE.sub("", driver.code))
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
    bare = masked(code, _TEXT_OR_COMMENT)
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
_TEXTS = (
    r'''(?s:"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'''
    r"""|'(?:\\.|[^'\\\n])*')"""
)
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT_OR_COMMENT = re.compile(rf"{_TEXTS}|{_COMMENTS}", re.DOTALL)
_OF_RUNNERS = re.compile(r"^import\s+(?:static\s+)?org\.(?:junit|assertj|hamcrest)\b[^;]*;", re.M)
_TEST_CLASS = re.compile(r"^(?:public\s+)?class\s+(?P<name>\w+)\s*\{", re.MULTILINE)
_ANNOTATION = re.compile(r"@(?P<name>\w+)(?P<arguments>\s*\()?")
_KNOWN = frozenset(
    "Test Disabled Ignore DisplayName BeforeEach Before SuppressWarnings Override".split()
)
_METHOD = re.compile(
    r"(?P<annotations>(?:@\w+\s*)+)(?:public\s+)?void\s+(?P<name>\w+)\s*\(\s*\)"
    r"(?P<throws>\s*throws\s+[\w.,\s]+?)?\s*\{"
)
_THROWING = re.compile(r"\bassertThat(?:ExceptionOfType|ThrownBy|(?P<kind>\w+Exception))\s*(?=\()")
_LINK = re.compile(r"\s*\.\s*(?P<name>\w+)\s*(?=\()")
_CONSTANT = re.compile(r"(?<![\w.])[A-Z]\w*(?:\.[A-Z]\w*)*\.[A-Z][A-Z0-9_]*(?![\w(.])")
_MADE = re.compile(r"\b(?:class|enum|interface|record)\s+(\w+)")


def tests_program(source: str, _path: str, example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a class of JUnit's tests; see `Exercises.program`.

    Names of tests go, since they may tell what is expected.

    Raises:
        SuiteError: It is written in another way.
    """
    bare = without_comments(source, _COMMENTS, _TEXTS)
    bare = _without_annotations(_OF_RUNNERS.sub("", _throwing(bare)))
    classes = [found["name"] for found in _TEST_CLASS.finditer(bare)]
    if len(classes) != 1 or _PACKAGE.search(bare):
        message = "the tests must be one class, outside of any package"
        raise SuiteError(message)
    tests, before = list[str](), list[str]()

    def named(found: re.Match[str]) -> str:
        is_test = "@Test" in found["annotations"]
        name = f"test{len(tests)}ForTests" if is_test else found["name"]
        (tests if is_test else before).append(f"each.{name}();")
        return f"void {name}(){found['throws'] or ''} {{"

    program = _TEST_CLASS.sub(r"class \g<name> {", _METHOD.sub(named, bare))
    if left := re.search(r"@(?:Test|Before)", program):
        refuse("a test has another form", program[left.start() :])
    calls = "".join(
        f"ShownForTests.run(() -> {{ {classes[0]} each = new {classes[0]}();"
        f" {' '.join(before)} {test} }});\n"
        for test in tests
    )
    main = f"public static void main(String[] all) {{\n{calls}"
    end = "System.exit(ShownForTests.hasFailed ? 1 : 0);"  # Threads of the submission may go on.
    example = _TEXT_OR_COMMENT.sub(" ", example)
    names = tuple(dict.fromkeys(_MADE.findall(example)))
    enums = set(re.findall(r"\benum\s+(\w+)", example))
    for constant in _CONSTANT.finditer(program):
        path = constant[0].split(".")
        if path[0] in names and path[-2] not in enums:
            refuse("the tests use a constant of the submission", constant[0])
    return f"{program}\nclass TestsOfTheSuite {{\n{main}{end}\n}}\n}}\n", names


def _without_annotations(source: str) -> str:
    """Return tests with the annotations that make methods tests only, without arguments.

    Raises:
        SuiteError: There are others.
    """
    parts, end = list[str](), 0
    mask = masked(source, _TEXTS)
    for found in _ANNOTATION.finditer(mask):
        size = None
        if found["arguments"]:
            size = end_of_call(source[found.end() - 1 :])
        if found["name"] not in _KNOWN or (found["name"] == "Test" and size is not None):
            refuse("the tests have another form", source[found.start() :])
        parts.append(source[end : found.start()])
        if found["name"] in ("Test", "BeforeEach", "Before"):
            parts.append(f"@{found['name']}")
        end = found.end() if size is None else found.end() - 1 + size
    return "".join([*parts, source[end:]])


def _throwing(source: str) -> str:
    """Return tests in which each assertion of an exception is a chain of one link."""
    parts, end = list[str](), 0
    for found in _THROWING.finditer(source):
        if found.start() < end:
            continue
        first, at = _argument(source, found.end())
        links: dict[str, str] = {}
        while (link := _LINK.match(source, at)) is not None:
            links[link["name"]], at = _argument(source, link.end())
        body = links.pop("isThrownBy", None)
        kind = found["kind"] and f"{found['kind']}.class"
        if body is None:
            body, kind = first, links.pop("isInstanceOf", "Throwable.class")
        kind = kind or first
        how = next(iter(links.items()), ("", ""))
        shown = {
            "": f"throwsForTests({kind})",
            "withMessage": f"throwsWithForTests({kind}, {how[1]})",
            "hasMessage": f"throwsWithForTests({kind}, {how[1]})",
            "withMessageContaining": f"throwsAboutForTests({kind}, {how[1]})",
            "hasMessageContaining": f"throwsAboutForTests({kind}, {how[1]})",
        }.get(how[0])
        if shown is None or len(links) > 1:
            continue  # It stays as it is, and is refused.
        parts += [source[end : found.start()], f"assertThat({body}).{shown}"]
        end = at
    return "".join([*parts, source[end:]])


def _argument(source: str, at: int) -> tuple[str, int]:
    """Return what is in the brackets that open at a place, and where they end."""
    size = end_of_call(source[at:])
    if size is None:
        refuse("brackets do not end", source[at:])
    return source[at + 1 : at + size - 1].strip(), at + size


_AFTER = "ShownForTests.second({actual}, {expected})"
"""The actual value is evaluated as well, since later assertions may need its effects."""
_MATCHERS = {
    "isEqualTo": Matcher(expected=_AFTER),
    "isTrue": Matcher(expected="ShownForTests.second({actual}, true)"),
    "isFalse": Matcher(expected="ShownForTests.second({actual}, false)"),
    "isNull": Matcher(expected="ShownForTests.second({actual}, null)"),
    "isEmpty": Matcher(
        actual="ShownForTests.size({actual})", expected="ShownForTests.second({actual}, 0)"
    ),
    "isNotEqualTo": Matcher(expected=_AFTER, relation="!="),
    "isNotNull": Matcher(expected="ShownForTests.second({actual}, null)", relation="!="),
    "isNotEmpty": Matcher(
        actual="ShownForTests.size({actual})",
        expected="ShownForTests.second({actual}, 0)",
        relation="!=",
    ),
    "hasSize": Matcher(actual="ShownForTests.size({actual})", expected=_AFTER),
    "containsExactly": Matcher(
        actual="ShownForTests.items({actual})",
        expected="ShownForTests.second({actual}, java.util.Arrays.<Object>asList({expected}))",
    ),
    "containsExactlyInAnyOrder": Matcher(
        actual="ShownForTests.sorted({actual})",
        expected="ShownForTests.second({actual},"
        " ShownForTests.sorted(java.util.Arrays.<Object>asList({expected})))",
    ),
    "containsExactlyInAnyOrderEntriesOf": Matcher(expected=_AFTER),
    "containsExactlyElementsOf": Matcher(
        actual="ShownForTests.items({actual})",
        expected="ShownForTests.second({actual}, ShownForTests.items({expected}))",
    ),
}
_WITHIN = re.compile(
    r"(.*),\s*(?:within|offset|Offset\.offset)\(\s*(\d+(?:\.\d+)?(?:[eE]-?\d+)?)[dDfF]?\s*\)", re.S
)
_MAY_BE_ALL = re.compile(r"[a-z]\w*(?:\.\w+)*(?:\([^()]*\))?|new\b.*", re.DOTALL)
"""A single argument that may be an array. Then it would hold all expected items."""
_THROWN = re.compile(r"(?P<kind>[\w.]+)\.class(?:,\s*(?P<message>.*))?", re.DOTALL)


def exercise_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion of JUnit or AssertJ compares; see `Exercises.matcher`."""
    if kind in ("throwsForTests", "throwsWithForTests", "throwsAboutForTests"):
        thrown = _THROWN.fullmatch(argument)
        if thrown is None:
            return None
        shown = "thrown" if thrown["message"] is None else "message"
        name = thrown["kind"].rpartition(".")[2]
        return Matcher(
            actual=f"ShownForTests.{shown}({thrown['kind']}.class, {{actual}})",
            expected=f'"{name}"' if thrown["message"] is None else "{expected}",
            argument=thrown["message"],
            contains="About" in kind,
            is_of_a_function=True,
        )
    if kind in ("containsExactly", "containsExactlyInAnyOrder") and _MAY_BE_ALL.fullmatch(argument):
        return None
    if kind in ("isCloseTo", "isEqualTo") and (within := _WITHIN.fullmatch(argument)):
        return Matcher(expected=_AFTER, argument=within[1], within=float(within[2]))
    return _MATCHERS.get(kind)


def named_value(named: Named) -> str | None:
    """Make an expression of a definition; see `Exercises.named`."""
    value = f"new {named.type} {named.value}" if named.value.startswith("{") else named.value
    if not named.more:
        return f"({value})"
    if named.type in ("", "var"):
        return None
    body = f"{named.type} {named.name} = {value}; {named.more}; return {named.name};"
    return f"((java.util.function.Supplier<{named.type}>) () -> {{ {body} }}).get()"


_EXERCISES = Exercises(
    start=re.compile(r"(?<![\w.])(?:assertThat|(?P<kind>(?:\w+\.)?(?:assert[A-Z]\w*|fail)))\s*\("),
    matcher=exercise_matcher,
    comments=_COMMENTS,
    texts=_TEXTS,
    prefix=re.compile(r"^new\s+"),
    judging=frozenset(
        """
        allMatch anyMatch compareTo contains containsAll containsKey containsValue endsWith equals
        equalsIgnoreCase matches noneMatch startsWith
        """.split()
    ),
    program=tests_program,
    test=re.compile(r"\bvoid test\d+ForTests\(\)[^{]*\{"),
    defines=re.compile(
        r"(?P<other>(?:.*[{;])?)\s*(?:(?:private|public|static|final)\s+)*"
        r"(?!return\b|else\b|new\b|throw\b)(?P<type>[A-Za-z_][\w.]*(?:<[\w.,<>?\s\[\]]*>)?(?:\[\])*)\s+|\s*"
    ),
    data=_CONSTANT,
    words=frozenset(
        """
        int long short byte char boolean double float var java javax
        Integer Long Short Byte Character Boolean Double Float BigInteger BigDecimal
        List Set Map HashMap HashSet TreeMap TreeSet LinkedHashMap LinkedHashSet ArrayList
        LinkedList Arrays Collections Collection Stream Collectors Optional asList singletonList
        emptyList singleton emptyMap emptySet Point LocalDate LocalDateTime
        """.split()
    ),
    lines_end=False,
    named=named_value,
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
        exercises=_EXERCISES,
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
