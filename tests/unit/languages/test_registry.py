"""Which language a name means, and what each makes of its submissions' files."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import languages
from grader.languages import SourceFile, java, javascript, php, r
from grader.model import Limits, MiB
from grader.model.errors import LabelError
from tests.conftest import REPO


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("cpp", "cpp", id="own name"),
        pytest.param("C++", "cpp", id="as people write it"),
        pytest.param("c++20", "cpp20", id="dialect"),
        pytest.param("golang", "go", id="alias"),
        pytest.param("JS", "javascript", id="fence"),
        pytest.param("GNU C++14", "cpp", id="as Codeforces writes it"),
        pytest.param("C++20 (GCC 13-64)", "cpp20", id="with its compiler"),
        pytest.param("cplusplus", "cpp", id="spelled out"),
        pytest.param("C++ 20 (gcc 12.2)", "cpp20", id="as AtCoder writes it"),
        pytest.param("gnu++17", "cpp", id="standard of the compiler"),
        pytest.param("jsx", "javascript", id="ending"),
        pytest.param("(c)", None, id="in brackets"),
        pytest.param("python", None, id="python"),
        pytest.param("klingon", None, id="unknown"),
        pytest.param("", None, id="nothing"),
        pytest.param("cpp" * 1_000_000, None, id="long"),
    ],
)
def test_name_finds_its_language(name: str, found: str | None) -> None:
    language = languages.find(name)
    assert (language and language.name) == found


def test_every_name_is_lower_case_and_means_one_language() -> None:
    names = [name for language in languages.languages().values() for name in language.names]
    assert len(names) == len(set(names))
    assert all(name == name.lower().strip() for name in names)


@pytest.mark.parametrize(
    ("name", "own"),
    [("PyPy 3-64", "python"), ("Python 3 (PyPy)", "python"), ("GNU C++17 (64)", "cpp")],
)
def test_language_of_a_label_is_found_by_the_name_that_codeforces_gives_it(
    name: str, own: str
) -> None:
    assert languages.named(name) == own


def test_unknown_language_of_a_label_is_refused_with_those_that_are_graded() -> None:
    with pytest.raises(LabelError, match=r"'cobol' is not graded; expected one of python, bash, c"):
        languages.named("cobol")


@given(st.text(max_size=2000))
def test_any_code_becomes_a_file_in_the_work_area(code: str) -> None:
    for language in languages.languages().values():
        if language.prepare is not None:
            source = language.prepare(code)
            assert source.path.replace(".", "").isidentifier(), source.path
            assert source.code.endswith(code)


@pytest.mark.parametrize("piece", ['"', '\\"', "/*", "'", '"\n', "class A ", "public ", "void "])
def test_long_java_code_is_read_in_little_time(piece: str) -> None:
    began = time.process_time()
    java.prepare(piece * 100_000)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("piece", ['"', '\\"', "'", "`", "a.", "Class", '\nr"'])
def test_long_r_code_is_read_in_little_time(piece: str) -> None:
    began = time.process_time()
    r.prepare(piece * 100_000)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("name", ["A" * 300, "Ä" * 200, "A" * 100_000])
@pytest.mark.parametrize(
    "code",
    [
        "public class {name} {{ void main() {{}} }}",
        "class {name} {{ void main() {{}} }}",
        "package {name}; class Sum {{ void main() {{}} }}",
        "/*\nclass {name} is what\n*/\nvoid main() {{}}",
    ],
)
def test_name_that_no_java_class_can_have_is_not_used(code: str, name: str) -> None:
    source = java.prepare(code.format(name=name))
    assert len(source.path.encode()) <= 255
    assert len(source.entry.encode()) <= 255


@pytest.mark.parametrize(
    ("code", "path", "entry"),
    [
        pytest.param("public class Main {\n void main() {}\n}", "Main.java", "Main", id="public"),
        pytest.param("class Sum {\n static void main() {}\n}", "Sum.java", "Sum", id="plain"),
        pytest.param(
            "class Node {\n}\nclass Sum {\n static void main() {}\n}\nclass Z {\n}",
            "Sum.java",
            "Sum",
            id="among others",
        ),
        pytest.param(
            "class Sum {\n static void main() {}\n}\npublic class Api {\n}",
            "Api.java",
            "Sum",
            id="beside a public one",
        ),
        pytest.param(
            "public class Sum {\n  static class Node {\n  }\n  void main() {}\n}",
            "Sum.java",
            "Sum",
            id="inner",
        ),
        pytest.param(
            "package a.b;\npublic final class Sum {\n void main() {}\n}",
            "Sum.java",
            "a.b.Sum",
            id="package",
        ),
        pytest.param(
            "/*\npublic class Old {\n}\n*/\nclass Sum {\n // void main() {}\n}\n"
            "class Run {\n void main() {}\n}",
            "Run.java",
            "Run",
            id="beside comments",
        ),
        pytest.param(
            'class Sum {\n String s = "\\"/*";\n void main() {}\n}\n/* */',
            "Sum.java",
            "Sum",
            id="text that looks like a comment",
        ),
        pytest.param("no class at all", "Main.java", "Main", id="none"),
    ],
)
def test_java_file_is_called_like_its_public_class(code: str, path: str, entry: str) -> None:
    assert java.prepare(code) == SourceFile(path=path, code=code, entry=entry)


@pytest.mark.parametrize(
    ("code", "path"),
    [
        pytest.param('import fs from "fs";', "solution.mjs", id="import"),
        pytest.param('import { a } from "fs";', "solution.mjs", id="names"),
        pytest.param('import a, {\n  b,\n} from "fs";', "solution.mjs", id="several lines"),
        pytest.param("export async function f() {}", "solution.mjs", id="async"),
        pytest.param("/*\nimport what comes\nfrom there\n*/", "solution.js", id="comment"),
        pytest.param('import "./x.js";', "solution.mjs", id="for its effects"),
        pytest.param("export default 3;", "solution.mjs", id="export"),
        pytest.param('const fs = require("fs");', "solution.js", id="require"),
        pytest.param('import("fs").then(() => {});', "solution.js", id="dynamic"),
        pytest.param("const imports = [];", "solution.js", id="name"),
    ],
)
def test_javascript_module_is_told_by_its_imports(code: str, path: str) -> None:
    assert javascript.prepare(code).path == path


def test_php_without_its_tag_is_opened_on_the_same_line() -> None:
    assert php.prepare("echo 1;").code == "<?php echo 1;"
    assert php.prepare("<?php\necho 1;").code == "<?php\necho 1;"


def test_limits_are_scaled_by_what_the_language_takes() -> None:
    limits = Limits(cpu_time_s=1.0, wall_time_s=3.0, memory_bytes=100 * MiB)
    scaled = languages.languages()["java"].limits(limits)
    assert (scaled.cpu_time_s, scaled.wall_time_s) == (2.5, 7.0)
    assert scaled.memory_bytes == 228 * MiB
    assert languages.languages()["cpp"].limits(limits) == limits


def test_guide_lists_every_language_with_its_packages_and_limits() -> None:
    page = (REPO / "docs/languages.md").read_text()
    for language in languages.languages().values():
        (row,) = re.findall(rf"^\| `{language.name}` \|.*$", page, re.MULTILINE)
        assert language.title in row
        assert {*" ".join(language.packages.values()).split()} == {*row.split("`")[3].split()}
        factor = f"| {language.time_factor:g} |"
        assert factor in row
        more = [f"{language.start_up_s:g} s"] if language.start_up_s else []
        memory_mib = language.runtime_memory_bytes // MiB
        more += [f"{memory_mib} MiB"] if memory_mib else []
        assert row.split("|")[-2].strip() == ", ".join(more)


def test_image_has_the_dialects_of_its_language() -> None:
    assert {language.name for language in languages.in_image("cpp")} == {"cpp", "cpp20"}
    assert languages.in_image("python") == ()


@pytest.mark.parametrize(
    ("code", "is_module"),
    [
        pytest.param("const a = await f();", True, id="declaration"),
        pytest.param("while (true) {\n  if (!(await f())) break;\n}", True, id="in blocks"),
        pytest.param("for await (const a of b) {\n}", True, id="loop"),
        pytest.param("async function f() {\n  await g();\n}\nawait f();", True, id="after another"),
        pytest.param("async function f() {\n  await g();\n}\nf();", False, id="in a function"),
        pytest.param("const f = async () => {\n  await g();\n};", False, id="in an arrow"),
        pytest.param("class A {\n  async f() {\n    await g();\n  }\n}", False, id="in a method"),
        pytest.param("// await f\nconst a = require('fs');", False, id="mentioned in a script"),
    ],
)
def test_javascript_that_awaits_outside_functions_is_a_module(code: str, is_module: bool) -> None:
    assert javascript.awaits_outside_functions(code) == is_module
