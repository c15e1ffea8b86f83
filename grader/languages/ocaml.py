"""OCaml, as machine code, with its own libraries for texts and for the system."""

import re

from grader.languages.language import ErrorWords, Language

LANGUAGES = (
    Language(
        name="ocaml",
        title="OCaml",
        image="ocaml",
        aliases=frozenset({"ml"}),
        packages={"ocamlopt": "ocaml-nox", "cc": "gcc libc6-dev"},
        source="solution.ml",
        other_endings=(".mli",),
        compile=(
            *("ocamlopt", "-w", "-a", "-g", "-color", "never", "-o", "program"),
            *("unix.cmxa", "str.cmxa", "{sources}"),
        ),
        run=("./program",),
        environment={"OCAMLRUNPARAM": "b"},
        compile_words=ErrorWords(
            message=re.compile(r"^Error: (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"File \"solution\.ml\", lines? (?P<line>\d+)"),
        ),
        reads_input=re.compile(r"\b(?:read_(?:line|int|float)|scanf|input_line|stdin)\b"),
        runtime_words=ErrorWords(
            message=re.compile(r"^Fatal error: exception (?P<message>.+)", re.MULTILINE),
            line=re.compile(r"in file \"solution\.ml\", line (?P<line>\d+)"),
        ),
        out_of_memory=("exception Out_of_memory",),
    ),
)
