"""Nothing to connect to: no network, no loopback, no socket of ours or of the host."""

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.hostile.conftest import Target

NO = ("EAFNOSUPPORT", "EPERM", "ENOSYS")


FAMILIES = {
    "IPv4": 2,
    "IPv6": 10,
    "netlink": 16,
    "packet": 17,
    "bluetooth": 31,
    "kernel cryptography": 38,
    "vsock": 40,
    "express data path": 44,
}

HOST_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/user/0/bus",
    "/tmp/.X11-unix/X0",  # noqa: S108 - to connect to
)


def test_no_other_family_than_unix(target: Target) -> None:
    attempts = {
        f"{call} {name} {kind}": f"socket.{call}({family}, {kind})"
        for call in ("socket", "socketpair")
        for name, family in FAMILIES.items()
        for kind in (1, 2, 3, 5)
    }
    assert set(target.tell_all(attempts).values()) <= set(NO)


def test_no_address_answers(target: Target) -> None:
    hosts = ("127.0.0.1", "::1", "0.0.0.0", "172.17.0.1", "1.1.1.1", "example.org")  # noqa: S104
    attempts = {
        f"{host} {port}": f"socket.create_connection(({host!r}, {port}), 1)"
        for host in hosts
        for port in (80, 2375, 6379)
    }
    assert set(target.tell_all(attempts).values()) <= {*NO, "gaierror"}


def test_no_socket_of_the_host_is_there(target: Target) -> None:
    attempts = {path: f"socket.socket(socket.AF_UNIX).connect({path!r})" for path in HOST_SOCKETS}
    assert target.tell_all(attempts) == dict.fromkeys(HOST_SOCKETS, "ENOENT")


@pytest.fixture
def listener() -> Iterator[str]:
    """A socket of this process, of the kind that needs no file."""
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind("\0grader-test-listener")
        server.listen()
        yield r"\0grader-test-listener"


def test_abstract_socket_of_the_host_is_out_of_reach(target: Target, listener: str) -> None:
    answer = target.tell(f"socket.socket(socket.AF_UNIX).connect('{listener}')")
    assert answer == "ECONNREFUSED"


def test_no_abstract_socket_of_ours_exists(target: Target) -> None:
    # The kernel gives names of five hexadecimal digits to sockets that are bound without one.
    source = """
found = []
for number in range(1 << 14):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(b"\\0%05x" % number)
        found.append(number)
    except OSError:
        pass
    s.close()
print(found)
"""
    outcome = target.attack(source)
    assert outcome.stdout == b"[]\n"
    assert target.tell("open('/proc/net/unix').read()") == "ENOENT"


def test_abstract_socket_does_not_reach_the_next_run(target: Target) -> None:
    source = """
s = socket.socket(socket.AF_UNIX)
print(attempt(lambda: s.connect("\\0stays")))
server = socket.socket(socket.AF_UNIX)
server.bind("\\0stays")
server.listen()
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
"""
    outcomes = target.attack_all(source, b"", b"", b"")
    assert [outcome.stdout for outcome in outcomes] == [b"ECONNREFUSED\n"] * 3


def test_network_namespace_is_empty_and_not_the_hosts(target: Target) -> None:
    ours = str(Path("/proc/self/ns/net").readlink())
    assert target.tell("os.readlink('/proc/self/ns/net')") not in (ours, "ENOENT")
    assert target.tell("os.listdir('/sys')") in ([], "ENOENT")
