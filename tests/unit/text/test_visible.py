"""Characters that act or hide become symbols; ordinary text stays."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.text.visible import pieces, visible, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a\tb\nc", "a\tb\nc", id="newline and tab stay"),
        pytest.param("\x1b[31mred", "␛[31mred", id="ansi"),
        pytest.param("\x1b]0;title\x07", "␛]0;title␇", id="terminal title"),
        pytest.param("a\rb", "a␍b", id="carriage return"),
        pytest.param("\x00\x7f", "␀␡", id="null and delete"),
        pytest.param("\x9b31m", "⟨U+009B⟩31m", id="c1 control"),
        pytest.param("\u202euser", "⟨U+202E⟩user", id="right to left override"),
        pytest.param("\u2066x\u2069", "⟨U+2066⟩x⟨U+2069⟩", id="isolates"),
        pytest.param("a\u200bb\ufeffc", "a⟨U+200B⟩b⟨U+FEFF⟩c", id="zero width"),
        pytest.param("\ud800", "⟨U+D800⟩", id="lone surrogate"),
        pytest.param("a\u2028b", "a⟨U+2028⟩b", id="line separator"),
        pytest.param("a\xa0b", "a⟨U+00A0⟩b", id="blank that is no space"),
        pytest.param("\u3164", "⟨U+3164⟩", id="filler that looks blank"),
        pytest.param("\U000e0041", "⟨U+E0041⟩", id="tag character"),
        pytest.param("\ufe0f", "⟨U+FE0F⟩", id="variation selector"),
        pytest.param("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "⟨U+0301⟩" * 2, id="stacked marks"),
        pytest.param("naïve e\u0301 日本 😀 x²", "naïve e\u0301 日本 😀 x²", id="words stay"),
    ],
)
def test_visible_replaces_characters_that_act_or_hide(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_visible_line_is_one_line() -> None:
    assert visible_line("a\n\tb\x1b") == "a␤␉b␛"


def test_pieces_tell_a_symbol_from_the_same_text() -> None:
    assert list(pieces("␛\x1bé")) == [("␛", False), ("␛", True), ("é", False)]


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_visible_leaves_nothing_that_acts(text: str) -> None:
    shown = visible(text)
    shown.encode()
    categories = {unicodedata.category(char) for char in shown if char not in "\n\t"}
    assert categories.isdisjoint({"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"})
    assert visible(shown) == shown
    assert "".join(piece for piece, _ in pieces(text)) == shown
