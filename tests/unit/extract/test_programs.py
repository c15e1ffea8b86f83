"""Programs in other languages than Python, in completions."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.extract import extract
from grader.model.overrides import ExtractionRule

MAIN = "int main() {\n    return 0;\n}"
HELPER = "int helper() {\n    return 1;\n}"


def fenced(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```"


@pytest.mark.parametrize(
    ("completion", "code"),
    [
        pytest.param(fenced("cpp", MAIN), MAIN, id="block"),
        pytest.param(fenced("cpp", f"\ufeff{MAIN}"), MAIN, id="byte order mark"),
        pytest.param(fenced("C++", MAIN), MAIN, id="alias"),
        pytest.param(
            f"First {fenced('python', 'print(1)')}\n\nthen\n\n{fenced('cpp', MAIN)}",
            MAIN,
            id="beside another language",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nCompile it:\n{fenced('bash', 'g++ x.cpp')}",
            MAIN,
            id="before a command",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nThis part matters:\n{fenced('cpp', HELPER)}",
            MAIN,
            id="before a part of it",
        ),
        pytest.param(
            f"{fenced('cpp', MAIN)}\nBetter:\n{fenced('cpp', MAIN + ' // better')}",
            MAIN + " // better",
            id="the last of two",
        ),
        pytest.param(fenced("cpp", HELPER), HELPER, id="no whole program"),
        pytest.param(fenced("", MAIN), MAIN, id="no tag"),
        pytest.param(f"```cpp\n{MAIN}", MAIN, id="unclosed"),
        pytest.param(MAIN, MAIN, id="no block"),
        pytest.param(
            f"<think>{fenced('cpp', HELPER)}</think>\n{fenced('cpp', MAIN)}", MAIN, id="thinking"
        ),
    ],
)
def test_program_is_found(completion: str, code: str) -> None:
    found = extract(completion, language="cpp", is_program=True)
    assert (found.code, found.language) == (code, "cpp")


def test_note_says_which_block_was_taken() -> None:
    text = f"{fenced('cpp', MAIN)}\nThis part matters:\n{fenced('cpp', HELPER)}"
    note = "Took code block 1 of 2 of C++17, the last that is a whole program."
    assert extract(text, language="cpp", is_program=True).note == note
    alone = extract(fenced("", MAIN), language="cpp", is_program=True)
    assert alone.note.startswith("Took code block 1 of 1 without a language")


@pytest.mark.parametrize("language", ["cpp", "cpp20"])
@pytest.mark.parametrize("fence", ["cpp", "C++", "c++17", "c++20", "cpp20", "c++23"])
def test_fence_may_name_any_standard_of_the_language(language: str, fence: str) -> None:
    assert extract(fenced(fence, MAIN), language=language, is_program=True).code == MAIN


@pytest.mark.parametrize(
    ("completion", "note"),
    [
        pytest.param(fenced("python", "print(1)"), "blocks of 'python'", id="other language"),
        pytest.param("I cannot do this.", "no code block and no C\\+\\+17 program", id="prose"),
        pytest.param("", "empty", id="empty"),
        pytest.param("<think>int main() {", "thinking", id="unfinished"),
    ],
)
def test_answer_without_a_program_says_so(completion: str, note: str) -> None:
    found = extract(completion, language="cpp", is_program=True)
    assert (found.code, found.language) == (None, "cpp")
    assert re.search(note, found.note)


@pytest.mark.parametrize(
    ("completion", "language"),
    [
        pytest.param(fenced("cpp", MAIN), "cpp", id="C++"),
        pytest.param(fenced("lua", "print(1)"), "lua", id="a script"),
        pytest.param(f"{fenced('c', MAIN)}\n{fenced('sh', 'cc x.c')}", "c", id="with a command"),
        pytest.param(f"{fenced('py', 'print(1)')}\n{fenced('sh', 'ls')}", "python", id="python"),
        pytest.param("print(1)", "python", id="no block"),
    ],
)
def test_fence_tells_the_language_if_any_is_allowed(completion: str, language: str) -> None:
    found = extract(completion, language="any", is_program=True)
    assert found.language == language
    assert found.code


def test_rules_of_position_take_the_blocks_of_the_language() -> None:
    text = f"{fenced('cpp', HELPER)}\n{fenced('cpp', MAIN)}\n{fenced('sh', 'ls')}"
    first = extract(text, language="cpp", rule=ExtractionRule.FIRST_BLOCK)
    last = extract(text, language="cpp", rule=ExtractionRule.LAST_BLOCK)
    assert (first.code, last.code) == (HELPER, MAIN)


@given(st.text(), st.sampled_from(["cpp", "java", "any", "bash"]))
def test_any_text_is_read_without_an_error(text: str, language: str) -> None:
    found = extract(text, language=language, is_program=True)
    assert found.code is None or found.code.strip()


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param("ruby", "def twice(n)\n  2 * n\nend", id="Ruby"),
        pytest.param("javascript", "const twice = (n) => 2 * n;", id="JavaScript"),
        pytest.param("rust", "pub fn twice(n: i64) -> i64 {\n    2 * n\n}", id="Rust"),
        pytest.param("java", "class A {\n  long twice(long n) throws E {\n  }\n}", id="Java"),
        pytest.param("bash", "twice() {\n  echo $((2 * $1))\n}", id="Bash"),
        pytest.param("r", "twice <- function(n) 2 * n", id="R"),
        pytest.param("lua", "function M.twice(n) return 2 * n end", id="Lua"),
        pytest.param("cpp", "vector<int> twice(vector<int> n) {\n  return n;\n}", id="C++"),
    ],
)
def test_block_that_defines_the_function_is_taken_though_a_longer_one_calls_it(
    language: str, code: str
) -> None:
    calls = "\n".join(f"if twice({n}) == {2 * n} {{ print(twice({n})) }}" for n in range(20))
    for completion in (
        f"{fenced(language, code)}\nTry it:\n{fenced(language, calls)}",
        f"Used as\n{fenced(language, calls)}\nif\n{fenced(language, code)}",
    ):
        assert extract(completion, language=language, entry_point="twice").code == code


@pytest.mark.parametrize(
    ("function", "name"),
    [("sumOf", "sum_of"), ("mergeKLists", "merge_k_lists"), ("is_valid_bst", "isValidBst")],
)
def test_function_may_have_its_name_in_the_spelling_of_the_language(
    function: str, name: str
) -> None:
    code = f"pub fn {name}(n: i64) -> i64 {{\n    2 * n\n}}"
    completion = f"{fenced('rust', code)}\nNote that\n{fenced('rust', 'let n = 2;')}\nworks."
    for text in (completion, code):
        assert extract(text, language="rust", entry_point=function).code == code


HEADER = "int helper();"
MAIN_OF_TWO = f'#include "helper.h"\n{MAIN}'
TWO_FILES = f"// file: helper.h\n{HEADER}\n// file: main.cpp\n{MAIN_OF_TWO}\n"


def named(form: str) -> str:
    """Return an answer of two files; `form` says how `{code}` of a file is named `{name}`."""
    files = {"helper.h": HEADER, "main.cpp": MAIN_OF_TWO}
    blocks = (form.replace("{name}", name).replace("{code}", code) for name, code in files.items())
    return "Two files:\n\n" + "\n\n".join(blocks) + "\n\nCompile them with `g++ main.cpp`."


@pytest.mark.parametrize(
    "form",
    [
        "```cpp filename={name}\n{code}\n```",
        '```cpp title="{name}" linenums="1"\n{code}\n```',
        '```cpp {file="{name}"}\n{code}\n```',
        "```cpp:{name}\n{code}\n```",
        "```cpp {name}\n{code}\n```",
        "```{name}\n{code}\n```",
        "### {name}\n\n```cpp\n{code}\n```",
        "**`{name}`**\n```cpp\n{code}\n```",
        "2. File: `./{name}`:\n\n```cpp\n{code}\n```",
        "`{name}` (new):\n```cpp\n{code}\n```",
    ],
)
def test_blocks_that_are_named_are_files_of_one_program(form: str) -> None:
    found = extract(named(form), language="cpp", is_program=True)
    assert (found.code, found.note) == (TWO_FILES, "Took 2 files of C++17: helper.h, main.cpp.")


@pytest.mark.parametrize("form", ["// {name}\n{code}", "/* File: {name} */\n{code}"])
def test_first_line_of_a_block_names_its_file(form: str) -> None:
    found = extract(named(f"```cpp\n{form}\n```"), language="cpp", is_program=True)
    assert found.note == "Took 2 files of C++17: helper.h, main.cpp."


GUARDS = {
    "pragma": "#pragma once\n",
    "guard": "// Help\n#ifndef HELPER_H\n#define HELPER_H\n",
    "if": "#if !defined(HELPER_H)\n#define HELPER_H\n",
    "blank": "#ifndef HELPER_H\n\n# define HELPER_H\n",
}


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("is_first", [True, False])
def test_block_that_is_the_header_of_others_needs_no_name(guard: str, is_first: bool) -> None:
    header = f"{GUARDS[guard]}int one();"
    source, main = (f'#include "helper.h"\nint {name}() {{}}' for name in ("one", "main"))
    blocks = [fenced("cpp", each) for each in (header, source, main)]
    answer = "\n\n".join(blocks if is_first else [*blocks[1:], blocks[0]])
    found = extract(answer, language="cpp", is_program=True)
    assert found.code == (
        f"// file: helper.h\n{header}\n// file: helper.cpp\n{source}\n// file: main.cpp\n{main}\n"
    )
    other = extract(answer.replace("helper.h", "../helper.h"), language="cpp", is_program=True)
    assert other.code == main.replace("helper.h", "../helper.h")


@pytest.mark.parametrize("around", ["{}", "```cpp\n{}```", "Here:\n```\n{}\n```\nDone."])
def test_several_files_may_be_in_one_text(around: str) -> None:
    found = extract(around.replace("{}", TWO_FILES), language="cpp", is_program=True)
    assert found.code == TWO_FILES


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("### main.cpp\n```cpp\nint main() { return 1; }\n```\n", "", id="draft"),
        pytest.param("", "\n### test_it.cpp\n```cpp\nint main() {}\n```", id="its own test"),
        pytest.param("", "\n### run.sh\n```bash\ng++ main.cpp\n```", id="another language"),
        pytest.param("", "\n### out.txt\n```\n42\n```", id="output"),
        pytest.param("", "\n```cpp\nint main() {}\n```", id="no name"),
    ],
)
def test_files_are_the_last_of_their_name_and_of_the_language(before: str, after: str) -> None:
    answer = before + named("### {name}\n```cpp\n{code}\n```") + after
    assert extract(answer, language="cpp", is_program=True).code == TWO_FILES


def test_block_that_begins_with_a_shebang_is_the_program_and_not_a_call_of_it() -> None:
    blocks = ["#!/usr/bin/env bash\necho 1", "#!/bin/bash\necho 2", "bash sums.sh 1"]
    answer = "\n\n".join(fenced("bash", each) for each in blocks)
    assert extract(answer, language="bash", is_program=True).code == "#!/bin/bash\necho 2"


@pytest.mark.parametrize(
    ("language", "program", "other"),
    [
        pytest.param(
            "bash", "while read -r n; do\n  echo $n\ndone", "echo 3 | bash a.sh", id="Bash"
        ),
        pytest.param("bash", "awk '{ print $1 }'", "chmod +x a.sh\n./a.sh < input", id="AWK"),
        pytest.param(
            "javascript",
            'const text = require("fs").readFileSync(0);',
            "expect(f(1)).toBe(2);",
            id="JavaScript",
        ),
        pytest.param("typescript", "process.stdin.on('data', f);", "f(1);", id="TypeScript"),
        pytest.param("lua", "print(io.read('n'))", "assert(f(1) == 2)", id="Lua"),
        pytest.param("ocaml", "let () = print_int (read_int ())", "assert (f 1 = 2)", id="OCaml"),
        pytest.param("perl", "while (<>) { print }", "is(f(1), 2);", id="Perl"),
        pytest.param("php", "<?php echo fgets(STDIN);", "assert(f(1) === 2);", id="PHP"),
        pytest.param("r", 'cat(readLines("stdin"))', "stopifnot(f(1) == 2)", id="R"),
        pytest.param("ruby", "puts gets.to_i", "[1, 2].sum # => 3", id="Ruby"),
    ],
)
def test_block_that_reads_input_is_the_program_and_not_a_test_of_it(
    language: str, program: str, other: str
) -> None:
    text = f"{fenced(language, program)}\nTry it:\n{fenced(language, other)}"
    assert extract(text, language=language, is_program=True).code == program
    without_input = f"{fenced(language, 'f(1)')}\nor\n{fenced(language, 'f(2)')}"
    assert extract(without_input, language=language, is_program=True).code == "f(2)"


ESCAPED = "#include &lt;iostream&gt;\nint main() {\n    std::cout &lt;&lt; &quot;a&amp;b&quot;;\n}"
PLAIN = '#include <iostream>\nint main() {\n    std::cout << "a&b";\n}'


@pytest.mark.parametrize(
    "completion",
    [
        pytest.param(fenced("cpp", ESCAPED), id="block"),
        pytest.param(ESCAPED, id="no block"),
        pytest.param(f"<pre><code>{ESCAPED}</code></pre>", id="element"),
        pytest.param(json.dumps({"language": "cpp", "code": PLAIN}), id="JSON"),
        pytest.param(fenced("json", json.dumps({"code": PLAIN})), id="JSON in a block"),
        pytest.param(
            fenced("bash", f"cat > main.cpp <<'EOF'\n{PLAIN}\nEOF\ng++ main.cpp"), id="document"
        ),
        pytest.param("> " + fenced("cpp", PLAIN).replace("\n", "\n> "), id="quoted"),
    ],
)
def test_program_is_taken_out_of_what_it_is_wrapped_in(completion: str) -> None:
    assert (extract(completion, language="cpp", is_program=True).code or "").strip() == PLAIN


@pytest.mark.parametrize(
    ("language", "code"),
    [
        pytest.param("php", '<?php echo strlen("&lt;");', id="PHP"),
        pytest.param("ruby", 'puts gets.gsub("&", "&amp;").gsub("<", "&lt;")', id="Ruby"),
        pytest.param("javascript", '[{"a": "process.stdin"}].map((one) => one.a)', id="JSON"),
    ],
)
def test_program_that_writes_html_or_json_stays_as_it_is(language: str, code: str) -> None:
    for completion in (code, fenced(language, code)):
        assert extract(completion, language=language, is_program=True).code == code


def test_programs_that_are_named_are_not_parts_of_one() -> None:
    both = [f"### {name}.cpp\n{fenced('cpp', f'// {name}{MAIN}')}" for name in ("slow", "fast")]
    found = extract("\n\n".join(both), language="cpp", is_program=True)
    assert found.code == f"// fast{MAIN}"
    scripts = [f"### {name}.py\n{fenced('python', f'print({name!r})')}" for name in ("a1", "b2")]
    assert extract("\n\n".join(scripts), is_program=True).code == "print('b2')"


def test_python_program_may_have_several_files() -> None:
    files = {"main.py": "from sums import add\nprint(add(1))", "sums.py": "def add(n): return n"}
    blocks = [f"**{name}**\n{fenced('python', code)}" for name, code in files.items()]
    found = extract("\n\n".join(blocks), is_program=True)
    assert found.code == "".join(f"# file: {name}\n{code}\n" for name, code in files.items())


@pytest.mark.parametrize("name", ["../helper.h", "/usr/include/helper.h", "a/../../helper.h"])
def test_file_that_leads_out_of_the_work_area_is_refused_by_name(name: str) -> None:
    answer = named("### {name}\n```cpp\n{code}\n```").replace("### helper.h", f"### {name}")
    found = extract(answer, language="cpp", is_program=True)
    assert found.code is None
    assert repr(name) in found.note


@given(
    st.lists(
        st.sampled_from(
            [
                "### a.h",
                "### main.cpp",
                "```cpp",
                "```",
                "// file: a.cpp",
                MAIN,
                "// a.h",
                "```cpp file=b.cpp",
                "# file: c.py",
                "import c",
                "\n",
                "x",
            ]
        ),
        max_size=14,
    )
)
def test_files_of_any_answer_are_found_or_refused(lines: list[str]) -> None:
    for language in ("cpp", "lua", "python"):
        found = extract("\n".join(lines), language=language, is_program=True)
        assert found.code is None or found.code.strip()
        assert found.note


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("{code}\n```\n", id="closed"),
        pytest.param("{code}\n```\n\nIt prints `1`. Its output:\n\n```\n1\n```\n", id="explained"),
        pytest.param("cpp\n{code}\n```\n", id="after the opening fence"),
        pytest.param("```cpp\n{code}```\n\nIt prints `1`.", id="closed in the last line"),
    ],
)
def test_program_ends_with_the_fence_that_closes_it(answer: str) -> None:
    code = 'int main() {\n    puts("1");\n}'
    found = extract(answer.format(code=code), language="cpp", is_program=True).code or ""
    assert found.strip() == code


@pytest.mark.parametrize(
    "after",
    [
        pytest.param("", id="nothing"),
        pytest.param("\n\nIt lists all rows.", id="prose"),
        pytest.param("\n\nIt prints:\n\n```\n1\n```\n", id="a block without a language"),
        pytest.param("\n\nRun it:\n\n```bash\nsqlite3 < a.sql\n```\n", id="a block in another"),
    ],
)
def test_script_that_reads_nothing_ends_with_the_fence_that_closes_it(after: str) -> None:
    code = "SELECT a\nFROM t;\n"
    assert extract(f"{code}```{after}", language="sql", is_program=True).code == code


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("This lists all rows.\n```\n\n{code}\n```\n", id="closed"),
        pytest.param("This lists all rows:\n```\n\n{code}\n", id="after a colon"),
        pytest.param("This lists all rows.\n\n```\n\n{code}\n", id="after a blank line"),
        pytest.param("This lists all rows.\n```\n{code}\n", id="before code"),
    ],
)
def test_prose_before_a_script_is_not_the_script(answer: str) -> None:
    code = "SELECT a\nFROM t;"
    found = extract(answer.format(code=code), language="sql", is_program=True).code or ""
    assert found.strip() == code


def test_rest_of_a_function_ends_with_the_fence_that_closes_it() -> None:
    rest = "    return n + n;\n}\n"
    answer = f"{rest}```\n\nIt adds `n` to itself."
    beginning = "int twice(int n) {\n"
    found = extract(answer, language="cpp", entry_point="twice", continues=beginning).code
    assert found == beginning + rest


def test_function_of_haskell_ends_with_the_fence_that_closes_it() -> None:
    code = "twice :: Int -> Int\ntwice n = n + n\n"
    answer = f"{code}```\n\nIt adds `n` to itself."
    assert extract(answer, language="haskell", entry_point="twice").code == code


def test_rest_of_a_function_may_have_a_variable_of_its_name() -> None:
    rest = "  let f = 1;\n  return f * n;\n}\n"
    beginning = "const f = (n) => {\n"
    found = extract(rest, language="javascript", entry_point="f", continues=beginning).code
    assert found == beginning + rest


def test_prose_before_a_block_is_not_the_code_that_the_prompt_opened() -> None:
    answer = 'The function main() prints:\n\n```\nint main() { puts("1"); }\n```\n'
    code = extract(answer, language="cpp", is_program=True).code
    assert code == 'int main() { puts("1"); }'


def test_fence_in_the_code_of_a_closed_block_stays() -> None:
    code = "const fs = require('fs');\nconsole.log(`a\n b```\n`, fs.readFileSync(0));"
    assert extract(fenced("js", code), language="javascript", is_program=True).code == code
