"""R, without packages other than those that come with it."""

import re

from grader.languages.language import ErrorWords, Language
from grader.model import MiB

LANGUAGES = (
    Language(
        name="r",
        title="R",
        image="r",
        aliases=frozenset({"rscript", "rlang"}),
        packages={"Rscript": "r-base-core"},
        folders=("/etc/R", "/usr/share/R"),
        source="solution.R",
        compile=("Rscript", "--vanilla", "-e", "invisible(parse('{source}'))"),
        run=("Rscript", "--vanilla", "{source}"),
        time_factor=3.0,
        start_up_s=0.3,
        runtime_memory_bytes=64 * MiB,
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
