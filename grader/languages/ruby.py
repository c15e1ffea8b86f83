"""Ruby."""

import re

from grader.languages.language import Assertions, ErrorWords, Language, TranslatedTests, ValueDriver


def show(values: ValueDriver) -> str:
    """Show the values of expressions as Ruby itself writes values."""
    form = 'puts "", "{mark} {number} #{({expression}).inspect}"'
    return "\n".join([values.code, values.statements(form)])


def split_assertion(rest: str) -> tuple[str, str] | None:
    """Split `VALUE, candidate.call(...))`; see `TranslatedTests.split`."""
    at = rest.rfind(", candidate.call(")
    return None if at == -1 or not rest.endswith(")") else (rest[at + 2 : -1], rest[:at])


_TESTS = TranslatedTests(
    start="assert_equal(",
    call="candidate.call(",
    split=split_assertion,
    texts_span_lines=True,
    name=re.compile(r"candidate = method\(:(\w+)"),
    setup="candidate = method(:{name})",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"""(?P<condition>\braise\s*(?:'_*'|"_*")\s*unless )"""),
    comments=r"#[^\n]*",
    has_braces=False,
    truth="!!({})",
    stub=lambda _begun, name: f"def {name}(*all) end",
)

LANGUAGES = (
    Language(
        name="ruby",
        title="Ruby",
        image="ruby",
        aliases=frozenset({"rb"}),
        packages={"ruby": "ruby"},
        folders=("/usr/share/ruby*", "/usr/share/rubygems-integration", "/var/lib/gems"),
        source="solution.rb",
        compile=("ruby", "-c", "{source}"),
        run=("ruby", "{source}"),
        environment={"RUBY_THREAD_VM_STACK_SIZE": "50331648"},
        time_factor=3.0,
        start_up_s=0.1,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        compile_words=ErrorWords(
            message=re.compile(r"solution\.rb:\d+: (?P<message>.+)"),
            line=re.compile(r"solution\.rb:(?P<line>\d+): "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"solution\.rb:\d+:in .{1,200}?: (?P<message>.+)"),
            line=re.compile(r"solution\.rb:(?P<line>\d+)"),
        ),
        out_of_memory=("(NoMemoryError)",),
    ),
)
