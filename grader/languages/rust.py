"""Rust, by rustc alone: without Cargo, and so with the standard library only."""

import re

from grader.languages.language import (
    Assertions,
    CallDriver,
    ErrorWords,
    Exercises,
    Language,
    Matcher,
    Named,
    TranslatedTests,
    ValueDriver,
    driver_source,
    lacking_nodes,
)
from grader.languages.reading_tests import masked, refuse
from grader.model.errors import SuiteError

_SHOW = driver_source("show.rs")
_TEST = re.compile(r"#\[test\]\s*(?:pub\s+)?fn\s+(\w+)")


def open_tests(source: str) -> str:
    """Make a program of the module of tests that `rustc --test` would run."""
    names = _TEST.findall(source)
    opened = _TEST.sub(r"pub fn \1", source.replace("#[cfg(test)]", ""))
    module = re.search(r"\bmod\s+(\w+)", source)
    path = f"{module[1]}::" if module else ""
    return opened + "\nfn main() { " + " ".join(f"{path}{name}();" for name in names) + " }\n"


_TEXTS = (
    r"""(?s:b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*\""""
    r"""|b?'(?:\\[^\n][^'\n]*|[^'\\\n])')"""
)
_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_TEXT_OR_COMMENT = re.compile(rf"(?P<text>{_TEXTS})|{_COMMENTS}", re.DOTALL)
_MAIN = re.compile(r"\b(?:pub\s+)?fn\s+main\s*\(")
_ABSENT = re.compile(r"^([ \t]*)(?:pub )?use (?:rand|regex|md5)\b[^;\n]*;", re.MULTILINE)
"""HumanEval-X and McEval import these crates in all rows, and so do answers that repeat the prompt.
rustc alone does not have them, and very few solutions need them."""
_PANICKED = r"^thread '[^'\n]*'(?: \(\d+\))? panicked at "


def show(values: ValueDriver) -> str:
    """Show the values of expressions as Rust writes values for debugging, sets and maps sorted."""
    # What the answer brings along to try it out is not compiled.
    code = _ABSENT.sub(r"\1", _MAIN.sub(r"#[cfg(any())] \g<0>", values.code))
    statements = values.statements(
        'println!("\\n{mark} {number} {}", crate::shown_for_tests(&({expression})))', end=";"
    )
    if not values.around:
        statements = f"fn main() {{\n{statements}\n}}"
    uses = "\n".join(f"pub {use}" for use in _ABSENT.sub("", values.head).splitlines() if use)
    # Names that the problem makes known give way to those of the answer.
    head = f"mod head_for_tests {{\n{uses}\n}}\nuse head_for_tests::*;"
    # The submission of an exercise is a file beside the tests.
    return "\n".join([code or _EXERCISE_DRIVER, head if uses else "", _SHOW, statements])


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


_OWN = (
    "impl calls_for_tests::Read for {holder} {{"
    " fn read(_: &calls_for_tests::Given) -> Self {{ {holder}{made} }} }}\n"
)
"""Makes the object whose method is called, as if it were an argument."""


def call(driver: CallDriver) -> str:
    """Read arguments as the parameters of the function want them, and show what it returns."""
    code = _MAIN.sub(r"#[cfg(any())] \g<0>", driver.code)
    called, holder = driver.function, ""
    if driver.holder is not None:
        called = f"{driver.holder}::{called}"
        if not re.search(rf"\b(?:struct|enum)\s+{driver.holder}\b", code):
            holder = f"struct {driver.holder};"  # LeetCode defines it
    own = ""
    if driver.holder is not None and re.search(
        rf"\bfn\s+{driver.function}\s*(?:<[^()]*>)?\s*\([^,()]*\bself\b", code
    ):
        made = "::new()" if re.search(r"\bfn\s+new\s*\(\s*\)", code) else " {}"
        own = _OWN.format(holder=driver.holder, made=made)
    call = "call_method" if own else "call"
    main = f'{own}fn main() {{ calls_for_tests::{call}("{driver.mark}", {called}); }}'
    nodes = [source for name, source in _NODE_CALLS.items() if name in code]
    return "\n".join([code, holder, lacking_nodes(code, _NODES), _CALL, *nodes, main, ""])


_MODULE = "submission_for_tests"
"""The submission of an exercise. The crate is its tests."""
_CRATE = re.compile(rf"(?P<text>{_TEXTS})|(?<![\w:])crate\s*::\s*", re.DOTALL)


def as_module(code: str) -> str:
    """Let paths from the root of a crate begin at the root of a module."""
    return _CRATE.sub(lambda found: found["text"] or f"crate::{_MODULE}::", code)


_USE = re.compile(r"^(?:pub\s+)?use\s+(?P<path>[^;]+);", re.MULTILINE)
_PUBLIC = re.compile(
    r"^pub\s+(?:\w+\s+)*(?:fn|struct|enum|trait|type|const|static|mod)\s+(\w+)", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_PATH = re.compile(r"(?<![\w:.$])(?:::)?(\w+)\s*::(?!\s*<)")
_OF_STD = frozenset(
    """
    std core alloc self super crate bool char str
    u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
    """.split()
)
_EXERCISE_TEST = re.compile(
    r"^(?P<attributes>(?:#\[[^\n]*\]\s*)*#\[test\]\s*(?:#\[[^\n]*\]\s*)*)"
    r"(?:pub\s+)?fn\s+\w+\s*\(\s*\)\s*\{\n(?P<body>.*?)^\}",
    re.MULTILINE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"#!?\[\s*(?!test\b|ignore\b|allow\b|should_panic\b|rustfmt::)")
_PANICS = re.compile(rf"should_panic\s*(?:\(\s*expected\s*=\s*(?P<text>{_TEXTS})\s*\))?\s*\]")
_ASKED = re.compile(
    r"\bassert!\s*\((?P<value>[^;]*?)\.(?P<asked>is_err|is_none)\(\)(?=\s*(?:,|\)\s*;))"
)
_OPPOSITES = {"is_err": "is_ok", "is_none": "is_some"}
_EXERCISE_DRIVER = driver_source("tests.rs")


def _asked_alike(found: re.Match[str]) -> str:
    """Return `!value.is_ok()` for `value.is_err()`, so that what is asked does not tell the answer.

    Anything but a value that it is asked of stays.
    """
    value = re.sub(_TEXTS, "", found["value"])
    is_value = value.count("(") == value.count(")") and not re.search(r"==|!=|&&|\|\|", value)
    return f"assert!(!{found['value']}.{_OPPOSITES[found['asked']]}()" if is_value else found[0]


def exercise_program(source: str, path: str, example: str) -> tuple[str, tuple[str, ...]]:
    """Make a program of a file of tests that Cargo would run; see `Exercises.program`.

    Names of tests go, since they may tell what is expected.

    Raises:
        SuiteError: A test is written in another way, or uses crates besides the submission.
    """
    mask = masked(source, _TEXT_OR_COMMENT)
    others = _ATTRIBUTE.search(mask)
    if others is not None or mask.count("#[test]") != len(_EXERCISE_TEST.findall(source)):
        shown = source[others.start() :] if others is not None else "a test is in a module"
        refuse("the tests have another form", shown)
    used = [found["path"] for found in _USE.finditer(mask)]
    local = {word for path in used for word in _WORD.findall(path)[1:]}
    heads = dict.fromkeys([path.split("::")[0].split()[0] for path in used] + _PATH.findall(mask))
    crates = [name for name in heads if name not in _OF_STD | local and name[0].islower()]
    if len(crates) != 1:
        message = f"the tests must use one crate, but use {', '.join(crates) or 'none'}"
        raise SuiteError(message)
    taken = [path for path in used if path.startswith(crates[0])]
    roots = {_WORD.findall(path)[-1] for path in taken if "::" not in path} | {*crates}
    own = re.compile(rf"\b(?:{'|'.join(sorted(roots))})\s*::\s*(\w+)")
    names = [*crates, *own.findall(mask), *(word for path in taken for word in _WORD.findall(path))]
    if any("*" in path for path in taken):
        names += _PUBLIC.findall(example)
    tests = list[str]()

    def called(found: re.Match[str]) -> str:
        name = f"test_{len(tests)}_for_tests"
        tests.append(name)
        body, panics = found["body"], _PANICS.search(found["attributes"])
        if panics is not None:
            text = f", {panics['text']}" if panics["text"] else ""
            body = f"panics_for_tests!(|| {{\n{body}}}{text});\n"
        return f"fn {name}() {{\n{body}}}"

    program = _ASKED.sub(_asked_alike, _EXERCISE_TEST.sub(called, source))
    main = f"fn main() {{ run_for_tests(&[{', '.join(tests)}]) }}"
    head = f'#[path = "{path}"] mod {_MODULE}; use {_MODULE} as {crates[0]};'
    return f"{head}\n{program}\n{main}", tuple(dict.fromkeys(names))


_MATCHERS = {
    "assert": Matcher(
        expected="{ let _ = {actual}; true }", is_condition=True, negation="assert_not"
    ),
    "assert_not": Matcher(expected="{ let _ = {actual}; false }", negation="assert"),
    **dict.fromkeys(
        ("assert_eq", "=="),
        Matcher(either_first=True, expected="as_for_tests!({actual}, {expected})"),
    ),
    "assert_ne": Matcher(
        either_first=True, expected="as_for_tests!({actual}, {expected})", relation="!="
    ),
}


def exercise_matcher(kind: str, argument: str) -> Matcher | None:
    """Return what an assertion compares; see `Exercises.matcher`."""
    if kind != "panics_for_tests":
        return _MATCHERS.get(kind)
    shown = "panic_message_for_tests" if argument else "panicked_for_tests"
    return Matcher(
        actual=f"crate::{shown}({{actual}})",
        expected="{expected}" if argument else "true",
        contains=bool(argument),
        is_of_a_function=True,
    )


def named_value(named: Named) -> str:
    """Make a block of a definition; see `Exercises.named`."""
    if not named.type and not named.more:
        return f"({named.value})"
    type = named.type and f": {named.type}"
    return f"{{ let mut {named.name}{type} = {named.value}; {named.more}; {named.name} }}"


_EXERCISES = Exercises(
    start=re.compile(r"(?<![\w$])(?P<kind>(?:debug_)?assert\w*|panics_for_tests)!\s*\("),
    matcher=exercise_matcher,
    comments=_COMMENTS,
    texts=_TEXTS,
    prefix=re.compile(r"^(?:&(?:\s*mut\b)?\s*|\*|!)+"),
    judging=frozenset(
        """
        all any cmp contains ends_with eq eq_ignore_ascii_case filter find fold ge gt is_some_and
        is_ok_and le lt map ne partial_cmp starts_with
        """.split()
    ),
    program=exercise_program,
    test=re.compile(r"^fn test_\d+_for_tests\(\) \{", re.MULTILINE),
    # A variant of an enumeration, or a structure; by convention, functions begin small.
    data=re.compile(r"(?<![\w:])(?:\w+::)*[A-Z]\w*[a-z]\w*(?![\w!]|\s*::)"),
    words=frozenset(
        """
        as mut vec std collections HashMap HashSet BTreeMap BTreeSet VecDeque
        u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
        """.split()
    ),
    lines_end=False,
    named=named_value,
)


_LIKE = "crate::like_for_tests(|| {actual}, {expected})"
"""Without the call, a number would be an `i32`, and `None` would have no type."""


def _unfinished(begun: str) -> str:
    return f"{begun} {{ unimplemented!() }}"


def _unfinished_of_prompt(prompt: str) -> str:
    # The answer is expected to import the collections that the prompt mentions.
    return "use std::collections::*;\n" + _unfinished(prompt.rstrip().removesuffix("{"))


_TESTS = TranslatedTests(
    start="assert_eq!(",
    texts_span_lines=True,
    setup="let candidate = {name};",
    expected=_LIKE,
    stub=_unfinished_of_prompt,
)


def return_default(begun: str, _name: str) -> str:
    """Complete a function so that it returns the default of its type, or panics if it has none."""
    arrow, type = begun.rpartition("->")[1:]
    if not arrow or re.search(r"\bimpl\b|\bSelf\b|\bwhere\b|'\w|\)\s*\)", type):
        return _unfinished(begun)
    made = f"crate::MadeForTests::<{type.strip()}>(std::marker::PhantomData).made()"
    return f"{begun} {{ use crate::NotMadeForTests; {made} }}"


_ASSERTIONS = Assertions(
    start=re.compile(
        r"(?P<actual_first>\bassert_eq!\s*\()|(?P<condition>\bassert!\s*\()"
        r"|(?P<unequal>\bassert_ne!\s*\()"
    ),
    expected=_LIKE,
    named="{name}.clone()",
    prepare=open_tests,
    stub=return_default,
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
        beside_tests=as_module,
        show=show,
        call=call,
        reserved=_RESERVED,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=_EXERCISES,
        compile_words=ErrorWords(
            message=re.compile(r"^error(?:\[E\d+\])?: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"--> (?:solution|\S+/lib)\.rs:(?P<line>\d+):"),
        ),
        # The message stood before its place until Rust 1.73, and stands in the next line since.
        runtime_words=ErrorWords(
            message=re.compile(
                _PANICKED + r"(?:'(?P<message>.{0,500})', |\S+\.rs:\d+:\d+:\n(?P<later>.+))",
                re.MULTILINE,
            ),
            line=re.compile(
                _PANICKED + r".{0,500}(?:solution|/lib)\.rs:(?P<line>\d+):", re.MULTILINE
            ),
        ),
        out_of_memory=("memory allocation of ",),
    ),
)
