"""Rust, by rustc alone: without Cargo, and so with the standard library only."""

import re

from grader.languages.language import ErrorWords, Language, TranslatedTests, ValueDriver, call_first

_MAIN = re.compile(r"\b(?:pub\s+)?fn\s+main\s*\(")


def show(values: ValueDriver) -> str:
    """Show what expressions are worth as Rust itself writes values for debugging."""
    # What the answer brings along to try it out is not compiled.
    lines = [_MAIN.sub(r"#[cfg(any())] \g<0>", values.code), "fn main() {", values.setup]
    lines += [
        f'println!("\\n{values.mark} {number} {{:?}}", {expression});'
        for number, expression in enumerate(values.expressions)
    ]
    return "\n".join([*lines, "}"])


_TESTS = TranslatedTests(
    start="assert_eq!(",
    split=call_first(");"),
    setup="let candidate = {name};",
)

LANGUAGES = (
    Language(
        name="rust",
        title="Rust",
        image="rust",
        aliases=frozenset({"rs", "rust 2021"}),
        packages={"rustc": "rustc", "cc": "gcc libc6-dev"},
        source="solution.rs",
        compile=(
            *("rustc", "--edition=2021", "-O", "-Ccodegen-units=1", "-Cstrip=symbols"),
            *("--cap-lints=allow", "--color=never", "-o", "program", "{source}"),
        ),
        run=("./program",),
        program=re.compile(r"\bfn\s+main\s*\("),
        show=show,
        tests=_TESTS,
        compile_words=ErrorWords(
            message=re.compile(r"^error(?:\[E\d+\])?: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"--> solution\.rs:(?P<line>\d+):"),
        ),
        # The message stood before its place until Rust 1.73, and stands in the next line since.
        runtime_words=ErrorWords(
            message=re.compile(
                r"panicked at (?:'(?P<message>.{0,500})', |solution\.rs:\d+:\d+:\n(?P<later>.+))"
            ),
            line=re.compile(r"panicked at .{0,500}solution\.rs:(?P<line>\d+):"),
        ),
        out_of_memory=("memory allocation of ",),
    ),
)
