import logging

import pytest

from grader.config.settings import Settings
from grader.queueing.broker import connect


@pytest.mark.parametrize(
    ("broker", "is_open"),
    [
        pytest.param("redis://10.0.0.5:6379/0", True, id="address"),
        pytest.param("redis://queue.example:6379", True, id="name"),
        pytest.param("redis://user@queue.example:6379", True, id="user alone"),
        pytest.param("rediss://queue.example:6380", True, id="TLS alone"),
        pytest.param("redis://:secret@queue.example:6379", False, id="password"),
        pytest.param("redis://queue.example:6379?password=secret", False, id="in the query"),
        pytest.param("rediss://queue.example?ssl_certfile=a.pem", False, id="certificate"),
        pytest.param("redis://127.0.0.1:6379/0", False, id="loopback"),
        pytest.param("redis://[::1]:6379/0", False, id="loopback 6"),
        pytest.param("redis://localhost", False, id="localhost"),
        pytest.param("unix:///run/redis.sock", False, id="socket"),
    ],
)
def test_broker_that_others_can_use_is_warned_of_once(
    broker: str, is_open: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            connect(Settings(broker=broker)).close()
    assert len(caplog.messages) == is_open
    assert all("without a password" in message for message in caplog.messages)
    assert "secret" not in caplog.text
