"""What the host sees of the Docker backend: containers, their locks, and that they go away."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import DockerSettings, ImageSettings, Settings
from grader.model import MiB
from grader.model.errors import ImageNotFoundError, SandboxUnavailableError
from grader.sandbox import images
from grader.sandbox.connection import PowerlessSlotError
from grader.sandbox.contract import MAX_PROCESSES, MEMORY_OVERHEAD_BYTES, Program, RunBatch
from grader.sandbox.docker import hardening
from grader.sandbox.docker.backend import OWNER_LABEL, DockerSandbox, DockerTransport
from grader.sandbox.docker.engine import Engine, EngineInfo
from grader.sandbox.owner import Owner
from sandbox_images.harness.kernel.syscalls import CANDIDATE_ALLOWED, SUPERVISOR_EXTRA
from tests.conftest import docker_settings

pytestmark = pytest.mark.docker

MEMORY_BYTES = 128 * MiB
UID = 23_456


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    request.getfixturevalue("docker_sandbox")  # skips or fails if there is no engine
    engine = Engine.connect()
    yield engine
    engine.close()


Start = Callable[..., DockerTransport]


@pytest.fixture
def start(engine: Engine) -> Iterator[Start]:
    """Start a container that is locked as a slot's is but runs a command of the test's."""
    started: list[DockerTransport] = []

    def start_one(*command: str, label: str = "") -> DockerTransport:
        body = hardening.create_body(
            hardening.SlotContainer(
                image=images.image_name("python", docker_settings()),
                memory_bytes=MEMORY_BYTES,
                uid=UID,
                seccomp_profile=hardening.seccomp_profile(CANDIDATE_ALLOWED | SUPERVISOR_EXTRA),
                labels={OWNER_LABEL: label or Owner.current().label},
            )
        )
        container = engine.create({**body, "Cmd": list(command)})
        started.append(
            DockerTransport(engine, container, engine.attach(container), on_kill=lambda _: None)
        )
        engine.start(container)
        return started[-1]

    yield start_one
    for transport in started:
        transport.kill()


def read_all(transport: DockerTransport, size: int = 65536) -> bytes:
    return b"".join(iter(lambda: transport.receive(size, math.inf), b""))


# ---------------------------------------------------------------- locks


def shell(start: Start, script: str) -> str:
    return read_all(start("sh", "-c", script)).decode()


def test_nothing_in_a_slot_is_writable(start: Start) -> None:
    found = shell(start, "find / -xdev -writable ! -type l; find /dev -writable ! -type l")
    writable = {path for path in found.split() if not path.startswith(("/proc/", "/sys/"))}
    devices = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/ptmx"}
    assert writable <= {f"/dev/{name}" for name in devices}


def test_supervisor_is_an_ordinary_user_without_capabilities(start: Start) -> None:
    status = shell(start, "cat /proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert fields["Uid"].split() == [str(UID)] * 4
    assert {int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapBnd", "CapAmb")} == {0}
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


def test_slot_has_no_network_interface_but_its_own_loop(start: Start) -> None:
    assert shell(start, "ls /sys/class/net").split() == ["lo"]


def test_kernel_settings_cannot_be_changed(start: Start) -> None:
    script = "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do echo 1 >$f; done"
    assert shell(start, f"{script} 2>/dev/null; id -u") == f"{UID}\n"
    assert "core_pattern: Permission denied" in shell(
        start, "exec 2>&1; echo 1 >/proc/sys/kernel/core_pattern"
    )


@pytest.mark.parametrize(
    ("expression", "errno"),
    [
        pytest.param("os.open('/proc/self/mem', os.O_RDONLY) and 0", 0, id="allowed"),
        pytest.param("libc.syscall(250, 0, 0, 0, 0, 0)", 1, id="keyctl"),
        pytest.param("libc.syscall(321, 0, 0, 0)", 1, id="bpf"),
        pytest.param("libc.syscall(425, 1, 0)", 1, id="io_uring_setup"),
        pytest.param("libc.syscall(435, 0, 0)", 38, id="clone3"),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_system_calls_off_the_list_are_refused(start: Start, expression: str, errno: int) -> None:
    program = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"{expression}\n"
        "print(ctypes.get_errno())"
    )
    printed = int(read_all(start("python3", "-I", "-S", "-c", program)))
    # Engines from 23.0 on answer whatever is not on the list with ENOSYS.
    assert printed in ({errno, 38} if errno else {0})


def test_memory_has_a_limit_and_no_swap(engine: Engine, docker_sandbox: DockerSandbox) -> None:
    before = own_containers(engine)
    slot = docker_sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    try:
        (opened,) = own_containers(engine) - before
        host = inspect(engine, opened)["HostConfig"]
    finally:
        slot.close()
    assert host["Memory"] == host["MemorySwap"] == MEMORY_BYTES + MEMORY_OVERHEAD_BYTES
    assert host["PidsLimit"] == MAX_PROCESSES


def test_slots_run_as_different_users(engine: Engine, docker_sandbox: DockerSandbox) -> None:
    before = own_containers(engine)
    slots = [docker_sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES) for _ in range(2)]
    try:
        opened = own_containers(engine) - before
        users = {inspect(engine, found)["Config"]["User"] for found in opened}
    finally:
        for slot in slots:
            slot.close()
    assert len(users) == 2


def inspect(engine: Engine, container: str) -> dict[str, Any]:
    details: dict[str, Any] = engine._client.inspect_container(container)
    return details


def own_containers(engine: Engine) -> set[str]:
    return set(engine.containers(f"{OWNER_LABEL}={Owner.current().label}"))


# ---------------------------------------------------------------- the stream


def test_stream_separates_output_from_log(start: Start) -> None:
    transport = start("sh", "-c", "echo one; echo oops >&2; echo two")
    assert read_all(transport) == b"one\ntwo\n"
    assert transport.log_tail() == "oops\n"


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_stream_is_whole_in_pieces_of_any_size(start: Start, size: int) -> None:
    transport = start("sh", "-c", "for n in 1 2 3 4 5; do echo $n; echo log >&2; done")
    assert read_all(transport, size) == b"1\n2\n3\n4\n5\n"


def test_stream_carries_megabytes_both_ways(start: Start) -> None:
    data = os.urandom(1 << 20) * 8
    transport = start("head", "-c", str(len(data)))
    sender = threading.Thread(target=transport.send, args=(data, math.inf))
    sender.start()
    assert read_all(transport) == data
    sender.join()


def test_log_is_bounded_to_its_tail(start: Start) -> None:
    transport = start("sh", "-c", "seq 1 20000 >&2")
    assert read_all(transport) == b""
    assert transport.log_tail().endswith("\n19999\n20000\n")
    assert len(transport.log_tail()) <= 8192


def test_sending_to_a_dead_container_is_unavailable(start: Start, engine: Engine) -> None:
    transport = start("sleep", "60")
    engine.remove(transport.container)
    with pytest.raises(SandboxUnavailableError):
        send_for_a_while(transport)


def send_for_a_while(transport: DockerTransport) -> None:
    deadline = time.monotonic() + 30.0
    while time.monotonic() < deadline:
        transport.send(bytes(1 << 16), deadline)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda slot, deadline: slot.receive(1, deadline), id="receive"),
        pytest.param(lambda slot, deadline: slot.send(bytes(1 << 24), deadline), id="send"),
    ],
)
def test_container_that_does_not_answer_is_unavailable_at_the_deadline(
    start: Start, act: Callable[[DockerTransport, float], object]
) -> None:
    with pytest.raises(SandboxUnavailableError, match="does not answer"):
        act(start("sleep", "60"), time.monotonic() + 0.1)


# ---------------------------------------------------------------- nothing is left behind

OWNER_PROGRAM = """
import time
from grader.config.loading import load_settings
from grader.sandbox.docker.backend import DockerSandbox
slot = DockerSandbox(load_settings().settings).open_slot(image="python", memory_bytes=1 << 27)
print("open", flush=True)
time.sleep(60)
"""


def test_container_of_a_killed_grader_goes_away(
    engine: Engine, repo_dir: Path, eventually: Callable[[Callable[[], bool], float], None]
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER_PROGRAM], cwd=repo_dir, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"open\n"
        prefix = f"{Owner.current().machine}/{owner.pid}/"

        def theirs() -> list[str]:
            found = engine.containers(OWNER_LABEL)
            return [c for c, labels in found.items() if labels[OWNER_LABEL].startswith(prefix)]

        assert len(theirs()) == 1
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: theirs() == [], 30)


@pytest.mark.parametrize(
    ("change", "swept"),
    [
        pytest.param({"pid": 2**22 + 1}, True, id="process gone"),
        pytest.param({"started": "1"}, True, id="number taken by another process"),
        pytest.param({}, False, id="alive"),
        pytest.param({"machine": "elsewhere", "pid": 2**22 + 1}, False, id="another machine"),
    ],
)
def test_new_sandbox_removes_only_containers_of_the_dead(
    start: Start,
    engine: Engine,
    change: dict[str, Any],
    swept: bool,
) -> None:
    owner = replace(Owner.current(), **change)
    transport = start("cat", label=owner.label)
    with closing(DockerSandbox(docker_settings())) as sandbox:
        sandbox.environment("python")  # connects
    assert engine.exists(transport.container) is not swept


def test_slot_that_cannot_start_leaves_no_container(engine: Engine) -> None:
    before = own_containers(engine)
    sandbox = DockerSandbox(replace(docker_settings(), docker=DockerSettings(runtime="nosuch")))
    with pytest.raises(SandboxUnavailableError, match="does not know this runtime"):
        sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    sandbox.close()
    assert own_containers(engine) == before


# ---------------------------------------------------------------- images


def test_missing_image_names_the_command_that_builds_it() -> None:
    sandbox = DockerSandbox(Settings(images=ImageSettings(python="grader-nosuch:python")))
    with pytest.raises(ImageNotFoundError, match="run `grader images build python`"):
        sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    sandbox.close()


def test_image_without_the_harness_is_refused() -> None:
    sandbox = DockerSandbox(Settings(images=ImageSettings(python=images.DEFAULT_BASE)))
    with pytest.raises(ImageNotFoundError, match="no harness of this grader"):
        sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    sandbox.close()


def test_python_in_the_image_has_its_library_compiled(start: Start) -> None:
    program = (
        "import json, pathlib, sysconfig\n"
        "roots = [sysconfig.get_path('stdlib'), '/opt/grader']\n"
        "sources = [p for r in roots for p in pathlib.Path(r).rglob('*.py')]\n"
        "missing = [str(p) for p in sources if not list(\n"
        "    (p.parent / '__pycache__').glob(p.stem + '.cpython-*.pyc'))]\n"
        "print(len(sources) > 500, missing)"
    )
    assert read_all(start("python3", "-c", program)) == b"True []\n"


def test_slot_survives_a_batch_with_no_runs(docker_sandbox: DockerSandbox) -> None:
    slot = docker_sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    batch = RunBatch(program=Program.STDIN, source="", runs=(), limits=Settings().limits)
    assert list(slot.run(batch)) == []
    slot.close()


class UsualProfileSandbox(DockerSandbox):
    """Opens slots under Docker's own seccomp profile, which refuses namespaces."""

    bodies: list[dict[str, Any]]

    def _body(self, info: EngineInfo, image: str, memory_bytes: int) -> dict[str, Any]:
        body: dict[str, Any] = super()._body(info, image, memory_bytes)
        body["HostConfig"]["SecurityOpt"] = ["no-new-privileges:true"]
        self.bodies.append(body)
        return body


@pytest.mark.usefixtures("docker_sandbox")
def test_slot_gets_no_power_over_the_hosts_kernel_where_namespaces_are_refused() -> None:
    with closing(UsualProfileSandbox(docker_settings())) as sandbox:
        sandbox.bodies = []
        with pytest.raises(PowerlessSlotError, match="Operation not permitted"):
            sandbox.open_slot(image="python", memory_bytes=MEMORY_BYTES)
    (body,) = sandbox.bodies
    assert "CapAdd" not in body["HostConfig"]
    assert body["User"] != "0:0"
