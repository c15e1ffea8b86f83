"""The how-to pages: their commands run, and their programs print what the pages say."""

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from shutil import copy, copytree
from typing import TYPE_CHECKING

import pytest

from tests.commands import Run, read_rows, write_rows
from tests.compilers import need
from tests.guides import assert_as_expected, blocks, run_python, section, walk, write_examples

if TYPE_CHECKING:
    from grader.sandbox.docker.backend import DockerSandbox

pytestmark = pytest.mark.usefixtures("native_sandbox")


@pytest.fixture
def guides(repo_dir: Path) -> Path:
    return repo_dir / "docs/how-to"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A folder with some problems and samples."""
    write_examples(tmp_path)
    return tmp_path


@pytest.mark.docker
def test_mac_grades_in_the_virtual_machine_of_a_docker_engine(
    docker_sandbox: "DockerSandbox", guides: Path, examples: Path, environment: dict[str, str]
) -> None:
    instead = {
        "python3 -m venv .venv\nsource .venv/bin/activate\n": "",
        "pip install '/path/to/this/checkout[docker,report]'\n": "",
        "grader images build\n": "",  # the images are those of all tests
        "grader grade": f"grader grade --sandbox {docker_sandbox.name}",
    }
    del environment["GRADER_SANDBOX"]
    text = section(guides / "macos-and-windows.md", "macOS")
    printed = walk(text, examples, environment, instead=instead, module="tests.as_macos grader")
    assert "\nReady: docker, " in printed
    assert_as_expected(examples / "out.jsonl")


def test_packages_are_carried_to_a_machine_without_an_index(
    repo_dir: Path, guides: Path, examples: Path, environment: dict[str, str]
) -> None:
    instead = {
        # Quicker: what makes wheels is here already, and the new environment needs no pip.
        "pip wheel": f"{sys.executable} -m pip wheel --quiet --no-build-isolation",
        "/path/to/this/checkout": str(repo_dir),
        "python3 -m venv": f"{sys.executable} -m venv --without-pip",
        "pip install": f"{sys.executable} -m pip --python .venv install --quiet",
        "grader doctor": ".venv/bin/grader --version",
        "grader grade": ".venv/bin/grader grade",
    }
    del environment["PYTHONPATH"]
    text = (guides / "air-gapped.md").read_text()
    printed = walk(text, examples, environment, instead=instead)
    assert f"\ngrader {version('grader-rl')}" in printed
    assert_as_expected(examples / "out.jsonl")
    # The trainer may also name the installed file by its path.
    (installed,) = examples.glob(".venv/lib/*/site-packages/grader/reward_func.py")
    tried = ["try", str(installed), "problems.jsonl"]
    done = subprocess.run(
        [examples / ".venv/bin/grader", *tried],
        cwd=examples,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.count("reward +1.0000") == 3, done.stdout + done.stderr


APPTAINER = """#!/bin/sh -eu
# What `apptainer exec IMAGE COMMAND...` gives: see the end of docs/how-to/without-root.md.
[ "$1" = exec ] || exit 0
shift 2
exec unshare --map-root-user --mount sh -euc '
    mount --bind "$PWD" "$PWD"
    mount -o remount,bind,ro /
    cd "$PWD"
    ! touch /written 2>/dev/null
    exec unshare --user --map-user=1000 --map-group=1000 setpriv --no-new-privs "$@"' sh "$@"
"""


def test_ordinary_user_grades_in_apptainer(
    guides: Path, examples: Path, environment: dict[str, str]
) -> None:
    text = section(guides / "without-root.md", "Apptainer")
    printed = walk(text, examples, environment, programs={"apptainer": APPTAINER})
    assert "\nReady: native, " in printed
    assert_as_expected(examples / "out.jsonl")


def test_upgrade_shows_which_verdicts_change(
    guides: Path, examples: Path, environment: dict[str, str]
) -> None:
    instead = {
        "git -C /path/to/this/checkout pull\n": "",
        "pip install -e '/path/to/this/checkout[docker,report]'\n": "",
        "grader images build\n": "",
        # As if the new version looked for no code blocks.
        "-o new.jsonl": "-o new.jsonl --set extraction=verbatim",
    }
    text = (guides / "upgrade.md").read_text()
    printed = walk(text, examples, environment, instead=instead)
    assert "\n3 samples in both: " in printed
    assert " 0 now pass, 1 no longer do" in printed


def test_policy_of_the_how_to_rewards_speed(
    guides: Path, examples: Path, environment: dict[str, str]
) -> None:
    text = section(guides / "reward.md", "A policy")
    (policy,) = blocks(text, "python")
    (examples / "my_policy.py").write_text(policy)
    copy(examples / "problems.jsonl", examples / "prompts.jsonl")
    walk(text, examples, environment)
    assert_as_expected(examples / "out.jsonl")
    rewards = {
        row["report"]["verdict"]: row["report"]["reward"]
        for row in read_rows(examples / "out.jsonl")
    }
    assert rewards.pop("passed") > 0.8
    assert max(rewards.values()) < 0.8


def test_problem_package_becomes_a_problem(
    repo_dir: Path, guides: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    copytree(repo_dir / "examples/factors", tmp_path / "factors")
    printed = walk((guides / "problem-package.md").read_text(), tmp_path, environment)
    assert "factors: 3 of 3 submissions agree" in printed
    verdicts = [row["report"]["verdict"] for row in read_rows(tmp_path / "out.jsonl")]
    assert sorted(verdicts) == ["failed", "passed"]


def test_newcomer_grades_cpp_with_two_commands(
    repo_dir: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    need("cpp")
    page, _, _ = (repo_dir / "docs/languages.md").read_text().partition("\n## ")
    (row,) = blocks(page, "json")
    (tmp_path / "samples.jsonl").write_text(row)
    (commands,) = blocks(page, "sh")
    assert len(commands.splitlines()) == 2
    assert "AC Passed" in walk(page, tmp_path, environment)


def test_checker_of_the_how_to_judges_as_its_table_says(
    guides: Path, tmp_path: Path, run: Run
) -> None:
    page = (guides / "checker.md").read_text()
    labels = [
        {**label, "inputs": label["inputs"][:1], "outputs": label["outputs"][:1]}
        for label in map(json.loads, blocks(page, "json"))
    ]
    assert len(labels) == 3
    table = re.findall(r"^\| `(.*?)` \| `(passed|failed)`", page, re.MULTILINE)
    assert len(table) == 3
    samples = [
        {"id": printed, "completion": f"```python\nprint({printed!r})\n```", "label": label}
        for printed, _ in table
        for label in labels
    ]
    write_rows(tmp_path / "samples.jsonl", samples)
    graded = run("grade", "samples.jsonl", "-o", "out.jsonl")
    assert graded.returncode == 0, graded.stderr
    rows = read_rows(tmp_path / "out.jsonl")
    said = [(row["id"], row["report"]["verdict"]) for row in rows]
    assert sorted(said) == sorted(line for line in table for _ in labels)


def test_rewards_of_the_how_to_are_those_that_it_names(
    guides: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    page = (guides / "reward.md").read_text()
    *_, program = blocks(page, "python")
    printed = run_python(program, tmp_path, environment).splitlines()
    assert printed == ["passed 1.0", "failed -0.25", "no_code -0.5"]
    assert all(f"`{line}`" in page for line in printed)


def test_reward_file_of_the_how_to_adds_its_bonus(
    guides: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    pytest.importorskip("torch")
    _, program, _ = blocks((guides / "reward.md").read_text(), "python")
    label = json.dumps(["assert f(1) == 1"])
    calls = f"queries = ['def f(x): return x', 'def f(x): return 0']\nlabels = [{label!r}] * 2\n"
    calls += "print(*map(float, reward_func(queries, ['', ''], labels)['rewards']))"
    right, wrong = map(float, run_python(program + calls, tmp_path, environment).split())
    assert 0.8 < right <= 1
    assert wrong == 0
