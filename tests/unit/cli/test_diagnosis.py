"""`grader doctor` on the languages of this machine."""

from dataclasses import replace

import pytest

from grader import languages
from grader.cli import diagnosis
from grader.cli.machine import Diagnostic, DiagnosticStatus


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
    ],
)
def test_missing_language_names_its_packages(
    packages: dict[str, str], diagnostic: Diagnostic
) -> None:
    language = replace(languages.languages()["c"], packages=packages)
    assert diagnosis.find_language(language) == diagnostic
