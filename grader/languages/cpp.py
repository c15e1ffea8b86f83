"""C++ in two dialects, by GCC."""

import re
from dataclasses import replace
from pathlib import Path

from grader.languages.c import (
    GCC_WORDS,
    MAIN,
    RANDOM,
    program_of,
    with_own_random,
    without_main,
)
from grader.languages.catch2_tests import EXERCISES, TEXTS
from grader.languages.language import (
    PREBUILT,
    Assertions,
    CallDriver,
    ErrorWords,
    Language,
    Prebuilt,
    TranslatedTests,
    ValueDriver,
    driver_source,
    lacking_nodes,
)

_SHOW = driver_source("show.cpp") + RANDOM


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
    # Without the colons, `reverse` would also be the one of `std`, whose names are known here.
    name, object = f"::{driver.function}", ""
    if driver.holder is not None:
        name, object = f"object.{driver.function}", f"static {driver.holder} object{{}}; "
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
_NAMES_OF_20 = frozenset(
    {"cpp20", "c++20", "c++ 20", "gnu c++20", "gnu++20", "clang++20 diagnostics"}
)

_CPP17 = Language(
    name="cpp",
    title="C++17",
    image="cpp",
    aliases=frozenset(
        {
            *("c++", "cplusplus", "cc", "cxx", "g++", "gpp", "hpp", "gnu c++", "c++98", "c++03"),
            *(
                f"{of}{year}"
                for of in ("c++", "c++ ", "cpp", "gnu c++", "gnu++")
                for year in (11, 14, 17)
            ),
            *("ms c++", "ms c++ 2017", "clang++17 diagnostics"),
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
    beside_tests=lambda code: without_main(code, TEXTS),
    show=show,
    call=call,
    reserved=_RESERVED,
    tests=_TESTS,
    assertions=_ASSERTIONS,
    exercises=EXERCISES,
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
