"""Submissions of several files, as one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import languages
from grader.source.files import MOST_FILES, find_main, join_files, split_files, why_refused

NAMES = st.from_regex(r"(?:[a-z]{1,3}/){0,2}[a-z_][a-z0-9_.+-]{0,8}\.(?:py|cpp|h)", fullmatch=True)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).filter(
    lambda line: "file" not in line.lower()
)
CONTENTS = st.lists(LINES, max_size=4).map("\n".join)


@given(st.dictionaries(NAMES, CONTENTS, min_size=2, max_size=5))
def test_files_that_are_joined_are_split_again(files: dict[str, str]) -> None:
    found = split_files(join_files(files))
    assert {path: text.rstrip() for path, text in found.items()} == {
        path: text.rstrip() for path, text in files.items()
    }


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("", id="nothing"),
        pytest.param("// file: main.cpp\nint main() {}", id="one name"),
        pytest.param("int x;\n// file: a.h\n// file: b.h\n", id="code before the first name"),
        pytest.param("s = '# file: a.py'\n# file: b.py\n", id="a name in a text"),
        pytest.param("// a.h\nint a;\n// b.h\nint b;\n", id="names alone"),
    ],
)
def test_code_of_one_file_is_not_split(code: str) -> None:
    assert split_files(code) == {}


@pytest.mark.parametrize(
    "path",
    [
        *("../a.py", "a/../b.py", "/etc/a.py", "a//b.py", "~/a.py", ".a.py", "-o.cpp"),
        *("a b.py", "a\\b.py", "a\n.py", "a'.R", f"{'a' * 200}.py", ""),
    ],
)
def test_path_that_may_lead_elsewhere_is_refused(path: str) -> None:
    assert "expected a relative path" in (why_refused(["main.py", path]) or "")


@given(st.lists(st.text(max_size=12) | NAMES, max_size=4, unique=True))
def test_paths_that_are_not_refused_lie_in_the_work_area(paths: list[str]) -> None:
    if why_refused(paths) is None:
        for path in paths:
            assert all(part.strip(".") and part[0] not in ".-~" for part in path.split("/"))
            assert not any(other.startswith(f"{path}/") for other in paths)


def test_file_that_is_a_folder_and_too_many_files_are_refused() -> None:
    assert "also the folder" in (why_refused(["a.h", "a.h/b.h"]) or "")
    names = [f"f{number}.py" for number in range(MOST_FILES + 1)]
    assert why_refused(names[:-1]) is None
    assert f"{len(names)} files; at most {MOST_FILES}" in (why_refused(names) or "")


@pytest.mark.parametrize(
    ("language", "files", "main"),
    [
        pytest.param("cpp", {"a.cpp": "int main() {}", "b.cpp": "int b;"}, "a.cpp", id="its main"),
        pytest.param("cpp", {"a.h": "// main()", "b.cpp": "int b;"}, "b.cpp", id="not a header"),
        pytest.param(
            "ruby", {"main.rb": "f", "a.rb": "def f; end"}, "main.rb", id="its usual name"
        ),
        pytest.param(
            "lua", {"run.lua": "require('a')", "a.lua": "return 1"}, "run.lua", id="not mentioned"
        ),
        pytest.param(
            "javascript",
            {
                "hello.js": "import { hello } from './parts.js'; hello()",
                "parts.js": "export function hello() { return 'Hello you'; }",
            },
            "hello.js",
            id="mentioned as a function",
        ),
        pytest.param(
            "python",
            {"sum.py": "from parts import add", "parts.py": "add = sum  # by sum"},
            "sum.py",
            id="mentioned in a comment",
        ),
        pytest.param(
            "python",
            {"start.py": "from p.a import f", "p/__init__.py": "", "p/a.py": ""},
            "start.py",
            id="package",
        ),
    ],
)
def test_main_file_is_found(language: str, files: dict[str, str], main: str) -> None:
    assert find_main(files, languages.find(language)) == main
