"""Makes a program of Java's tests: one class with assertions of JUnit or AssertJ."""

import re

from grader.languages.language import Exercises, Matcher, Named, end_of_call, without_comments
from grader.languages.reading_tests import masked, refuse
from grader.model.errors import SuiteError

PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)
_TEXTS = (
    r'''(?s:"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'''
    r"""|'(?:\\.|[^'\\\n])*')"""
)
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
TEXT_OR_COMMENT = re.compile(rf"{_TEXTS}|{_COMMENTS}", re.DOTALL)
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
    if len(classes) != 1 or PACKAGE.search(bare):
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
    example = TEXT_OR_COMMENT.sub(" ", example)
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


EXERCISES = Exercises(
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
