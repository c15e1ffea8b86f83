"""The counters, read from recorded cgroup folders of both versions.

Version 1 was recorded on Linux 6.18 in a group that held one process killed for want of memory,
10 MiB of live memory and an 8 MiB file in the cache. Version 2 has the form of the kernel's
documentation (Documentation/admin-guide/cgroup-v2.rst) and lines as Linux 6.18 prints them.
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox_images.harness.kernel.cgroup import CgroupReader, open_reader

VERSION_1 = {
    "memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory/memory.limit_in_bytes": "67108864\n",
    "memory/memory.max_usage_in_bytes": "67108864\n",
    "memory/memory.memsw.limit_in_bytes": "9223372036854771712\n",
    "memory/memory.memsw.max_usage_in_bytes": "67108864\n",
    "memory/memory.usage_in_bytes": "29962240\n",
    "memory/memory.stat": (
        "cache 8396800\nrss 21012480\nrss_huge 0\nshmem 0\nmapped_file 0\ndirty 8392704\n"
        "inactive_anon 20918272\nactive_anon 0\ninactive_file 8392704\nactive_file 4096\n"
        "unevictable 0\nhierarchical_memory_limit 67108864\n"
        "hierarchical_memsw_limit 9223372036854771712\ntotal_cache 8396800\ntotal_rss 21012480\n"
        "total_shmem 0\ntotal_inactive_anon 20918272\ntotal_active_anon 0\n"
        "total_inactive_file 8392704\ntotal_active_file 4096\ntotal_unevictable 0\n"
    ),
    "cpuacct/cpuacct.usage": "93902546\n",
}

VERSION_2 = {
    "memory.events": "low 0\nhigh 0\nmax 12\noom 2\noom_kill 2\noom_group_kill 0\n",
    "memory.current": "31457280\n",
    "memory.stat": (
        "anon 20971520\nfile 10485760\nkernel 1048576\nshmem 1048576\ninactive_anon 22020096\n"
        "active_anon 0\ninactive_file 8388608\nactive_file 1048576\nunevictable 0\n"
        "slab_reclaimable 524288\nslab_unreclaimable 262144\nslab 786432\n"
    ),
    "cpu.stat": (
        "usage_usec 19299336\nuser_usec 9495787\nsystem_usec 9803548\nnice_usec 0\n"
        "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
    ),
}


def record(root: Path, files: Mapping[str, str]) -> str:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return str(root)


def opened(root: Path, files: Mapping[str, str]) -> CgroupReader:
    reader = open_reader(record(root, files))
    assert reader is not None
    return reader


def test_version_1_counters(tmp_path: Path) -> None:
    reader = opened(tmp_path, VERSION_1)
    assert (reader.version, reader.oom_kills(), reader.limit_hits()) == (1, 1, 1)
    assert reader.cpu_time_s() == pytest.approx(0.093902546)
    assert reader.memory_bytes() == 29962240 - 8392704 - 4096


def test_version_2_counters(tmp_path: Path) -> None:
    reader = opened(tmp_path, VERSION_2)
    assert (reader.version, reader.oom_kills(), reader.limit_hits()) == (2, 2, 2)
    assert reader.cpu_time_s() == pytest.approx(19.299336)
    assert reader.memory_bytes() == 31457280 - 8388608 - 1048576 - 524288


def test_each_look_sees_the_counters_as_they_are_now(tmp_path: Path) -> None:
    reader = opened(tmp_path, VERSION_2)
    assert reader.oom_kills() == 2
    record(tmp_path, {"memory.events": "oom_kill 3\n"})
    assert reader.oom_kills() == 3


@pytest.mark.parametrize("name", ["cpu,cpuacct", "cpuacct,cpu"])
def test_version_1_controllers_mounted_together_are_found(tmp_path: Path, name: str) -> None:
    files = {k.replace("cpuacct/", f"{name}/"): v for k, v in VERSION_1.items()}
    assert opened(tmp_path, files).cpu_time_s() == pytest.approx(0.093902546)


@pytest.mark.parametrize(
    ("most", "hits"),
    [
        pytest.param({"": "67104768", "memsw.": "0"}, 1, id="memory but for a page"),
        pytest.param({"": "60000000", "memsw.": "9223372036854771712"}, 1, id="memory and swap"),
        pytest.param({"": "67108864"}, 1, id="no accounts of swap"),
        pytest.param({"": "60000000", "memsw.": "60000000"}, 0, id="never"),
    ],
)
def test_kills_of_version_1_count_if_it_was_ever_full(
    tmp_path: Path, most: Mapping[str, str], hits: int
) -> None:
    files = {
        name: text for name, text in VERSION_1.items() if "memsw" not in name or "memsw." in most
    }
    files |= {f"memory/memory.{kind}max_usage_in_bytes": text for kind, text in most.items()}
    assert opened(tmp_path, files).limit_hits() == hits


def test_cache_larger_than_a_stale_usage_is_no_negative_memory(tmp_path: Path) -> None:
    files = {**VERSION_2, "memory.current": "4096\n"}
    assert opened(tmp_path, files).memory_bytes() == 0


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="nothing mounted"),
        pytest.param({"cpu.stat": VERSION_2["cpu.stat"]}, id="root of version 2"),
        pytest.param({**VERSION_1, "memory/release_agent": "\n"}, id="root of version 1, memory"),
        pytest.param({**VERSION_1, "cpuacct/release_agent": "\n"}, id="root of version 1, cpu"),
        pytest.param(
            {k: v for k, v in VERSION_1.items() if not k.startswith("cpu")}, id="no cpu accounting"
        ),
        pytest.param(
            {"memory/memory.usage_in_bytes": "1\n", "cpuacct/cpuacct.usage": "1\n"},
            id="no oom counter",
        ),
    ],
)
def test_counters_that_are_not_the_slots_own_are_not_read(
    tmp_path: Path, files: Mapping[str, str]
) -> None:
    assert open_reader(record(tmp_path, files)) is None


def test_group_that_vanished_raises_os_error(tmp_path: Path) -> None:
    reader = opened(tmp_path, VERSION_1)
    (tmp_path / "memory" / "memory.oom_control").unlink()
    with pytest.raises(OSError, match=r"memory\.oom_control"):
        reader.oom_kills()
