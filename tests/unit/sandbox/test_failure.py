"""Engine messages, as captured from Docker Engine 20.10.24 and the SDK 7.2.0."""

import pytest

from grader.sandbox.failure import explain

VERSION = "Error while fetching server API version: "


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        pytest.param(
            "FileNotFoundError(2, 'No such file or directory')",
            "no Docker engine answers",
            id="no socket",
        ),
        pytest.param(
            "ConnectionRefusedError(111, 'Connection refused')",
            "no Docker engine answers",
            id="a socket that nothing listens on",
        ),
        pytest.param(
            f"{VERSION}HTTPConnectionPool(host='127.0.0.1', port=1): Max retries exceeded with url:"
            " /version (Caused by NewConnectionError(\"HTTPConnection(host='127.0.0.1', port=1): "
            'Failed to establish a new connection: [Errno 111] Connection refused"))',
            "no Docker engine answers",
            id="refused",
        ),
        pytest.param(
            f"{VERSION}HTTPConnectionPool(host='h.invalid', port=1): Max retries exceeded with url:"
            " /version (Caused by NameResolutionError(\"HTTPConnection(host='h.invalid', port=1): "
            "Failed to resolve 'h.invalid' ([Errno -2] Name or service not known)\"))",
            "no Docker engine answers",
            id="unknown host",
        ),
        pytest.param(
            "PermissionError(13, 'Permission denied')",
            "may not use the Docker engine",
            id="not in the group",
        ),
        pytest.param(
            "Unknown runtime specified runsc", "does not know this runtime", id="no such runtime"
        ),
    ],
)
def test_engine_message_is_explained_and_kept(message: str, advice: str) -> None:
    explained = explain(message)
    assert advice in explained
    assert message in explained


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("No such container: 0000", id="container"),
        pytest.param("Minimum memory limit allowed is 6MB", id="memory"),
        pytest.param(
            'Get "https://registry.invalid/v2/": dial tcp: lookup registry.invalid: no such host',
            id="registry",
        ),
        pytest.param(
            "failed to create shim task: OCI runtime create failed: runc create failed: string "
            "nope is not a valid action for seccomp: unknown",
            id="bad seccomp profile",
        ),
        pytest.param("open /etc/passwd: permission denied", id="permission of something else"),
    ],
)
def test_other_message_is_passed_on_as_it_is(message: str) -> None:
    assert explain(message) == message


def test_message_of_many_lines_becomes_one() -> None:
    assert explain("one\n  two\n") == "one two"
