import sys

import pytest

from grader.config.settings import DockerSettings, Settings
from grader.model.errors import ConfigurationError
from grader.sandbox.choice import choose_sandbox


def test_without_the_docker_sdk_the_native_sandbox_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    sandbox = choose_sandbox(Settings())
    assert sandbox.name == "native"
    sandbox.close()


def test_engine_that_is_named_is_not_replaced_for_want_of_the_sdk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    settings = Settings(docker=DockerSettings(host="unix:///nowhere.sock"))
    with pytest.raises(ConfigurationError, match="needs the Docker SDK"):
        choose_sandbox(settings)
