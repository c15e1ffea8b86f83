"""`grader doctor` on this machine: its Python packages, its languages."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader import languages
from grader.cli import diagnosis
from grader.cli.machine import Diagnostic, DiagnosticStatus, find_packages


@pytest.mark.parametrize(
    ("packages", "diagnostic"),
    [
        pytest.param(
            {"sh": "dash"},
            Diagnostic(name="C", health=DiagnosticStatus.OK, state="found sh"),
            id="found",
        ),
        pytest.param(
            {"sh": "dash", "no-such-cc": "gcc libc6-dev", "no-such-ld": "gcc libc6-dev"},
            Diagnostic(
                name="C",
                health=DiagnosticStatus.WARNING,
                state="missing: no-such-cc, no-such-ld",
                remedy="to grade C: apt-get install gcc libc6-dev",
            ),
            id="missing",
        ),
        pytest.param(
            {"sh": "dash", "/no/such/library.jar": "libsuch-java"},
            Diagnostic(
                name="C",
                health=DiagnosticStatus.WARNING,
                state="missing: /no/such/library.jar",
                remedy="to grade C: apt-get install libsuch-java",
            ),
            id="missing library",
        ),
    ],
)
def test_missing_language_names_its_packages(
    packages: dict[str, str], diagnostic: Diagnostic
) -> None:
    language = replace(languages.languages()["c"], packages=packages)
    assert diagnosis.find_language(language) == diagnostic


def test_missing_package_that_some_programs_need_is_named() -> None:
    extras = {"libhas": ("true",), "liblacks": ("false",)}
    language = replace(languages.languages()["c"], packages={"sh": "dash"}, extras=extras)
    assert diagnosis.find_language(language) == Diagnostic(
        name="C",
        health=DiagnosticStatus.WARNING,
        state="found sh; missing, which some programs use: liblacks",
        remedy="apt-get install liblacks",
    )


def test_other_project_with_a_package_of_our_name_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_packages().health is DiagnosticStatus.OK
    other = tmp_path / "grader-1.2.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: grader\nVersion: 1.2\n")
    (other / "top_level.txt").write_text("grader\n")
    monkeypatch.syspath_prepend(tmp_path)
    found = find_packages()
    assert found.health is DiagnosticStatus.WARNING
    assert found.state.startswith("grader installed files")
    assert found.remedy.startswith("pip uninstall grader grader-rl")
