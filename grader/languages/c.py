"""C, by GCC."""

import re

from grader.languages.language import Assertions, ErrorWords, Language, ValueDriver

GCC_WORDS = ErrorWords(
    message=re.compile(
        r"(?:\b[Ee]rror: |undefined reference to |/ld: (?=final link failed))(?P<message>.+)"
    ),
    line=re.compile(r"^solution\.\w+:(?P<line>\d+):(?:\d+:)? (?:fatal )?error: ", re.MULTILINE),
)
MAIN = re.compile(r"\bmain\s*\(")

_SHOW = """
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
static void shown_number(const char *start, double value) {
    printf("%s%.17g\\n", start, value);
}
static void shown_text(const char *start, const char *value) {
    printf("%s\\"", start);
    for (; value && *value; value++) {
        if (*value == '\\n') printf("\\\\n");
        else if (*value == '"' || *value == '\\\\') printf("\\\\%c", *value);
        else putchar(*value);
    }
    printf("\\"\\n");
}
static void shown_whole(const char *start, long long value) { printf("%s%lld\\n", start, value); }
#define shown_for_tests(start, value) _Generic((value), \\
    char *: shown_text, const char *: shown_text, float: shown_number, double: shown_number, \\
    default: shown_whole)(start, value)
#define main main_of_the_answer
#line 1 "solution.c"
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions, if they are numbers or texts; 1.0 as 1."""
    tests = values.statements('shown_for_tests("\\n{mark} {number} ", {expression})', end=";")
    if not values.around:
        tests = f"int main(void) {{\n{tests}\n}}"
    return "\n".join([_SHOW + values.code, "#undef main", values.head, tests])


_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    stub=lambda begun, _name: f"{begun} {{ return 0; }}",
)

LANGUAGES = (
    Language(
        name="c",
        title="C",
        image="c",
        aliases=frozenset({"gcc", "c11", "c17", "c99", "gnu c", "gnu c11"}),
        packages={"gcc": "gcc libc6-dev"},
        folders=("/usr/include",),
        source="solution.c",
        headers=(".h",),
        compile=(
            *("gcc", "-O2", "-std=gnu17", "-w", "-pipe", "-fdiagnostics-color=never"),
            *("-o", "program", "{sources}", "-lm"),
        ),
        run=("./program",),
        program=MAIN,
        show=show,
        assertions=_ASSERTIONS,
        compile_words=GCC_WORDS,
        runtime_words=ErrorWords(message=re.compile(r"(?P<message>Assertion `.{1,500}' failed)")),
    ),
)
