"""Rust, by rustc alone: without Cargo, and so with the standard library only."""

import re

from grader.languages.language import (
    Assertions,
    CallDriver,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    call_first,
    driver_source,
    lacking_nodes,
)

_SHOW = """#[allow(unused)]
fn like_for_tests<A: PartialEq<B>, B>(_actual: impl FnOnce() -> A, expected: B) -> B { expected }
fn shown_for_tests(value: &dyn std::fmt::Debug) -> String {
    let mut open = vec![(' ', vec![String::new()])];
    let text = format!("{:?}", value);
    let (mut quote, mut escaped) = (None, false);
    for c in text.chars() {
        let depth = open.len();
        let parts = &mut open[depth - 1].1;
        if quote.is_none() && c == ',' {
            parts.push(String::new());
        } else if quote.is_none() && "{[(".contains(c) {
            open.push((c, vec![String::new()]));
        } else if quote.is_none() && "}])".contains(c) && depth > 1 {
            let (opening, mut parts) = open.pop().unwrap();
            if opening == '{' {
                parts.sort_by_key(|part| part.trim().to_string());
            }
            let parts: Vec<&str> = parts.iter().map(|part| part.trim()).collect();
            let whole = format!("{}{}{}", opening, parts.join(", "), c);
            open[depth - 2].1.last_mut().unwrap().push_str(&whole);
        } else {
            if quote == Some(c) && !escaped {
                quote = None;
            } else if quote.is_none() && (c == '"' || c == '\\'') {
                quote = Some(c);
            }
            escaped = c == '\\\\' && !escaped;
            parts.last_mut().unwrap().push(c);
        }
    }
    open.iter().map(|(_, parts)| parts.join(", ")).collect()
}
"""
_TEST = re.compile(r"#\[test\]\s*(?:pub\s+)?fn\s+(\w+)")


def open_tests(source: str) -> str:
    """Make a program of the module of tests that `rustc --test` would run."""
    names = _TEST.findall(source)
    opened = _TEST.sub(r"pub fn \1", source.replace("#[cfg(test)]", ""))
    module = re.search(r"\bmod\s+(\w+)", source)
    path = f"{module[1]}::" if module else ""
    return opened + "\nfn main() { " + " ".join(f"{path}{name}();" for name in names) + " }\n"


_MAIN = re.compile(r"\b(?:pub\s+)?fn\s+main\s*\(")
_PANICKED = r"^thread '[^'\n]*'(?: \(\d+\))? panicked at "


def show(values: ValueDriver) -> str:
    """Show the values of expressions as Rust writes values for debugging, sets and maps sorted."""
    # What the answer brings along to try it out is not compiled.
    code = _MAIN.sub(r"#[cfg(any())] \g<0>", values.code)
    statements = values.statements(
        'println!("\\n{mark} {number} {}", crate::shown_for_tests(&({expression})))', end=";"
    )
    if not values.around:
        statements = f"fn main() {{\n{statements}\n}}"
    return "\n".join([code, _SHOW, statements])


_CALL = driver_source("call.rs")


_NODES = {
    "ListNode": "#[derive(PartialEq, Eq, Clone, Debug)]\n"
    "pub struct ListNode { pub val: i32, pub next: Option<Box<ListNode>> }\n"
    "impl ListNode { pub fn new(val: i32) -> Self { ListNode { next: None, val } } }",
    "TreeNode": "#[derive(PartialEq, Eq, Clone, Debug)]\npub struct TreeNode { pub val: i32,"
    " pub left: Option<std::rc::Rc<std::cell::RefCell<TreeNode>>>,"
    " pub right: Option<std::rc::Rc<std::cell::RefCell<TreeNode>>> }\n"
    "impl TreeNode { pub fn new(val: i32) -> Self {"
    " TreeNode { val, left: None, right: None } } }",
}
_NODE_CALLS = {
    "ListNode": driver_source("list_node.rs"),
    "TreeNode": driver_source("tree_node.rs"),
}


def call(driver: CallDriver) -> str:
    """Read arguments as the parameters of the function want them, and show what it returns."""
    code = _MAIN.sub(r"#[cfg(any())] \g<0>", driver.code)
    called, holder = driver.function, ""
    if driver.holder is not None:
        called = f"{driver.holder}::{called}"
        if not re.search(rf"\b(?:struct|enum)\s+{driver.holder}\b", code):
            holder = f"struct {driver.holder};"  # LeetCode defines it
    main = f'fn main() {{ calls_for_tests::call("{driver.mark}", {called}); }}'
    nodes = [source for name, source in _NODE_CALLS.items() if name in code]
    return "\n".join([code, holder, lacking_nodes(code, _NODES), _CALL, *nodes, main, ""])


_LIKE = "crate::like_for_tests(|| {actual}, {expected})"
"""Without the call, a number would be an `i32`, and `None` would have no type."""


def _unfinished(begun: str) -> str:
    return f"{begun} {{ unimplemented!() }}"


def _unfinished_of_prompt(prompt: str) -> str:
    # The answer is expected to import the collections that the prompt mentions.
    return "use std::collections::*;\n" + _unfinished(prompt.rstrip().removesuffix("{"))


_TESTS = TranslatedTests(
    start="assert_eq!(",
    split=call_first(");"),
    setup="let candidate = {name};",
    expected=_LIKE,
    stub=_unfinished_of_prompt,
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<actual_first>\bassert_eq!\s*\()|(?P<condition>\bassert!\s*\()"),
    expected=_LIKE,
    named="{ {definition} {name} }",
    prepare=open_tests,
    stub=lambda begun, _name: _unfinished(begun),
)

_RESERVED = frozenset(
    """
    abstract as async await become box break const continue crate do dyn else enum extern false
    final fn for if impl in let loop macro match mod move mut override priv pub ref return self
    static struct super trait true try type typeof unsafe unsized use virtual where while yield
    main
    """.split()
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
        call=call,
        reserved=_RESERVED,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        compile_words=ErrorWords(
            message=re.compile(r"^error(?:\[E\d+\])?: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"--> solution\.rs:(?P<line>\d+):"),
        ),
        # The message stood before its place until Rust 1.73, and stands in the next line since.
        runtime_words=ErrorWords(
            message=re.compile(
                _PANICKED + r"(?:'(?P<message>.{0,500})', |solution\.rs:\d+:\d+:\n(?P<later>.+))",
                re.MULTILINE,
            ),
            line=re.compile(_PANICKED + r".{0,500}solution\.rs:(?P<line>\d+):", re.MULTILINE),
        ),
        out_of_memory=("memory allocation of ",),
    ),
)
