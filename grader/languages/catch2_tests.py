"""Makes a program of C++'s tests: a file for Catch2, of which each section is a function."""

import re

from grader.languages.c import EXERCISE_HEAD, require_known_includes
from grader.languages.language import Exercises, Matcher, Named, without_comments
from grader.languages.reading_tests import end_of_brackets, masked, refuse
from grader.model.errors import SuiteError

TEXTS = (
    r"""(?s:(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*\""""
    r"""|(?<![\w'])'(?:\\[^\n][^'\n]*|[^'\\\n])')"""
)
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT_OR_COMMENT = re.compile(rf"{TEXTS}|{_COMMENTS}", re.DOTALL)
_CATCH = re.compile(
    r"^#if\w*[^\n]*EXERCISM_TEST_SUITE[^\n]*\n(?:#(?:include|else)[^\n]*\n)+#endif[^\n]*$"
    r"|^#include[ \t]*[<\"](?:test/)?catch[^\n]*$",
    re.MULTILINE,
)
_TEST_CASE = re.compile(rf"^TEST_CASE\s*\((?:[^()\"]|{TEXTS})*\)\s*\{{", re.MULTILINE)
_SECTION = re.compile(rf"\bSECTION\s*\((?:[^()\"]|{TEXTS.replace('mark', 'other')})*\)\s*\{{")
_TYPE = (
    r"(?<![\w:])(?:(?:static|const|constexpr)\s+)*(?!(?:return|new|throw|else|delete|goto|using|case)\b)"
    r"(?:(?:unsigned|signed|long|short)\s+)*[A-Za-z_][\w:]*(?:<[\w\s:,*&<>]*>)?(?:\s+const)?(?:\s*[&*])*"
)
_DECLARED = re.compile(
    rf"(?P<before>(?:^|[;{{}}])\s*)(?P<type>{_TYPE})\s+(?P<name>[A-Za-z_]\w*)"
    r"(?:\s*(?P<open>[({])|(?P<end>\s*;))"
)
_TOLERANCE = re.compile(r"(?P<before>\bWithinAbs\s*\([^()]*,\s*)(?P<name>[A-Za-z_]\w*)\s*\)")
_MADE = re.compile(r"(?:^|[;{}>]|\benum\b)\s*(?:namespace|class|struct)\s+(\w+)", re.MULTILINE)
_DEFINED = re.compile(r"^[\w:<>,&* \t]+?\b(\w+)\s*\([^;{}()]*\)[^;{}()]*[;{]", re.MULTILINE)


def tests_program(source: str, path: str, example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of tests for Catch2; see `Exercises.program`.

    Names of tests go, since they may tell what is expected.

    Raises:
        SuiteError: A test has another form, or includes what is not there.
    """
    bare = without_comments(source, _COMMENTS, TEXTS)
    bare = _CATCH.sub("", _CATCH.sub(EXERCISE_HEAD, bare, count=1))
    require_known_includes(bare, path)
    if EXERCISE_HEAD not in bare:
        message = "the tests do not include Catch2"
        raise SuiteError(message)
    bare = _TOLERANCE.sub(lambda found: _with_tolerance(found, bare), bare)
    example = _TEXT_OR_COMMENT.sub(" ", example)
    made = _MADE.findall(example)
    if not re.search(r"(?<!using )\bnamespace\s+\w", example) or re.search(
        r"\busing\s+namespace\s+(?!std\b)", bare
    ):
        made += _DEFINED.findall(example)
    parts, tests, end, mask = list[str](), list[str](), 0, masked(bare, TEXTS)
    for found in _TEST_CASE.finditer(bare):
        close = _end(mask, found.end())
        parts.append(bare[end : found.start()])
        for body in _sections(bare[found.end() : close]):
            tests.append(f"test_{len(tests)}_for_tests")
            parts.append(f"static void {tests[-1]}() {{{body}}}\n")
        end = close + 1
    program = "".join([*parts, bare[end:]])
    left = re.search(
        r"\b(?:TEST_CASE\w*|TEMPLATE_\w+|SCENARIO\w*|SECTION|GENERATE|Approx|METHOD_AS\w+)\b",
        program,
    )
    if left is not None:
        refuse("a test has another form", program[left.start() :])
    program, own = _with_assignments(program, frozenset(made))
    calls = "".join(f"    shown_for_tests::run({name});\n" for name in tests)
    main = f"int main() {{\n{calls}    return shown_for_tests::has_failed;\n}}\n"
    return f"{program}\n{main}", tuple(dict.fromkeys([*made, *own]))


def _with_tolerance(found: re.Match[str], source: str) -> str:
    """Return a number in place of the name of a tolerance, if it has one value."""
    values = re.findall(rf"\b{found['name']}\s*=\s*([\d.]+(?:[eE]-?\d+)?)\s*;", source)
    return f"{found['before']}{values[0] if len(values) == 1 else found['name']})"


def _end(mask: str, start: int) -> int:
    """Return where the bracket closes that is open at a place, in source without texts.

    Raises:
        SuiteError: It does not close.
    """
    end = end_of_brackets(mask, start)
    return refuse("brackets do not end", mask[start:]) if end is None else end


def _sections(body: str) -> list[str]:
    """Return a test for each section of a test, which begins anew for each.

    Raises:
        SuiteError: Not all statements outside of sections are ahead of them, or one may assert.
    """
    found = _SECTION.search(body)
    if found is None:
        return [body]
    start, tests, at = body[: found.start()], list[str](), found.start()
    mask = masked(body, TEXTS)
    while (found := _SECTION.match(body, at)) is not None:
        end = _end(mask, found.end())
        tests.append(start + body[found.end() : end])
        at = end + 1 + len(body[end + 1 :]) - len(body[end + 1 :].lstrip())
    if body[at:].strip() or re.search(r"\b(?:REQUIRE|CHECK|SECTION)", start + body[at:]):
        refuse("a test has sections amid other statements", body[at:].strip() or start)
    return tests


def _plain(type: str) -> str:
    """Return the type of the values of variables that are declared with a type."""
    return re.sub(r"\b(?:static|const|constexpr)\b|[&*]", "", type).strip()


def _one_word(type: str) -> str:
    """Return a type as it may stand ahead of the brackets that make a value of it."""
    return f"std::decay_t<{type}>" if re.match(r"\w+\s+\w", type) else type


def _with_assignments(source: str, made: frozenset[str]) -> tuple[str, list[str]]:
    """Return tests in which `T a{1}` is `T a = T{1}`, and the names of the submission's objects.

    Raises:
        SuiteError: A name is that of such an object and of another value.
    """
    parts, end, own, others = list[str](), 0, list[str](), set[str]()
    mask = masked(source, TEXTS)
    at = 0
    while (found := _DECLARED.search(mask, at)) is not None:
        at = found.end() - 1
        type = _plain(found["type"])
        if re.split(r"\W", type)[0] in made:
            own.append(found["name"])
            continue
        others.add(found["name"])
        if type in ("void", "auto", "struct", "namespace", "class", "typename"):
            continue
        value, after = "", found.start("end") if found["end"] else 0
        if found["open"]:
            after = _end(mask, found.end()) + 1
            value = source[found.end() : after - 1].strip()
            if not mask[after:].lstrip().startswith(";"):
                continue
        first = re.match(r"\w+", value)
        if first is None or first[0] not in made:  # If it is, this is a call.
            start, close = ("(", ")") if found["open"] == "(" else ("{", "}")
            value = f"{_one_word(type)}{start}{value}{close}"
        parts.append(f"{source[end : found.end('name')]} = {value}")
        end = at = after
    for assigned in re.findall(rf"{_TYPE}\s+(\w+)\s*=[^=]", mask):
        others.add(assigned)
    both = sorted(others & set(own))
    if both:
        refuse("a name is of several kinds", both[0])
    return "".join([*parts, source[end:]]), own


_VALUE = "(static_cast<void>({actual}), shown_for_tests::as<decltype({actual})>({expected}))"
"""The actual value is evaluated as well, since later assertions may need its effects."""
_THROWS = "shown_for_tests::throws<{kind}>([&]() {{ static_cast<void>({{actual}}); }})"
_EQUAL = Matcher(either_first=True, expected=_VALUE)
_TRUE = Matcher(
    actual="bool({actual})",
    expected="(static_cast<void>({actual}), true)",
    is_condition=True,
    is_whole=True,
    negation="REQUIRE_FALSE",
)
_FALSE = _TRUE._replace(
    expected="(static_cast<void>({actual}), false)", is_condition=False, negation="REQUIRE"
)
_WITHIN = re.compile(
    r"(?:Catch::)?(?:Matchers::)?WithinAbs\s*\((?P<value>.*),\s*(?P<within>[\w.+-]+)\s*\)",
    re.DOTALL,
)


def exercise_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion of Catch2 compares; see `Exercises.matcher`."""
    form = kind.removeprefix("REQUIRE").removeprefix("CHECK")
    if kind == "==":
        return _EQUAL
    if form == "":
        return _TRUE
    if form == "_FALSE":
        return _FALSE
    if form in ("_NOTHROW", "_THROWS", "_THROWS_AS"):
        kind = argument if form == "_THROWS_AS" else "shown_for_tests::anything"
        shown = _THROWS.format(kind=kind)
        return Matcher(
            actual=shown,
            expected=f"({shown}, {'false' if form == '_NOTHROW' else 'true'})",
            is_of_a_function=True,
        )
    within = _WITHIN.fullmatch(argument) if form == "_THAT" else None
    if within is not None and re.fullmatch(r"[\d.]+(?:[eE]-?\d+)?", within["within"]):
        return Matcher(expected=_VALUE, argument=within["value"], within=float(within["within"]))
    return None


def named_value(named: Named) -> str:
    """Make an expression of a definition; see `Exercises.named`."""
    type = _plain(named.type)
    value = f"{_one_word(type)}{named.value}" if named.value.startswith("{") else named.value
    if not named.more:
        return f"({value})"
    return f"[&]() {{ {type} {named.name} = {value}; {named.more}; return {named.name}; }}()"


EXERCISES = Exercises(
    start=re.compile(r"(?<!\w)(?P<kind>(?:STATIC_)?(?:REQUIRE|CHECK)\w*|FAIL\w*|SUCCEED)\s*\("),
    matcher=exercise_matcher,
    comments=_COMMENTS,
    texts=TEXTS,
    prefix=re.compile(r"^!"),
    judging=frozenset({"compare", "contains", "find", "count", "starts_with", "ends_with"}),
    program=tests_program,
    test=re.compile(r"^static void test_\d+_for_tests\(\) \{", re.MULTILINE),
    defines=re.compile(rf"(?P<other>(?:.*[{{;]\s*)?)\s*(?P<type>{_TYPE})\s+|\s*"),
    words=frozenset(
        """
        std string vector array map set pair tuple make_pair make_tuple optional nullopt
        int unsigned long short char bool double float size_t int32_t uint32_t int64_t uint64_t
        uint8_t int8_t uint16_t int16_t void static_cast return
        """.split()
    ),
    lines_end=False,
    named=named_value,
)
