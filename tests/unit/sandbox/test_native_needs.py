"""What prevents jails, read from recorded settings of the kernel."""

from pathlib import Path

import pytest

from grader.sandbox.native import needs


def switches(folder: Path, values: dict[str, str]) -> Path:
    for name, value in values.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"{value}\n")
    return folder


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        pytest.param(
            {"kernel/unprivileged_userns_clone": "0"},
            "sysctl -w kernel.unprivileged_userns_clone=1",
            id="Debian 10",
        ),
        pytest.param(
            {"kernel/apparmor_restrict_unprivileged_userns": "1"},
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            id="Ubuntu 24.04",
        ),
        pytest.param(
            {"user/max_user_namespaces": "0"},
            "sysctl -w user.max_user_namespaces=15000",
            id="hardened Red Hat",
        ),
    ],
)
def test_switch_that_forbids_namespaces_is_named_with_its_remedy(
    tmp_path: Path, values: dict[str, str], remedy: str
) -> None:
    found = needs.obstacle(switches(tmp_path, values))
    assert found is not None
    assert found.endswith(f"as root: {remedy}")


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="no switches"),
        pytest.param({"user/max_user_namespaces": "96365"}, id="Debian 12"),
        pytest.param(
            {
                "kernel/unprivileged_userns_clone": "1",
                "kernel/apparmor_restrict_unprivileged_userns": "0",
                "user/max_user_namespaces": "127456",
            },
            id="Ubuntu, allowed",
        ),
    ],
)
def test_switches_that_allow_namespaces_are_no_obstacle(
    tmp_path: Path, values: dict[str, str]
) -> None:
    assert needs.obstacle(switches(tmp_path, values)) is None


def test_advice_in_a_container_is_what_to_start_it_with(tmp_path: Path) -> None:
    assert needs.advice(tmp_path) == ""
    (tmp_path / ".dockerenv").touch()
    assert "--security-opt seccomp=unconfined" in needs.advice(tmp_path)
    assert "systempaths=unconfined" in needs.advice(tmp_path)
