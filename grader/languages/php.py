"""PHP."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    call_first,
)


def prepare(code: str) -> SourceFile:
    """Open the code as PHP if the answer did not; else PHP would print it as text."""
    opened = code if "<?" in code else f"<?php {code}"
    return SourceFile(path="solution.php", code=opened)


_WORDS = ErrorWords(
    message=re.compile(
        r"^(?:PHP )?(?:Parse|Fatal) error: +(?P<message>.+?)(?: in |$)", re.MULTILINE
    ),
    line=re.compile(r"(?: on line |solution\.php:)(?P<line>\d+)"),
)


def show(values: ValueDriver) -> str:
    """Show the values of expressions as PHP itself writes values, on one line."""
    code = prepare(values.code).code
    closed = code.rfind("?>") > code.rfind("<?")
    statements = values.statements(
        'echo "\\n{mark} {number} " . '
        'str_replace("\\n", "\\\\n", var_export({expression}, true)) . "\\n"',
        end=";",
    )
    return "\n".join([code, "<?php" if closed else "", statements])


_TESTS = TranslatedTests(
    start="if (",
    split=call_first(') { throw new Exception("Test failed!"); }'),
    name=re.compile(r"^\s*return (\w+)", re.MULTILINE),
    setup="function candidate(...$args) {{ return {name}(...$args); }}",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bassert\s*\()"),
    comments=r"//[^\n]*|#[^\n]*|/\*.*?\*/",
    truth="(bool) ({})",
    stub=lambda _begun, name: f"function {name}() {{}}",
)

LANGUAGES = (
    Language(
        name="php",
        title="PHP",
        image="php",
        aliases=frozenset({"php7", "php8"}),
        packages={"php": "php-cli"},
        folders=("/etc/php", "/usr/share/php", "/var/lib/php/modules"),
        source="solution.php",
        prepare=prepare,
        compile=("php", "-d", "display_errors=stderr", "-l", "{source}"),
        run=(
            *("php", "-d", "memory_limit={memory_mib}M", "-d", "display_errors=stderr"),
            *("-d", "log_errors=0", "-d", "zend.assertions=1", "{source}"),
        ),
        time_factor=3.0,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        compile_words=_WORDS,
        runtime_words=_WORDS,
        out_of_memory=("Allowed memory size of",),
    ),
)
