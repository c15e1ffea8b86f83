"""Finding a place for slots' cgroups, on recorded machines of both versions."""

from pathlib import Path

import pytest

from grader.sandbox.native.cgroups import CgroupHome, find_home
from grader.sandbox.owner import Owner

DEAD = Owner(machine=Owner.current().machine, pid=2**22 + 1, started="1")


def mountinfo(folder: Path, *mounts: tuple[str, str, str]) -> Path:
    """Write a mountinfo file: kind, place and options of each mount, as Linux 6.18 prints them."""
    lines = [
        f"{number} 27 0:{number} / {place} rw,relatime - {kind} cgroup {options}\n"
        for number, (kind, place, options) in enumerate(mounts, 30)
    ]
    file = folder / "mountinfo"
    file.write_text("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n" + "".join(lines))
    return file


def membership(folder: Path, text: str) -> Path:
    file = folder / "cgroup"
    file.write_text(text)
    return file


def version_2(root: Path, *groups: str) -> None:
    """Make folders with the files of a version 2 hierarchy, all of them delegated to us."""
    for group in groups:
        folder = root / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
        (folder / "cgroup.subtree_control").write_text("memory pids\n")
        (folder / "cgroup.procs").write_text("")


def test_version_1_takes_a_folder_per_controller(tmp_path: Path) -> None:
    for name in ("memory", "pids", "cpu,cpuacct"):
        (tmp_path / name).mkdir()
    mounts = mountinfo(
        tmp_path,
        ("cgroup", str(tmp_path / "memory"), "rw,memory"),
        ("cgroup", str(tmp_path / "pids"), "rw,pids"),
        ("cgroup", str(tmp_path / "cpu,cpuacct"), "rw,cpu,cpuacct"),
        ("cgroup2", str(tmp_path / "unified"), "rw"),
    )
    home = find_home(mounts, membership(tmp_path, "4:memory:/a\n0::/\n"))
    assert isinstance(home, CgroupHome)
    assert home.version == 1
    assert home.folders == {
        "/sys/fs/cgroup/memory": tmp_path / "memory" / "grader",
        "/sys/fs/cgroup/pids": tmp_path / "pids" / "grader",
        "/sys/fs/cgroup/cpuacct": tmp_path / "cpu,cpuacct" / "grader",
    }


def test_version_2_takes_the_topmost_group_that_is_delegated(tmp_path: Path) -> None:
    root = tmp_path / "root"
    version_2(root, "", "user.slice", "user.slice/user@1000.service", "user.slice/app.scope")
    # An ordinary user may write no more than the group of its own service manager.
    (root / "cgroup.procs").unlink()
    (root / "user.slice" / "cgroup.procs").unlink()
    mounts = mountinfo(tmp_path, ("cgroup2", str(root), "rw,nsdelegate"))
    own = "0::/user.slice/user@1000.service/app.slice/run.scope\n"
    home = find_home(mounts, membership(tmp_path, own))
    assert isinstance(home, CgroupHome)
    service = root / "user.slice" / "user@1000.service"
    assert (home.version, home.folders) == (2, {"/sys/fs/cgroup": service / "grader"})
    assert (service / "grader" / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_version_2_without_delegation_says_so(tmp_path: Path) -> None:
    root = tmp_path / "root"
    version_2(root, "")
    (root / "cgroup.procs").unlink()
    mounts = mountinfo(tmp_path, ("cgroup2", str(root), "rw"))
    home = find_home(mounts, membership(tmp_path, "0::/init.scope\n"))
    assert home == "none of the groups of this process is delegated to it"


@pytest.mark.parametrize(
    "kinds",
    [pytest.param((), id="none"), pytest.param(("cgroup2",), id="version 2 without controllers")],
)
def test_machine_without_controllers_says_so(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    mounts = mountinfo(tmp_path, *((kind, str(tmp_path), "rw") for kind in kinds))
    home = find_home(mounts, membership(tmp_path, "0::/\n"))
    assert home == "no cgroup hierarchy with memory and pids controllers is mounted"


def test_slot_group_gets_its_limits_and_the_owner_in_its_name(tmp_path: Path) -> None:
    version_2(tmp_path, "")
    home = CgroupHome(version=2, folders={"/sys/fs/cgroup": tmp_path / "grader"})
    group = home.create(memory_bytes=1000, processes=10)
    (folder,) = group.folders.values()
    assert folder.parent == tmp_path / "grader"
    assert folder.name.startswith(Owner.current().label.replace("/", ",") + ".")
    group.remove()
    assert not folder.exists()
    group.remove()


def test_sweep_removes_the_groups_of_dead_graders_only(tmp_path: Path) -> None:
    home = CgroupHome(version=2, folders={"/sys/fs/cgroup": tmp_path / "grader"})
    names = {
        "dead": DEAD.label.replace("/", ",") + ".0",
        "alive": Owner.current().label.replace("/", ",") + ".0",
        "elsewhere": "another-boot:1,1,1.0",
        "no number": DEAD.label.replace("/", ","),
        "strange": "made-by-hand",
    }
    for name in names.values():
        (tmp_path / "grader" / name).mkdir(parents=True)
    home.sweep()
    left = {path.name for path in (tmp_path / "grader").iterdir()}
    assert left == set(names.values()) - {names["dead"]}


def test_home_of_another_grader_stays(tmp_path: Path) -> None:
    home = CgroupHome(version=2, folders={"/sys/fs/cgroup": tmp_path / "grader"})
    (tmp_path / "grader" / "slot").mkdir(parents=True)
    home.close()
    assert (tmp_path / "grader" / "slot").exists()
    (tmp_path / "grader" / "slot").rmdir()
    home.close()
    assert not (tmp_path / "grader").exists()
