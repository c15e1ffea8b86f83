"""What a jail shows of the machine."""

import json
import sys
from pathlib import Path

import pytest

from grader.model.errors import ImageNotFoundError
from grader.sandbox.native.jail_plan import HARNESS, make_plan, warden_command
from sandbox_images.harness.lock_in.jail import JailPlan


@pytest.fixture
def plan() -> JailPlan:
    return make_plan(image="python", uid=1234, cgroups={"/sys/fs/cgroup": "/groups/slot"})


def test_nothing_personal_is_shown(plan: JailPlan) -> None:
    base = Path(sys.base_prefix).resolve()
    for outside in map(Path, plan.binds.values()):
        top = outside.parts[1]
        known = (
            outside.is_relative_to(base)
            or outside.name == "site-packages"
            or outside.is_relative_to(HARNESS.parent)
            or top in ("usr", "groups", *(f"lib{x}" for x in ("", "32", "64", "x32")))
            or top in ("bin", "sbin")
            or str(outside) in ("/etc/alternatives", "/etc/ld.so.cache")
            or str(outside).startswith("/etc/python3")
        )
        assert known, outside


def test_places_of_the_runs_are_not_covered(plan: JailPlan) -> None:
    for inside in plan.binds:
        assert not inside.startswith(("/tmp/", "/work/", "/box/", "/dev/", "/proc/"))  # noqa: S108
    assert {"/work", "/tmp", "/dev/shm", "/box"} <= set(plan.folders)  # noqa: S108


def test_nothing_is_shown_from_below_the_stage(plan: JailPlan) -> None:
    assert not any(Path(o).is_relative_to(plan.stage) for o in plan.binds.values())


def test_supervisor_is_started_with_the_folder_that_holds_pytest(plan: JailPlan) -> None:
    python, *options, role, site_folder = plan.command
    assert options == ["-I", "-S", "/opt/grader/sandbox_images/harness/__main__.py"]
    assert role == "supervisor"
    shown = Path(next(o for i, o in plan.binds.items() if Path(site_folder).is_relative_to(i)))
    assert (shown / "pytest").is_dir() or site_folder.startswith("/usr")
    assert any(Path(python).is_relative_to(inside) for inside in plan.binds)


def test_interpreter_where_runs_mount_over_it_is_shown_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prefix = Path("/tmp/grader-test-prefix")  # noqa: S108 - never made
    monkeypatch.setattr(sys, "base_prefix", str(prefix))
    monkeypatch.setattr(sys, "_base_executable", str(prefix / "bin" / "python3"))
    plan = make_plan(image="python", uid=None, cgroups={})
    assert plan.command[0] == "/opt/python/bin/python3"
    assert plan.binds["/opt/python"] == str(prefix)
    assert plan.links["/usr/local/bin/python3"] == "/opt/python/bin/python3"


def test_cgroups_are_joined_and_shown(plan: JailPlan) -> None:
    assert plan.cgroups == ["/groups/slot"]
    assert plan.binds["/sys/fs/cgroup"] == "/groups/slot"


def test_plan_travels_as_json(plan: JailPlan) -> None:
    assert JailPlan(**json.loads(warden_command(plan)[-1])) == plan


def test_missing_package_of_a_variant_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "path_importer_cache", {})
    for name in [name for name in sys.modules if name.partition(".")[0] == "numpy"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImageNotFoundError, match="needs numpy: pip install numpy"):
        make_plan(image="science", uid=None, cgroups={})
