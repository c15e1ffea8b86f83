"""The create body and the seccomp profile, as data."""

import json
from dataclasses import replace

from grader.model import MiB
from grader.sandbox.contract import MEMORY_OVERHEAD_BYTES
from grader.sandbox.docker.hardening import (
    SlotContainer,
    create_body,
    seccomp_profile,
)

CONTAINER = SlotContainer(
    image="sha256:1", memory_bytes=100 * MiB, uid=23_456, seccomp_profile='{"defaultAction":"x"}'
)


def test_body_shuts_every_door() -> None:
    host = create_body(CONTAINER)["HostConfig"]
    assert host["NetworkMode"] == "none"
    assert host["ReadonlyRootfs"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true", 'seccomp={"defaultAction":"x"}']
    assert host["Memory"] == host["MemorySwap"] == 100 * MiB + MEMORY_OVERHEAD_BYTES
    assert host["LogConfig"] == {"Type": "none"}
    assert all("ro," in options for options in host["Tmpfs"].values())
    assert not {"Binds", "Mounts", "Devices", "CapAdd", "Privileged"} & host.keys()


def test_body_asks_for_an_ordinary_user() -> None:
    assert create_body(CONTAINER)["User"] == "23456:23456"


def test_container_ends_with_its_owner() -> None:
    body = create_body(CONTAINER)
    assert (body["OpenStdin"], body["StdinOnce"]) == (True, True)
    assert body["HostConfig"]["AutoRemove"] is True


def test_options_appear_only_when_given() -> None:
    plain = create_body(CONTAINER)["HostConfig"]
    assert not {"Runtime", "NanoCpus"} & plain.keys()
    given = replace(CONTAINER, runtime="runsc", cpus=0.5, apparmor_profile="unconfined")
    host = create_body(given)["HostConfig"]
    assert (host["Runtime"], host["NanoCpus"]) == ("runsc", 500_000_000)
    assert "apparmor=unconfined" in host["SecurityOpt"]


def test_profile_allows_what_is_listed_and_nothing_else() -> None:
    profile = json.loads(seccomp_profile(["write", "read", "read"]))
    allowed, refused = profile["syscalls"]
    assert allowed == {"names": ["read", "write"], "action": "SCMP_ACT_ALLOW"}
    assert (profile["defaultAction"], profile["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    assert (refused["action"], refused["errnoRet"]) == ("SCMP_ACT_ERRNO", 38)
    assert "clone3" in refused["names"]


def test_profile_does_not_refuse_what_it_allows() -> None:
    allowed, refused = json.loads(seccomp_profile(["clone3"]))["syscalls"]
    assert "clone3" in allowed["names"]
    assert "clone3" not in refused["names"]
