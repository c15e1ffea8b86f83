"""Code in any language is coloured, and comes out whole."""

import re

import pytest

from grader import languages
from grader.report.highlight import highlighted

pytest.importorskip("markupsafe")


@pytest.mark.parametrize("language", [languages.PYTHON, *languages.languages(), "unknown"])
def test_code_of_every_language_comes_out_whole(language: str) -> None:
    code = "\n\nint x = 1; // <one>\n"
    html = str(highlighted(code, language))
    text = re.sub(r"<[^>]*>", "", html.replace('</span><span class="l">', "</span>\n<span>"))
    assert "int x = 1; // &lt;one&gt;" in text


def test_keywords_are_those_of_the_language() -> None:
    assert '<span class="k">fn</span>' in str(highlighted("fn main() {}", "rust"))
    assert '<span class="k">' not in str(highlighted("fn = 1", "python"))
