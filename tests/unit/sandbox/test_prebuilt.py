"""What compilers find made beforehand: made once, shared, and never missed."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader import languages
from grader.languages import Language, Prebuilt
from grader.sandbox.native.prebuilt import prebuilt_folder


def language(*command: str, path: str = "some/header.gch") -> Language:
    prebuilt = Prebuilt(
        path=path, source_path="some/header", source="text", command=(*command, "{file}")
    )
    return replace(languages.languages()["cpp"], prebuilt=prebuilt)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_file_is_made_once_for_all_who_can_read_it() -> None:
    both = [language("touch"), language("touch", path="some/other.gch")]
    folder = prebuilt_folder(both)
    assert folder is not None
    made = [folder / "some/header.gch", folder / "some/other.gch"]
    assert [oct(path.stat().st_mode & 0o777) for path in made] == ["0o644", "0o644"]
    before = [path.stat().st_mtime_ns for path in made]
    assert prebuilt_folder(both) == folder
    assert [path.stat().st_mtime_ns for path in made] == before
    assert sorted(path.name for path in folder.rglob("*")) == [
        ".lock",
        "header",
        "header.gch",
        "other.gch",
        "some",
    ]


def test_other_command_has_another_folder() -> None:
    assert prebuilt_folder([language("touch")]) != prebuilt_folder([language("touch", "-c")])


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("false",), id="fails"),
        pytest.param(("true",), id="makes nothing"),
        pytest.param(("no-such-compiler",), id="is not there"),
    ],
)
def test_command_that_makes_nothing_leaves_compilers_without(command: tuple[str, ...]) -> None:
    assert prebuilt_folder([language(*command)]) is None


def test_cache_that_cannot_be_written_leaves_compilers_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert prebuilt_folder([language("touch")]) is None


def test_language_with_nothing_to_make_has_no_folder(cache: Path) -> None:
    assert prebuilt_folder([languages.languages()["lua"]]) is None
    assert list(cache.iterdir()) == []
