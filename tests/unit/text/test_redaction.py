"""No part of a password is shown, even if its address is malformed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.config.server import ServerSettings
from grader.config.settings import Settings
from grader.model.errors import ConfigurationError
from grader.queueing.broker import connect
from grader.remote.address import Address
from grader.text.redaction import redacted


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        pytest.param("redis://:pw@host:6379/0", "redis://:(set)@host:6379/0", id="password"),
        pytest.param("redis://me:pw@host/1", "redis://me:(set)@host/1", id="user"),
        pytest.param("http://token@host", "http://(set)@host", id="no-colon"),
        pytest.param("redis://:p/w:d@x@host:1/0", "redis://:(set)@host:1/0", id="not-encoded"),
        pytest.param("redis://host/0?password=pw", "redis://host/0?(set)", id="query"),
        pytest.param("redis://host:6379/0", "redis://host:6379/0", id="nothing-to-hide"),
        pytest.param(":pw@host", "(set)", id="no-scheme"),
    ],
)
def test_address_is_shown_without_its_secrets(address: str, shown: str) -> None:
    assert redacted(address) == shown


_SECRETS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(
    lambda text: f"s3cret{text}t3rces"
)


@given(_SECRETS)
def test_no_password_is_shown(secret: str) -> None:
    for address in (f"redis://:{secret}@host:6379/0", f"redis://host?password={secret}"):
        assert "s3cret" not in redacted(address)
        assert "t3rces" not in redacted(address)


@settings(deadline=None)
@given(_SECRETS)
def test_no_complaint_quotes_a_password(secret: str) -> None:
    for complaining in (
        lambda: connect(Settings(broker=f"redis://:{secret}@host:port/0")),
        lambda: Address.parse(f"http://any:{secret}@host:port"),
    ):
        try:
            complaining()
        except ConfigurationError as error:
            whole = f"{error} {error.__cause__}"
            assert "s3cret" not in whole
            assert "t3rces" not in whole


def test_settings_as_text_hide_secrets() -> None:
    both = Settings(
        broker="redis://:s3cret@host",
        url="http://any:s3cret@host",
        server=ServerSettings(token="s3cret"),  # noqa: S106
    )
    assert "s3cret" not in repr(both)
