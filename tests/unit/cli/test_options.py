from pathlib import Path

import pytest

from grader.cli.options import choose
from grader.config.settings import SandboxChoice
from grader.model import LimitOverrides, MiB
from grader.model.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADER_SLOTS", "7")


def test_option_wins_over_the_environment() -> None:
    assert choose(slots=3).settings.slots == 3


def test_option_that_is_not_given_leaves_the_environment() -> None:
    chosen = choose(slots=None, sandbox=SandboxChoice.NATIVE)
    assert (chosen.settings.slots, chosen.settings.sandbox) == (7, SandboxChoice.NATIVE)


def test_set_limit_is_a_default_and_an_override() -> None:
    chosen = choose(["cpu_time_s=2", "limits.memory_bytes = 64MiB", "docker.runtime=runsc"])
    assert chosen.settings.limits.cpu_time_s == 2.0
    assert chosen.limits == LimitOverrides(cpu_time_s=2.0, memory_bytes=64 * MiB)
    assert chosen.settings.docker.runtime == "runsc"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("cpu_time_s", "expected KEY=VALUE", id="no value"),
        pytest.param("cpu_time=1", "did you mean", id="misspelt"),
        pytest.param("cpu_time_s=fast", "--set cpu_time_s=fast gives", id="no number"),
    ],
)
def test_set_that_does_not_fit_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        choose([text])
