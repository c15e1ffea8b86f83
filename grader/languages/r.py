"""R, without packages other than those that come with it."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    SourceFile,
    TranslatedTests,
    ValueDriver,
    driver_source,
)
from grader.model import MiB

_SOURCE = "solution.R"
_PACKAGES = "datasets,utils,grDevices,graphics,stats"
_ASIDE = re.compile(
    # Texts and names may lack their end, so that each character is read once.
    r"""\b[rR]["']|(?s:(?P<text>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|`[^`]*`?)|#[^\n]*"""
)
_NOTICES_METHODS = re.compile(
    r"@|\b[rR][\"']|(?<![\w.])(?:"
    # What the package defines, and base R does not.
    r"[\w.]*(?:Class|DataPart|Extends|Generic|Group|LoadAction|MetaData|Method|Mlist|OnLoad|Package"
    r"|Prototype|S3Part|Slot|Source|Subclasses|Superclass|Validity|method|slot)[\w.]*"
    r"|Arith|Compare|Complex|Logic|Math2?|Ops|Quote|Summary|all[Nn]ames|as|canCoerce|cbind2"
    r"|checkAtAssignment|class(?:Label|MetaName|Name|esToAM)|coerce|defaultDumpName|el|elNamed"
    r"|empty\.dump|(?:exists|find|get)Function|extends|findUnique|fixPre1\.8|formalArgs"
    r"|functionBody|generic\.skeleton|hasArg|init(?:FieldArgs|RefFields|ialize)|is|isGrammarSymbol"
    r"|isRematched|languageEl|matchSignature|metaNameUndo|missingArg|new(?:Basic|EmptyObject)?"
    r"|prototype|rbind2|(?:unR|r)ematchDefinition|representation|set[AI]s|show(?:Default)?"
    r"|sig(?:nature|ToEnv)|substitute(?:Direct|FunctionArgs)|testVirtual|tryNew|validObject"
    # What loads code that is not here, or lists what is there.
    r"|eval|evalq|parse|source|sys\.source|str2lang|str2expression|get0?|mget|exists|match\.fun"
    r"|search|sessionInfo|ls|objects|apropos"
    r")(?![\w.])"
)

_SHOW = driver_source("show.R")


def prepare(code: str) -> SourceFile:
    """Load the package methods only for code that may notice it. It takes half of R's start."""
    notices = _NOTICES_METHODS.search(_ASIDE.sub(_without_prose, code))
    return SourceFile(_SOURCE, code, format=f"{_PACKAGES},methods" if notices else _PACKAGES)


def _without_prose(aside: re.Match[str]) -> str:
    """Return what may be a name: a text of one word, which may name a function, or a name."""
    is_name = not aside["text"] or re.fullmatch(r"[\w.<-]+", aside["text"][1:-1])
    return aside[0] if is_name and not aside[0].startswith("#") else " "


def show(values: ValueDriver) -> str:
    """Show the values of expressions: numbers to 12 digits, lists but not vectors with names."""
    form = 'cat("\\n{mark} {number} ", shown_for_tests({expression}), "\\n", sep = "")'
    return "\n".join([values.code, _SHOW, values.statements(form)])


_TESTS = TranslatedTests(
    start="stopifnot(isTRUE(all.equal(",
    close=")))",
    name=re.compile(r"candidate <- (\w+)"),
    setup="candidate <- {name}",
)

_ASSERTIONS = Assertions(
    start=re.compile(r"(?P<condition>\bstopifnot\s*\()"),
    comments=r"#[^\n]*",
    truth="isTRUE({})",
    true="TRUE",
    false="FALSE",
    stub=lambda _begun, name: f"{name} <- function(...) NULL",
)

LANGUAGES = (
    Language(
        name="r",
        title="R",
        image="r",
        aliases=frozenset({"rscript", "rlang"}),
        packages={"Rscript": "r-base-core"},
        folders=("/etc/R", "/usr/share/R"),
        source=_SOURCE,
        prepare=prepare,
        other_endings=(".r",),
        compile=("Rscript", "--vanilla", "-e", "invisible(parse('{source}'))"),
        only_checks=True,
        run=("Rscript", "--vanilla", "{source}"),
        environment={"R_DEFAULT_PACKAGES": "{format}"},
        time_factor=3.0,
        start_up_s=0.3,
        runtime_memory_bytes=64 * MiB,
        show=show,
        tests=_TESTS,
        assertions=_ASSERTIONS,
        compile_words=ErrorWords(
            message=re.compile(r"solution\.R:\d+:\d+: (?P<message>.+)"),
            line=re.compile(r"solution\.R:(?P<line>\d+):\d+: "),
        ),
        is_run=(re.compile(r"!\s*interactive\(\)|\bsys\.nframe\(\)\s*==\s*0L?"), "FALSE"),
        reads_input=re.compile(r"\bstdin\b|\breadLines\s*\(|\bscan\s*\("),
        runtime_words=ErrorWords(
            message=re.compile(r"^Error(?: in [^\n]{1,300}? : \s*|: )(?P<message>.+)", re.MULTILINE)
        ),
        out_of_memory=("cannot allocate vector", "cannot allocate memory"),
    ),
)
