"""Go."""

import re

from grader.languages.language import ErrorWords, Language

LANGUAGES = (
    Language(
        name="go",
        title="Go",
        image="go",
        aliases=frozenset({"golang"}),
        packages={"go": "golang-go"},
        folders=("/usr/share/go-*",),
        source="solution.go",
        # Without what a debugger needs, it links sooner; panics name their lines all the same.
        compile=("go", "build", "-ldflags=-s -w", "-o", "program", "{source}"),
        run=("./program",),
        environment={
            "GO111MODULE": "off",
            "GOCACHE": "/tmp/go-cache",  # noqa: S108 - each run mounts its own
            "GOMAXPROCS": "2",
            "GOPATH": "/tmp/go",  # noqa: S108 - as above
            "GOTOOLCHAIN": "local",
        },
        program=re.compile(r"\bfunc\s+main\s*\("),
        compile_words=ErrorWords(
            message=re.compile(r"solution\.go:\d+:\d+: (?P<message>.+)"),
            line=re.compile(r"solution\.go:(?P<line>\d+):\d+: "),
        ),
        runtime_words=ErrorWords(
            message=re.compile(r"^(?:panic|fatal error): (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"solution\.go:(?P<line>\d+)"),
        ),
        out_of_memory=("fatal error: runtime: out of memory", "runtime: cannot allocate memory"),
    ),
)
