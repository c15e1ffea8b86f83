"""Perl."""

import re

from grader.languages.language import Language, Words

_WORDS = Words(
    message=re.compile(r"^(?P<message>.+) at solution\.pl line \d+", re.MULTILINE),
    line=re.compile(r" at solution\.pl line (?P<line>\d+)"),
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
        # This runs what stands in BEGIN blocks, too; they find no input.
        compile=("perl", "-c", "{source}"),
        run=("perl", "{source}"),
        time_factor=3.0,
        compile_words=_WORDS,
        runtime_words=_WORDS,
        out_of_memory=("Out of memory!", "Out of memory in perl"),
    ),
)
