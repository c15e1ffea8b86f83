"""The files of deploy/, checked by the tools that read them, and run if possible."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.config.settings import Settings
from grader.model.verdict import Verdict
from grader.queueing.grader import QueueGrader
from grader.queueing.status import read_status
from tests.deployment import REPO, Deployment, Place, wait_until
from tests.factories import make_submission
from tests.guides import assert_as_expected, section, walk, write_examples
from tests.serving import sleeper
from tests.tools import tool
from tests.traces import family, living

UNIT = REPO / "deploy/systemd/grader-worker.service"
WITH_A_BUG = """
import sys
from worker import consumer
consumer.HintConsumer.create_task_handler = lambda *_, **__: 1 / 0
sys.argv = sys.argv[3:]
from worker.__main__ import main
sys.exit(main())
"""
START_REDIS = REPO / "deploy/redis/start"
BATCH = REPO / "deploy/slurm/workers.sbatch"

SCRIPTS = sorted(
    path
    for folder in ("scripts", "deploy", ".ci")
    for path in (REPO / folder).rglob("*")
    if path.is_file()
    and path.suffix != ".whl"
    and path.read_bytes().startswith(b"#!/")
    and b"sh" in path.read_bytes().partition(b"\n")[0]
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(REPO)))
def test_script_passes_shellcheck(script: Path) -> None:
    command = [tool("shellcheck"), "--external-sources", str(script)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    # What it starts is not on this machine; it must be something that is.
    unit = tmp_path / UNIT.name
    text = UNIT.read_text().replace("/opt/grader/.venv/bin/grader", "/bin/true")
    unit.write_text(text)
    done = subprocess.run(
        [tool("systemd-analyze"), "verify", "--man=no", str(unit)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployed = Deployment(tmp_path)
    yield deployed
    deployed.close()


@pytest.mark.redis
@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.timeout(120)
def test_worker_that_crashes_does_not_end_like_one_that_was_stopped(
    deployment: Deployment,
) -> None:
    """Loops such as that of the Slurm script start it again only then."""
    crashed = deployment.add_worker(Place(prefix=(sys.executable, "-c", WITH_A_BUG)))
    stopped = deployment.add_worker()
    assert crashed.wait(60) == 1
    assert "Unrecoverable error: ZeroDivisionError" in crashed.log()
    deployment.wait_for_workers(1)
    stopped.send(signal.SIGTERM)
    assert stopped.wait(60) == 0


def manifests(name: str) -> list[dict[str, Any]]:
    import yaml  # type: ignore[import-untyped]  # its stubs are a package for this line

    return list(yaml.safe_load_all((REPO / "deploy/kubernetes" / name).read_text()))


def test_kubernetes_files_fit_each_other_and_the_settings() -> None:
    found = {each["kind"]: each for each in manifests("workers.yaml")}
    (scaled,) = manifests("autoscale.yaml")
    deployment, budget = found["Deployment"], found["PodDisruptionBudget"]
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]
    pod = deployment["spec"]["template"]["spec"]
    # Closing the slots takes time, too.
    assert pod["terminationGracePeriodSeconds"] >= 2 * Settings().queue.drain_s
    slots = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    spec = scaled["spec"]
    assert spec["scaleTargetRef"] == {"name": deployment["metadata"]["name"]}
    (trigger,) = spec["triggers"]
    assert trigger["metadata"]["threshold"] == slots["GRADER_SLOTS"]
    # KEDA takes texts only.
    assert {type(value) for value in trigger["metadata"].values()} == {str}
    assert spec["minReplicaCount"] < spec["maxReplicaCount"]


@pytest.mark.redis
@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.timeout(120)
def test_pod_is_probed_and_ends_as_its_manifest_says(deployment: Deployment) -> None:
    (manifest,) = (each for each in manifests("workers.yaml") if each["kind"] == "Deployment")
    pod = manifest["spec"]["template"]["spec"]
    start, *probe = pod["containers"][0]["readinessProbe"]["exec"]["command"]
    assert start == "/opt/grader/start"  # which only adds the address of Redis

    def is_ready() -> bool:
        environ = {**os.environ, "GRADER_BROKER": deployment.redis.url}
        command = [sys.executable, *probe[1:]]
        return subprocess.run(command, env=environ, cwd=REPO, capture_output=True).returncode == 0

    assert not is_ready()
    worker = deployment.add_worker(slots=1, queue_drain_s=60)
    wait_until(is_ready, 60, "the pod is ready")
    where = Settings(broker=deployment.redis.url)
    with QueueGrader(where) as grader:
        futures = [grader.submit(make_submission(sleeper(2 + n / 100))) for n in range(4)]
        wait_until(lambda: read_status(where).running == 1, 30, "one of them runs")
        worker.send(signal.SIGTERM)
        assert worker.wait(pod["terminationGracePeriodSeconds"]) == 0
        assert not is_ready()
        # What ran is finished, and nothing else was begun.
        wait_until(lambda: sum(future.done() for future in futures) == 1, 10, "its report is here")
        deployment.add_worker()
        assert {future.result(60).verdict for future in futures} == {Verdict.PASSED}
    counts = deployment.redis.stats()
    assert (counts["graded"], counts.get("redelivered", 0), counts.get("workers_lost", 0)) == (
        4,
        0,
        0,
    )


@pytest.fixture
def volume() -> Iterator[Path]:
    """A folder in which every user may write; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def start_redis_as_in_its_image(volume: Path, **environ: str) -> str:
    """Run `deploy/redis/start` with a volume of this test; return what the server would read."""
    programs = volume / "programs"
    programs.mkdir(exist_ok=True)
    server = programs / "redis-server"
    server.write_text("#!/bin/sh\ncat\n")
    server.chmod(0o755)
    script = volume / "start"
    script.write_text(START_REDIS.read_text().replace("/run/grader", str(volume)))
    # Not as root, which may write what is read-only.
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    done = subprocess.run(
        [*(command if os.geteuid() == 0 else []), "sh", str(script)],
        env={"PATH": f"{programs}:{os.environ['PATH']}", **environ},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_redis_starts_again_with_the_password_that_it_is_given_and_keeps_one_that_it_made(
    volume: Path,
) -> None:
    made_up = start_redis_as_in_its_image(volume)
    assert start_redis_as_in_its_image(volume) == made_up
    for password in ("first", "first", "second"):
        read = start_redis_as_in_its_image(volume, REDIS_PASSWORD=password)
        assert read.splitlines()[0] == f"requirepass {password}"
        assert (volume / "redis-password").read_text() == password
    assert made_up.splitlines()[0] != "requirepass second"


@pytest.mark.redis
@pytest.mark.usefixtures("native_sandbox")
@pytest.mark.timeout(120)
def test_guide_to_slurm_grades_with_a_worker_that_ends_with_its_job(
    deployment: Deployment, tmp_path: Path
) -> None:
    """On one node srun does no more than to run its command."""
    programs = tmp_path / "programs"
    (tmp_path / ".venv/bin").mkdir(parents=True)
    programs.mkdir()
    srun = programs / "srun"
    srun.write_text('#!/bin/sh\ncase "$1" in --*) shift ;; esac\nexec "$@"\n')
    started = tmp_path / ".venv/bin/grader"
    started.write_text(f'#!/bin/sh\ncd {REPO} && exec {sys.executable} -m grader "$@"\n')
    for file in (srun, started):
        file.chmod(0o755)
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GRADER_")}
    environ |= {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "GRADER_BROKER": deployment.redis.url,
        "WORKERS_HOME": str(tmp_path),
        "SLURM_CPUS_PER_TASK": "3",
    }
    write_examples(tmp_path)
    instead = {
        "GRADER_BROKER=redis://:PASSWORD@HOST:6379/0": "GRADER_BROKER",
        # It was started already.
        "sbatch --nodes=4 --cpus-per-task=16 deploy/slurm/workers.sbatch\nsqueue\n": "",
    }
    where = Settings(broker=deployment.redis.url)
    with subprocess.Popen(["bash", str(BATCH)], env=environ, start_new_session=True) as job:
        try:
            wait_until(
                lambda: [w.slots for w in read_status(where).workers] == [3], 60, "it serves"
            )
            known = family(job.pid)
            guide = section(REPO / "docs/how-to/without-root.md", "Slurm")
            walk(guide, tmp_path, {**environ, "PYTHONPATH": str(REPO)}, instead=instead)
        finally:
            # As Slurm does a minute before the end of the time: to everything of the job.
            os.killpg(job.pid, signal.SIGTERM)
        wait_until(lambda: not living(known), 40, "all have ended")
    assert_as_expected(tmp_path / "out.jsonl")
    assert_as_expected(tmp_path / "graded.jsonl")
    status = read_status(where)
    assert status.workers == ()
    assert status.counts.get("workers_lost", 0) == 0
