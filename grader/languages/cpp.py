"""C++ in two dialects, by GCC."""

import re
from dataclasses import replace
from pathlib import Path

from grader.languages.c import (
    EXERCISE_HEAD,
    GCC_WORDS,
    MAIN,
    RANDOM,
    program_of,
    require_known_includes,
    with_own_random,
    without_main,
)
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
    TranslatedTests,
    ValueDriver,
    driver_source,
    lacking_nodes,
    without_comments,
)
from grader.languages.reading_tests import end_of_brackets, masked, refuse
from grader.model.errors import SuiteError

_SHOW = f"""
#include <bits/stdc++.h>
{RANDOM}"""
_SHOW += """
namespace shown_for_tests {
using std::ostream;
template <class T> void show(ostream &out, const std::vector<T> &all);
template <class T> void show(ostream &out, const std::optional<T> &value);
template <class A, class B> void show(ostream &out, const std::pair<A, B> &both);
template <class... T> void show(ostream &out, const std::tuple<T...> &all);
template <class A, class B> void show(ostream &out, const std::map<A, B> &all);
template <class A, class B> void show(ostream &out, const std::unordered_map<A, B> &all);
template <class T> void show(ostream &out, const std::set<T> &all);
template <class T> void show(ostream &out, const std::list<T> &all);
template <class T> void show(ostream &out, const std::deque<T> &all);
template <class T> void show(ostream &out, const std::multiset<T> &all);
template <class T> void show(ostream &out, const std::unordered_set<T> &all);
template <class T, size_t n> void show(ostream &out, const std::array<T, n> &all);
inline void show(ostream &out, bool value) { out << value; }  // As a number, which it equals.
inline void show(ostream &out, char value) { out << int(value); }
inline void show(ostream &out, const std::nullopt_t &) { out << "nullopt"; }
inline void show(ostream &out, std::string_view text) {
    out << '"';
    for (char c : text) {
        if (c == '\\n') out << "\\\\n";
        else if (c == '"' || c == '\\\\') out << '\\\\' << c;
        else out << c;
    }
    out << '"';
}
inline void show(ostream &out, const std::string &text) { show(out, std::string_view(text)); }
inline void show(ostream &out, const char *text) { show(out, std::string_view(text)); }
template <class T> std::enable_if_t<std::is_integral_v<T>> show(ostream &out, T value) {
    out << +value;  // A number even if it is a byte.
}
template <class T> std::enable_if_t<std::is_floating_point_v<T>> show(ostream &out, T value) {
    out << std::setprecision(17) << double(value == 0 ? 0 : value);  // The two zeros are equal.
}
template <class All> void show_all(ostream &out, const All &all) {
    out << '[';
    for (const auto &item : all) { show(out, item); out << ", "; }
    out << ']';
}
template <class T> void show(ostream &out, const std::vector<T> &all) {
    out << '[';
    for (size_t i = 0; i < all.size(); i++) { show(out, T(all[i])); out << ", "; }
    out << ']';
}
template <class T> void show(ostream &out, const std::optional<T> &value) {
    if (value) show(out, *value); else show(out, std::nullopt);
}
template <class A, class B> void show(ostream &out, const std::pair<A, B> &both) {
    out << '('; show(out, both.first); out << ", "; show(out, both.second); out << ')';
}
template <class... T> void show(ostream &out, const std::tuple<T...> &all) {
    out << '(';
    std::apply([&](const auto &...item) { ((show(out, item), out << ", "), ...); }, all);
    out << ')';
}
template <class A, class B> void show(ostream &out, const std::map<A, B> &all) {
    show_all(out, all);
}
template <class A, class B> void show(ostream &out, const std::unordered_map<A, B> &all) {
    show(out, std::map<A, B>(all.begin(), all.end()));
}
template <class T> void show(ostream &out, const std::set<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::list<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::deque<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::multiset<T> &all) { show_all(out, all); }
template <class T> void show(ostream &out, const std::unordered_set<T> &all) {
    show_all(out, std::set<T>(all.begin(), all.end()));
}
template <class T, size_t n> void show(ostream &out, const std::array<T, n> &all) {
    show_all(out, all);
}
template <class T> auto show(ostream &out, const T &value) -> decltype(void(value.for_tests)) {
    out << value.for_tests;
}
template <class T> std::string text(const T &value) {
    std::ostringstream out;
    show(out, value);
    return out.str();
}
template <class T> std::decay_t<T> as(std::decay_t<T> value) { return value; }
template <class T> void line(const char *start, const T &value) {
    std::cout << start;
    show(std::cout, value);
    std::cout << std::endl;
}
}
"""


_UNION = re.compile(
    r"\bunion(?P<name>\s+Union_\w+\s*\{)|:\s*(?P<member>f\d+)\s*\([^;{}]*\)\s*\{",
)


def _telling_member(code: str) -> str:
    """Let the unions of MultiPL-E know which member they hold, which C++ cannot tell."""

    def told(found: re.Match[str]) -> str:
        if found["name"]:
            return f"struct{found['name']} std::string for_tests;"
        return f"{found[0]} for_tests = shown_for_tests::text({found['member']});"

    return _UNION.sub(told, code) if "union Union_" in code else code


def show(values: ValueDriver) -> str:
    """Show the values of expressions, if they are numbers, texts and containers of these."""
    values = values._replace(code=_telling_member(values.code))
    form = 'shown_for_tests::line("\\n{mark} {number} ", {expression})'
    return program_of(values, form, path="solution.cpp", show=_SHOW, driver=_EXERCISE_DRIVER)


_CALL = driver_source("call.cpp")


_NODES = {
    "ListNode": "struct ListNode { int val; ListNode *next;"
    " ListNode(int val = 0, ListNode *next = nullptr) : val(val), next(next) {} };",
    "TreeNode": "struct TreeNode { int val; TreeNode *left; TreeNode *right;"
    " TreeNode(int val = 0, TreeNode *left = nullptr, TreeNode *right = nullptr)"
    " : val(val), left(left), right(right) {} };",
}


def call(driver: CallDriver) -> str:
    """Read arguments as the parameters of the function want them, and show what it returns.

    If several functions have the name, the one with as many parameters as there are arguments is
    called, since only it fits the templates of `_chosen`.
    """
    name, object = driver.function, ""
    if driver.holder is not None:
        name, object = f"object.{name}", f"static {driver.holder} object{{}}; "
    pointer = f"&{driver.holder}::{driver.function}" if object else f"&{name}"
    made = f"{name}(std::forward<decltype(each)>(each)...)"
    type = made.replace("object.", f"std::declval<{driver.holder}&>().", 1) if object else made
    main = (
        f"int main() {{ decltype(shown_for_tests::chosen({pointer}))::with<{driver.arguments}>("
        f'"\\n{driver.mark} 0 ", [](auto &&...each) -> decltype({type}) '
        f"{{ {object}return {made}; }}); }}"
    )
    start, line, end = _CALL.rpartition("#line")
    before = f"{start}{lacking_nodes(driver.code, _NODES)}\n{line}{end}"
    return "\n".join([before + driver.code, "#undef main", _chosen(driver.arguments), main, ""])


def _chosen(count: int) -> str:
    """Return templates for functions and methods that have `count` parameters."""
    names = [f"A{number}" for number in range(count)]
    classes = ", ".join(f"class {name}" for name in ("R", *names))
    listed = ", ".join(names)
    result = f"Signature<{', '.join(('R', *names))}>"
    templates = (
        f"template <{classes}> {result} chosen(R (*)({listed}));",
        f"template <class C, {classes}> {result} chosen(R (C::*)({listed}));",
        f"template <class C, {classes}> {result} chosen(R (C::*)({listed}) const);",
    )
    return "\n".join(["namespace shown_for_tests {", *templates, "}"])


_TESTS = TranslatedTests(
    start="assert(",
    # Without the colons, `std` would have such a function too if an answer uses its names.
    setup="auto candidate = ::{name};",
)

_NO_RESULT = re.compile(r"\bvoid\s+\w+\s*\([^()]*\)\s*\Z")


def return_nothing(begun: str, _name: str) -> str:
    """Complete a function so that it returns the empty value of its type, if it has one."""
    return f"{begun} {{ }}" if _NO_RESULT.search(begun) else f"{begun} {{ return {{}}; }}"


_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    prepare=with_own_random,
    expected="shown_for_tests::as<decltype({actual})>({expected})",
    stub=return_nothing,
)

_EXERCISE_DRIVER = driver_source("tests.cpp")
_TEXTS = (
    r"""(?s:(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*\""""
    r"""|(?<![\w'])'(?:\\[^\n][^'\n]*|[^'\\\n])')"""
)
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT_OR_COMMENT = re.compile(rf"{_TEXTS}|{_COMMENTS}", re.DOTALL)
_CATCH = re.compile(
    r"^#if\w*[^\n]*EXERCISM_TEST_SUITE[^\n]*\n(?:#(?:include|else)[^\n]*\n)+#endif[^\n]*$"
    r"|^#include[ \t]*[<\"](?:test/)?catch[^\n]*$",
    re.MULTILINE,
)
_TEST_CASE = re.compile(rf"^TEST_CASE\s*\((?:[^()\"]|{_TEXTS})*\)\s*\{{", re.MULTILINE)
_SECTION = re.compile(rf"\bSECTION\s*\((?:[^()\"]|{_TEXTS.replace('mark', 'other')})*\)\s*\{{")
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
    bare = without_comments(source, _COMMENTS, _TEXTS)
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
    parts, tests, end, mask = list[str](), list[str](), 0, masked(bare, _TEXTS)
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
    mask = masked(body, _TEXTS)
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
    mask = masked(source, _TEXTS)
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


_EXERCISES = Exercises(
    start=re.compile(r"(?<!\w)(?P<kind>(?:STATIC_)?(?:REQUIRE|CHECK)\w*|FAIL\w*|SUCCEED)\s*\("),
    matcher=exercise_matcher,
    comments=_COMMENTS,
    texts=_TEXTS,
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

_FLAGS = ("g++", "-O2", "-std=gnu++17", "-w", "-pipe", "-fdiagnostics-color=never")


def _precompiled(standard: str) -> Prebuilt:
    """Return how the header of the whole library is precompiled.

    GCC takes it only for the flags that it was made with, and only if it is included first.
    """
    flags = (part.replace("gnu++17", standard) for part in _FLAGS)
    return Prebuilt(
        path=f"bits/stdc++.h.gch/{standard}",
        # What GCC reads if it cannot use the precompiled one, such as for a second inclusion.
        source_path="bits/stdc++.h",
        source="#include_next <bits/stdc++.h>\n",
        command=(*flags, "-x", "c++-header", "{source}", "-o", "{file}"),
    )


_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast return short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true try typedef typeid typename union unsigned using virtual
    void volatile wchar_t while xor xor_eq main
    """.split()
)
_RESERVED_IN_20 = _RESERVED | {
    *("char8_t", "co_await", "co_return", "co_yield", "concept", "consteval", "constinit"),
    "requires",
}

_NEWER = frozenset({"c++2a", "c++2b", "c++23", "cpp23"})
"""Standards that fences name and labels do not."""
_NAMES_OF_20 = frozenset({"cpp20", "c++20", "gnu c++20", "clang++20 diagnostics"})

_CPP17 = Language(
    name="cpp",
    title="C++17",
    image="cpp",
    aliases=frozenset(
        {
            *("c++", "cc", "cxx", "g++", "gpp", "hpp", "c++11", "c++14", "c++17"),
            *("cpp11", "cpp14", "cpp17", "gnu c++", "gnu c++11", "gnu c++14"),
            *("gnu c++17", "ms c++", "ms c++ 2017", "clang++17 diagnostics"),
        }
    ),
    shared_fences=_NAMES_OF_20 | _NEWER,
    packages={"g++": "g++"},
    folders=("/usr/include",),
    source="solution.cpp",
    other_endings=(".cc", ".cxx", ".c++"),
    headers=(".h", ".hpp", ".hh", ".hxx", ".ipp", ".tpp", ".inl"),
    compile=(*_FLAGS, f"-I{PREBUILT}", "-I.", "-o", "program", "{sources}"),
    prebuilt=_precompiled("gnu++17"),
    libraries={"testlib.h": Path(__file__).with_name("testlib.h").read_bytes()},
    run=("./program",),
    program=MAIN,
    beside_tests=lambda code: without_main(code, _TEXTS),
    show=show,
    call=call,
    reserved=_RESERVED,
    tests=_TESTS,
    assertions=_ASSERTIONS,
    exercises=_EXERCISES,
    compile_words=GCC_WORDS,
    runtime_words=ErrorWords(
        message=re.compile(r"terminate called .*\n\s*what\(\):\s+(?P<message>.+)")
    ),
    out_of_memory=("std::bad_alloc",),
)

LANGUAGES = (
    _CPP17,
    replace(
        _CPP17,
        name="cpp20",
        title="C++20",
        aliases=_NAMES_OF_20 - {"cpp20"},
        shared_fences=_CPP17.names | _NEWER,
        compile=tuple(part.replace("gnu++17", "gnu++20") for part in _CPP17.compile),
        prebuilt=_precompiled("gnu++20"),
        reserved=_RESERVED_IN_20,
    ),
)
