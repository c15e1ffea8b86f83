"""Perl."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    driver_source,
)
from grader.languages.perl_tests import read_tests

_WORDS = ErrorWords(
    # The files of the submission, and none of Perl's own.
    message=re.compile(r"^(?P<message>.+) at (?!/)[\w./-]+\.p[lm] line \d+", re.MULTILINE),
    line=re.compile(r" at (?!/)[\w./-]+\.p[lm] line (?P<line>\d+)"),
)

_SHOW = driver_source("show.pl")


def show(values: ValueDriver) -> str:
    """Show the values of expressions: 1 as "1", hashes by their keys in order."""
    statements = values.statements(
        'print "\\n{mark} {number} ", shown_for_tests(scalar({expression})), "\\n"', end=";"
    )
    return "\n".join([values.code, _SHOW, statements])


_TESTS = TranslatedTests(
    start="if(eq_deeply(",
    call="$candidate->(",
    close=")) {",
    texts_span_lines=True,
    name=re.compile(r"candidate = \\&(\w+)"),
    setup="my $candidate = \\&{name};",
)

_CHECKED = re.compile(r"^\w+\s*\(\s*\\&(\w+)\s*\)", re.MULTILINE)
_PARAMETER = re.compile(r"\bmy\s*(?:\$(\w+)\s*=\s*shift\b|\(\s*\$(\w+)\s*\)\s*=\s*@_)")
_TEST_MORE = re.compile(r"\buse Test::More[^;]*;|\bdone_testing[^;]*;")


def prepare_tests(source: str) -> str:
    """Call the function by its name, and leave Test::More out, whose assertions are replaced."""
    source = _TEST_MORE.sub("", source)
    checked, parameter = _CHECKED.search(source), _PARAMETER.search(source)
    if checked is None or parameter is None:
        return source
    name = parameter[1] or parameter[2]
    return re.sub(rf"&\${name}\s*\(|\${name}->\(", f"{checked[1]}(", source)


_ASSERTIONS = Assertions(
    start=re.compile(
        r"(?P<condition>\bdie\b[^;\n]*?\bunless\b|\bok\s*\()|(?P<denial>\bdie\b[^;\n]*?\bif\b)"
        r"|(?P<actual_first>\bis(?:_deeply)?\b\s*\(?)|(?P<unequal>\bisnt\b\s*\(?)"
    ),
    comments=r"(?<!\$)#[^\n]*",
    truth="!!({})",
    true="1",
    false="''",
    prepare=prepare_tests,
    stub=lambda _begun, name: f"sub {name} {{}}",
)

LANGUAGES = (
    Language(
        name="perl",
        title="Perl",
        image="perl",
        aliases=frozenset({"pl", "perl5"}),
        packages={"perl": "perl"},
        folders=("/usr/share/perl", "/usr/share/perl5", "/etc/perl"),
        source="solution.pl",
        other_endings=(".pm",),
        # This runs what stands in BEGIN blocks, too; they find no input.
        compile=("perl", "-I.", "-c", "{source}"),
        only_checks=True,
        run=("perl", "-I.", "{source}"),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        exercises=read_tests,
        compile_words=_WORDS,
        is_run=(
            re.compile(
                r"(\bunless\s*\(?\s*|!\s*|\bnot\s+)(?:defined\s+)?caller\b(?:\s*\(\s*0?\s*\)|(?!\s*\())"
            ),
            r"\g<1>1",
        ),
        reads_input=re.compile(r"<(?:STDIN|<>)?>|\bSTDIN\b"),
        runtime_words=_WORDS,
        out_of_memory=("Out of memory!", "Out of memory in perl"),
    ),
)
