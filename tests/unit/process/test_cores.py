import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.process.cores import usable_cores


def hierarchy(folder: Path, membership: str, files: Mapping[str, str]) -> tuple[Path, Path]:
    """Lay out recorded cgroup files and return what `usable_cores` takes."""
    proc, root = folder / "cgroup", folder / "fs"
    proc.write_text(membership)
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return proc, root


AFFINITY = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("membership", "files", "cores"),
    [
        pytest.param("0::/a\n", {"a/cpu.max": "100000 100000\n"}, 1, id="v2, one core"),
        pytest.param("0::/a\n", {"a/cpu.max": "50000 100000\n"}, 1, id="v2, half a core"),
        pytest.param("0::/a\n", {"a/cpu.max": "max 100000\n"}, AFFINITY, id="v2, no quota"),
        pytest.param("0::/a/b\n", {"a/cpu.max": "100000 100000\n"}, 1, id="v2, of a parent"),
        pytest.param(
            "0::/a\n", {"cpu.max": "100000 100000\n"}, 1, id="v2, own root in a container"
        ),
        pytest.param(
            "4:cpu,cpuacct:/a\n0::/\n",
            {"cpu/a/cpu.cfs_quota_us": "80000\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
            1,
            id="v1, a quota",
        ),
        pytest.param(
            "4:cpu,cpuacct:/a\n",
            {"cpu/a/cpu.cfs_quota_us": "-1\n", "cpu/a/cpu.cfs_period_us": "100000\n"},
            AFFINITY,
            id="v1, no quota",
        ),
        pytest.param(
            "5:cpuset:/a\n", {"cpu/a/cpu.cfs_quota_us": "1\n"}, AFFINITY, id="not the cpu"
        ),
    ],
)
def test_quota_limits_the_cores(
    tmp_path: Path, membership: str, files: Mapping[str, str], cores: int
) -> None:
    assert usable_cores(*hierarchy(tmp_path, membership, files)) == cores


def test_no_cgroups_leave_the_affinity(tmp_path: Path) -> None:
    assert usable_cores(tmp_path / "absent", tmp_path) == AFFINITY
