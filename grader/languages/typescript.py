"""TypeScript, by Node.js, after esbuild has taken its types away without checking them."""

import re
from dataclasses import replace

from grader.languages.javascript import JAVASCRIPT
from grader.languages.language import ErrorWords

LANGUAGES = (
    replace(
        JAVASCRIPT,
        name="typescript",
        title="TypeScript",
        image="typescript",
        aliases=frozenset({"ts", "mts", "cts", "tsx", "deno", "ts-node"}),
        packages={**JAVASCRIPT.packages, "esbuild": "esbuild"},
        source="solution.ts",
        prepare=None,
        # A map of the lines lets errors name those of the answer.
        compile=(
            *("esbuild", "{source}", "--outfile=solution.js", "--platform=node", "--format=cjs"),
            *("--target=es2022", "--sourcemap=inline", "--log-level=warning", "--color=false"),
        ),
        run=(
            *("node", "--enable-source-maps", "--max-old-space-size={memory_mib}"),
            *("--stack-size=49152", "solution.js"),
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
