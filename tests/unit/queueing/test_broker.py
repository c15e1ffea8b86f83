"""Addresses of the broker, for Redis's own library and for Celery."""

import pytest

from grader.config.settings import Settings
from grader.model.errors import ConfigurationError
from grader.queueing.broker import celery_broker, connect, read_broker


@pytest.mark.parametrize(
    ("address", "url"),
    [
        pytest.param("redis://:p%2Fw@host:1/2", "redis://:p%2Fw@host:1/2", id="password"),
        pytest.param("redis://host?password=pw&db=3", "redis://:pw@host:6379/3", id="query"),
        pytest.param("rediss://me:pw@[::1]", "redis://me:pw@[::1]:6379/0", id="IPv6"),
        pytest.param("unix:///r.sock", "redis+socket:///r.sock?virtual_host=0", id="socket"),
        pytest.param(
            "sentinel://me:pw@one:1,two/service/4",
            "sentinel://me:pw@one:1/4;sentinel://me:pw@two:26379/4",
            id="sentinels",
        ),
    ],
)
def test_celery_gets_the_same_place_and_login(address: str, url: str) -> None:
    assert celery_broker(Settings(broker=address)).url == url


@pytest.mark.parametrize("scheme", ["rediss", "sentinels"])
def test_celery_verifies_certificates_unless_told_otherwise(scheme: str) -> None:
    address = f"{scheme}://host/0"
    found = celery_broker(Settings(broker=f"{address}?ssl_ca_certs=ca.pem"))
    assert found.tls == {"ssl_cert_reqs": "required", "ssl_ca_certs": "ca.pem"}
    assert celery_broker(Settings(broker=address)).tls == {"ssl_cert_reqs": "required"}
    told = celery_broker(Settings(broker=f"{address}?ssl_cert_reqs=none")).tls
    assert told == {"ssl_cert_reqs": "none"}


def test_sentinels_have_a_password_and_tls_of_their_own() -> None:
    broker = read_broker(
        Settings(broker="sentinels://:pw@[::1]:7,two/service?sentinel_password=other")
    )
    assert (broker.service, broker.sentinels) == ("service", (("::1", 7), ("two", 26379)))
    assert broker.options["password"] == "pw"  # noqa: S105
    assert broker.of_sentinels["password"] == "other"  # noqa: S105
    assert broker.of_sentinels["ssl"] is True


@pytest.mark.parametrize(
    "address",
    [
        "sentinel://",
        "sentinel://one:1",
        "sentinel://one:1/",
        "sentinel://one:1,/service",
        "sentinel://one:port/service",
        "sentinel://one/service/x",
        "http://host",
        "host",
    ],
)
def test_other_addresses_are_refused_with_what_is_expected(address: str) -> None:
    with pytest.raises(ConfigurationError, match="expected redis://"):
        connect(Settings(broker=address))
