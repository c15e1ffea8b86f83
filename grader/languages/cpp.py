"""C++ in two dialects, by GCC."""

import re
from dataclasses import replace
from pathlib import Path

from grader.languages.c import GCC_WORDS, MAIN
from grader.languages.language import (
    PREBUILT,
    Assertions,
    CallDriver,
    ErrorWords,
    Language,
    Prebuilt,
    TranslatedTests,
    ValueDriver,
    call_first,
    driver_source,
    lacking_nodes,
)

_SHOW = """
#include <bits/stdc++.h>
namespace shown_for_tests {
using std::ostream;
template <class T> void show(ostream &out, const std::vector<T> &all);
template <class T> void show(ostream &out, const std::optional<T> &value);
template <class A, class B> void show(ostream &out, const std::pair<A, B> &both);
template <class... T> void show(ostream &out, const std::tuple<T...> &all);
template <class A, class B> void show(ostream &out, const std::map<A, B> &all);
template <class A, class B> void show(ostream &out, const std::unordered_map<A, B> &all);
template <class T> void show(ostream &out, const std::set<T> &all);
inline void show(ostream &out, bool value) { out << (value ? "true" : "false"); }
inline void show(ostream &out, char value) { out << int(value); }
inline void show(ostream &out, const std::nullopt_t &) { out << "nullopt"; }
inline void show(ostream &out, const std::string &text) {
    out << '"';
    for (char c : text) {
        if (c == '\\n') out << "\\\\n";
        else if (c == '"' || c == '\\\\') out << '\\\\' << c;
        else out << c;
    }
    out << '"';
}
inline void show(ostream &out, const char *text) { show(out, std::string(text)); }
template <class T> std::enable_if_t<std::is_integral_v<T>> show(ostream &out, T value) {
    out << value;
}
template <class T> std::enable_if_t<std::is_floating_point_v<T>> show(ostream &out, T value) {
    out << std::setprecision(17) << double(value);
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
template <class T> std::decay_t<T> as(std::decay_t<T> value) { return value; }
template <class T> void line(const char *start, const T &value) {
    std::cout << start;
    show(std::cout, value);
    std::cout << std::endl;
}
}
#define main main_of_the_answer
#line 1 "solution.cpp"
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions, if they are numbers, texts and containers of these.

    What the answer brings along to try it out is not what is run.
    """
    statements = values.statements(
        'shown_for_tests::line("\\n{mark} {number} ", {expression})', end=";"
    )
    if not values.around:
        statements = f"int main() {{\n{statements}\n}}"
    # Tests are written for the names that the problem's own code makes known.
    return "\n".join([_SHOW + values.code, "#undef main", values.head, statements])


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

    Of several functions of the name, the one is called that has as many parameters as there are
    arguments: only that one fits the templates of `_chosen`.
    """
    called = driver.function if driver.holder is None else f"{driver.holder}::{driver.function}"
    main = f'int main() {{ shown_for_tests::chosen("\\n{driver.mark} 0 ", &{called}); }}'
    start, line, end = _CALL.rpartition("#line")
    before = f"{start}{lacking_nodes(driver.code, _NODES)}\n{line}{end}"
    return "\n".join([before + driver.code, "#undef main", _chosen(driver.arguments), main, ""])


def _chosen(count: int) -> str:
    """Return templates for functions and methods that have `count` parameters."""
    names = [f"A{number}" for number in range(count)]
    classes = ", ".join(f"class {name}" for name in ("R", *names))
    listed = ", ".join(names)
    forms = (
        (classes, f"R (*called)({listed})"),
        (f"class C, {classes}", f"R (C::*called)({listed})"),
        (f"class C, {classes}", f"R (C::*called)({listed}) const"),
    )
    templates = (
        f"template <{types}> void chosen(const char *mark, {called}) {{ method(mark, called); }}"
        for types, called in forms
    )
    return "\n".join(["namespace shown_for_tests {", *templates, "}"])


_TESTS = TranslatedTests(
    start="assert(",
    split=call_first(");"),
    setup="auto candidate = {name};",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    expected="shown_for_tests::as<decltype({actual})>({expected})",
    stub=lambda begun, _name: f"{begun} {{ return {{}}; }}",
)

_FLAGS = ("g++", "-O2", "-std=gnu++17", "-w", "-pipe", "-fdiagnostics-color=never")


def _precompiled(standard: str) -> Prebuilt:
    """Return how the header of the whole library is precompiled.

    GCC takes it only for the flags that it was made with, and only if it is included first.
    """
    flags = (part.replace("gnu++17", standard) for part in _FLAGS)
    return Prebuilt(
        path=f"bits/stdc++.h.gch/{standard}",
        # What GCC reads if it cannot take the other, such as for a second inclusion.
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

_CPP17 = Language(
    name="cpp",
    title="C++17",
    image="cpp",
    aliases=frozenset(
        {
            *("c++", "cc", "cxx", "g++", "gpp", "hpp", "c++11", "c++14", "c++17"),
            *("cpp11", "cpp14", "cpp17", "gnu c++", "gnu c++17", "c++17 (gcc 7-32)"),
        }
    ),
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
    show=show,
    call=call,
    reserved=_RESERVED,
    tests=_TESTS,
    assertions=_ASSERTIONS,
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
        aliases=frozenset({"c++20", "gnu c++20", "c++20 (gcc 11-64)", "c++20 (gcc 13-64)"}),
        compile=tuple(part.replace("gnu++17", "gnu++20") for part in _CPP17.compile),
        prebuilt=_precompiled("gnu++20"),
        reserved=_RESERVED_IN_20,
    ),
)
