"""What `grader doctor` says of the languages of this machine."""

from dataclasses import replace

import pytest

from grader import languages
from grader.cli import diagnosis
from grader.cli.machine import Finding, Health


@pytest.mark.parametrize(
    ("packages", "finding"),
    [
        pytest.param(
            {"sh": "dash"},
            Finding(name="C", health=Health.OK, state="found sh"),
            id="there",
        ),
        pytest.param(
            {"sh": "dash", "no-such-cc": "gcc libc6-dev", "no-such-ld": "gcc libc6-dev"},
            Finding(
                name="C",
                health=Health.WARNING,
                state="there is no no-such-cc, no-such-ld",
                remedy="to grade C: apt-get install gcc libc6-dev",
            ),
            id="not there",
        ),
    ],
)
def test_language_is_told_with_the_package_that_brings_it(
    packages: dict[str, str], finding: Finding
) -> None:
    language = replace(languages.languages()["c"], packages=packages)
    assert diagnosis.find_language(language) == finding
