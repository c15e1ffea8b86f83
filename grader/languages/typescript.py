"""TypeScript, by Node.js, after esbuild has taken its types away without checking them."""

import re
from dataclasses import replace

from grader.languages.javascript import JAVASCRIPT, must_be_a_module
from grader.languages.language import ErrorWords, SourceFile


def prepare(code: str) -> SourceFile:
    """Make a module of code that must be one, and a script of all other, which may `require`."""
    is_module = must_be_a_module(code)
    return SourceFile(
        path="solution.ts",
        code=code,
        entry="solution.mjs" if is_module else "solution.cjs",
        format="esm" if is_module else "cjs",
    )


LANGUAGES = (
    replace(
        JAVASCRIPT,
        name="typescript",
        title="TypeScript",
        image="typescript",
        aliases=frozenset({"ts", "mts", "cts", "tsx", "deno", "ts-node"}),
        packages={**JAVASCRIPT.packages, "esbuild": "esbuild"},
        source="solution.ts",
        other_endings=(".mts", ".cts"),
        prepare=prepare,
        # A map of the lines lets errors name those of the answer.
        compile=(
            *("esbuild", "{source}", "--outfile={entry}", "--platform=node", "--format={format}"),
            *("--target=es2022", "--sourcemap=inline", "--log-level=warning", "--color=false"),
            *("--bundle", "--packages=external"),  # which takes in the submission's other files
        ),
        only_checks=False,
        run=(
            *("node", "--require=./.output.cjs", "--enable-source-maps"),
            *("--max-old-space-size={memory_mib}", "--stack-size=49152", "{entry}"),
        ),
        environment={**JAVASCRIPT.environment, "GOMAXPROCS": "2"},
        compile_words=ErrorWords(
            message=re.compile(r"\[ERROR\] (?P<message>.+)"),
            line=re.compile(r"solution\.ts:(?P<line>\d+)"),
        ),
        runtime_words=replace(
            JAVASCRIPT.runtime_words, line=re.compile(r"solution\.ts:(?P<line>\d+)")
        ),
    ),
)
