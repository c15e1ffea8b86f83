import pytest

from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model.errors import ConfigurationError
from grader.opening import open_grader
from grader.queueing.grader import QueueGrader
from grader.remote.address import Address
from grader.remote.grader import RemoteGrader


@pytest.mark.parametrize(
    ("url", "shown", "token"),
    [
        pytest.param("http://host:8080", "http://host:8080", None, id="plain"),
        pytest.param("http://host", "http://host:80", None, id="port of http"),
        pytest.param("https://host/", "https://host:443", None, id="port of https"),
        pytest.param("http://any:s%2Fecret@host:1", "http://host:1", "s/ecret", id="token"),
        pytest.param("http://[::1]:8080", "http://[::1]:8080", None, id="IPv6"),
        pytest.param("http://host:1/rl/", "http://host:1/rl", None, id="behind a proxy"),
        pytest.param("http://host:1/get_reward", "http://host:1", None, id="OpenRLHF's"),
        pytest.param("http://host:1/rl/v1/grade", "http://host:1/rl", None, id="an endpoint"),
    ],
)
def test_address_is_read_and_shown_without_its_token(
    url: str, shown: str, token: str | None
) -> None:
    address = Address.parse(url)
    assert (str(address), address.token) == (shown, token)
    assert "ecret" not in f"{address} {address!r}"


def test_token_of_the_settings_is_shown_where_the_address_has_none() -> None:
    shown = [Address.parse(url, "general").token for url in ("http://host", "http://any:own@host")]
    assert shown == ["general", "own"]


@pytest.mark.parametrize(
    "url",
    ["", "host:8080", "ftp://host", "http://", "http://any:secret@:80", "http://host:port",
     "http://host:99999", "http://host/?secret=1", "redis://any:secret@host:6379/0"],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"expected http://") as caught:
        Address.parse(url)
    assert "secret" not in str(caught.value)


def test_broker_wins_over_address_and_address_over_this_process() -> None:
    pytest.importorskip("celery")
    settings = Settings(sandbox=SandboxChoice.NATIVE, slots=1)
    both = Settings(broker="redis://127.0.0.1:1/0", url="http://127.0.0.1:1")
    for chosen, kind in (
        (settings, Grader),
        (Settings(url="http://127.0.0.1:1"), RemoteGrader),
        (both, QueueGrader),
    ):
        with open_grader(chosen) as grader:
            assert isinstance(grader, kind)
