"""R, without packages other than those that come with it."""

import re

from grader.languages.language import (
    Assertions,
    ErrorWords,
    Language,
    TranslatedTests,
    ValueDriver,
    call_first,
)
from grader.model import MiB

_SHOW = """
shown_for_tests <- function(value) {
    if (is.null(value)) return("NULL")
    if (is.function(value) || is.environment(value)) return(class(value)[1])
    if (is.factor(value)) value <- as.character(value)
    if (is.list(value)) {
        items <- vapply(value, shown_for_tests, "")
        if (!is.null(names(value))) items <- paste(encodeString(names(value)), items, sep = " = ")
        return(paste0("list(", paste(items, collapse = ", "), ")"))
    }
    if (is.character(value)) {
        items <- encodeString(value, quote = '"')
    } else if (is.numeric(value)) {
        items <- sprintf(ifelse(value == round(value) & abs(value) < 1e15, "%.0f", "%.12g"), value)
    } else {
        items <- as.character(value)
    }
    items[is.na(value)] <- "NA"
    shape <- if (length(dim(value)) > 1) paste(" of", paste(dim(value), collapse = " x ")) else ""
    paste0("c(", paste(items, collapse = ", "), ")", shape)
}
"""


def show(values: ValueDriver) -> str:
    """Show the values of expressions: numbers to 12 digits, lists but not vectors with names."""
    form = 'cat("\\n{mark} {number} ", shown_for_tests({expression}), "\\n", sep = "")'
    return "\n".join([values.code, _SHOW, values.statements(form)])


_TESTS = TranslatedTests(
    start="stopifnot(isTRUE(all.equal(",
    split=call_first(")))"),
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
        source="solution.R",
        other_endings=(".r",),
        compile=("Rscript", "--vanilla", "-e", "invisible(parse('{source}'))"),
        only_checks=True,
        run=("Rscript", "--vanilla", "{source}"),
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
        runtime_words=ErrorWords(
            message=re.compile(r"^Error(?: in [^\n]{1,300}? : \s*|: )(?P<message>.+)", re.MULTILINE)
        ),
        out_of_memory=("cannot allocate vector", "cannot allocate memory"),
    ),
)
