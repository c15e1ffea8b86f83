"""`make bench`: print rates and ratios measured in one run on this machine, and keep them.

python -m benchmarks [throughput] [latency] [scaling] [memory] [rewards] [queue] [ledger]
                     [http] [languages]
                     [--rounds N] [--slots N]
"""

import argparse
import json
import platform
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.command import describe_s, first_verdict_s, peak_memory_bytes
from benchmarks.contestants import bare_fork, docker_run, ours, usual_pytest
from benchmarks.languages import CASES
from benchmarks.languages import compare as compare_languages
from benchmarks.ledger import costs, rates, waits
from benchmarks.measure import Entry, as_json, show, throughput
from benchmarks.queued import compare as compare_queue
from benchmarks.rewards import compare, threads_for
from benchmarks.served import compare as compare_service
from benchmarks.workloads import REPO, check_samples, pytest_samples, renumbered, stdin_samples
from grader.config.settings import SandboxChoice, Settings
from grader.grading.grader import Grader
from grader.model.errors import GraderError
from grader.process.cores import usable_cores
from grader.sandbox.choice import choose_sandbox

PARTS = (
    *("throughput", "latency", "scaling", "memory", "rewards", "queue", "ledger", "http"),
    "languages",
)
_RUN_S = 0.02
USUAL, DOCKER_RUN, BARE = "usual pytest", "docker run", "bare fork"
AGAINST = (USUAL, DOCKER_RUN, BARE)


def main() -> None:
    """Run the parts that were asked for and write what they gave to a file."""
    arguments = _arguments()
    backends = _usable_backends()
    results: dict[str, Any] = {
        "machine": _machine(),
        "rounds": arguments.rounds,
        "slots": arguments.slots,
    }
    print(" ".join(f"{name}: {value}" for name, value in results["machine"].items()))
    if "throughput" in arguments.parts:
        results["throughput"] = _throughput(backends, arguments.rounds, arguments.slots)
    if "latency" in arguments.parts:
        results["latency"] = _latency(backends, arguments.rounds)
    if "scaling" in arguments.parts:
        results["scaling"] = _scaling(arguments.rounds)
    if "memory" in arguments.parts:
        results["memory"] = _memory(backends[0], arguments.rows or 100_000)
    if "rewards" in arguments.parts:
        results["rewards"] = _rewards(
            backends[0], arguments.rows or 1000, arguments.rounds, arguments.slots
        )
    if "queue" in arguments.parts:
        results["queue"] = _queue(arguments.rounds, arguments.slots)
    if "ledger" in arguments.parts:
        results["ledger"] = _ledger(arguments.rows or 3000, arguments.slots)
    if "http" in arguments.parts:
        results["http"] = _http(arguments.rows or 1000, arguments.rounds, arguments.slots)
    if "languages" in arguments.parts:
        results["languages"] = _languages(backends, arguments.rounds, arguments.slots)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(results, indent=2) + "\n")
    print(f"written to {arguments.output}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--slots", type=int, default=2, help="samples that every contestant works on at once"
    )
    parser.add_argument("--rows", type=int, help="of the memory, rewards, ledger and http parts")
    parser.add_argument("-o", "--output", type=Path, default=REPO / "build/bench.json")
    arguments = parser.parse_args()
    arguments.parts = arguments.parts or ["throughput", "latency"]
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    return arguments


def _machine() -> dict[str, Any]:
    return {
        "cores": usable_cores(),
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def _usable_backends() -> list[SandboxChoice]:
    """Return the backends that open a slot here; say why another does not."""
    usable = []
    for backend in (SandboxChoice.NATIVE, SandboxChoice.DOCKER):
        settings = Settings(sandbox=backend)
        try:
            sandbox = choose_sandbox(settings)
            sandbox.open_slot(image="python", memory_bytes=settings.limits.memory_bytes)
            sandbox.close()
        except GraderError as error:
            print(f"left out: {backend}: {error}")
        else:
            usable.append(backend)
    return usable


def _grader(backend: SandboxChoice, *, slots: int) -> Grader:
    return Grader(Settings(sandbox=backend, slots=slots))


def _throughput(backends: list[SandboxChoice], rounds: int, slots: int) -> list[dict[str, object]]:
    rows = []
    for (workload, samples), others in (
        (check_samples(), AGAINST),
        (pytest_samples(), (USUAL, DOCKER_RUN)),
        (stdin_samples(), (BARE,)),
    ):
        with ExitStack() as stack:
            entries = {}
            for backend in backends:
                grader = stack.enter_context(_grader(backend, slots=slots))
                entries[f"grader {backend}"] = Entry(run=ours(grader))
            if USUAL in others:
                entries[USUAL] = Entry(run=usual_pytest(slots), stride=max(1, len(samples) // 20))
            if DOCKER_RUN in others and SandboxChoice.DOCKER in backends:
                image = Settings().images.python
                stride = max(1, len(samples) // 8)
                entries[DOCKER_RUN] = Entry(run=docker_run(slots, image), stride=stride)
            if BARE in others:
                entries[BARE] = Entry(run=bare_fork(slots))
            found = throughput(workload, renumbered(samples), entries, rounds=rounds)
        show(found, [name for name in AGAINST if name in entries])
        rows += as_json(found)
    return rows


def _queue(rounds: int, slots: int) -> list[dict[str, object]]:
    _, samples = check_samples()
    found = compare_queue(samples * 3, rounds=rounds, slots=slots)
    for way in found:
        line = f"{way.way}: {way.local_per_second:.0f}/s here, {way.queued_per_second:.0f}/s queued"
        line += f", ratio {way.ratio:.2f}"
        if way.queued_p50_s is not None and way.queued_p99_s is not None:
            line += f"; a queued call takes {way.queued_p50_s:.2f} s (p99 {way.queued_p99_s:.2f} s)"
        print(line)
    return [asdict(way) for way in found]


def _ledger(rows: int, slots: int) -> dict[str, object]:
    found = costs(rows=rows, workers=2, slots=slots)
    for cost in found:
        print(
            f"{cost.jobs:,} jobs, {cost.way}: {cost.cpu_us:.0f} us of Redis's CPU and"
            f" {cost.commands:.0f} commands each, so at most {cost.most_per_second:.0f}/s;"
            f" {cost.per_second:.0f}/s here"
        )
    cores = usable_cores()
    found_rates = [
        rates(
            rows=rows,
            servers=servers,
            workers=max(servers, cores // 2),
            clients=max(1, cores // 4),
            slots=slots,
        )
        for servers in (1, 2, 4)
    ]
    for rate in found_rates:
        busy = ", ".join(f"{share:.0%}" for share in rate.busy)
        print(
            f"{rate.servers} Redis, {rate.workers} workers, {rate.clients} clients:"
            f" {rate.per_second:.0f} jobs/s; Redis busy for {busy}"
        )
    waited = waits(calls=100, slots=slots, run_s=_RUN_S)
    for wait in waited:
        print(
            f"single call beside {wait.beside}, runs of {1000 * _RUN_S:.0f} ms, {slots} slots:"
            f" {1000 * wait.p50_s:.0f} ms (p99 {1000 * wait.p99_s:.0f} ms)"
        )
    return {
        "costs": [asdict(each) for each in found],
        "rates": [asdict(each) for each in found_rates],
        "waits": [asdict(each) for each in waited],
    }


def _http(rows: int, rounds: int, slots: int) -> list[dict[str, object]]:
    found = compare_service(rows=rows, rounds=rounds, slots=slots)
    for way in found:
        print(
            f"{way.way}: {way.local_per_second:.0f}/s here, {way.served_per_second:.0f}/s served,"
            f" ratio {way.ratio:.2f}; CPU a submission {1000 * way.local_cpu_s:.1f} ms here,"
            f" {1000 * way.service_cpu_s:.1f} ms of the service's process;"
            f" a request takes {way.p50_s:.2f} s (p99 {way.p99_s:.2f} s)"
        )
    return [asdict(way) for way in found]


def _languages(backends: list[SandboxChoice], rounds: int, slots: int) -> list[dict[str, object]]:
    found = []
    for each in compare_languages(backends, rounds=rounds, slots=slots):
        found.append(each)
        compiling = f"{each.compile_s:.3f} s"
        if each.compile_by_hand_s:
            ratio = each.compile_s / each.compile_by_hand_s
            compiling += f", {each.compile_by_hand_s:.3f} by hand, ratio {ratio:.2f}"
        print(
            f"{each.language}, {each.backend}: compile {compiling};"
            f" a case {1000 * each.case_s:.1f} ms, {1000 * each.case_by_hand_s:.1f} by hand;"
            f" with {CASES} cases {each.per_second:.2f}/s, {each.usual_per_second:.2f}/s the usual"
            f" way, ratio {each.per_second / each.usual_per_second:.2f}"
        )
    return [asdict(each) for each in found]


def _latency(backends: list[SandboxChoice], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for backend in backends:
        found[backend] = first_verdict_s(backend, rounds=rounds)
        print(f"first verdict of the command, {backend}: {describe_s(found[backend])}")
    return found


def _scaling(rounds: int) -> list[dict[str, object]]:
    """Hold more and more slots of one native grader against as many processes of others."""
    workloads = [check_samples(), stdin_samples(), pytest_samples()]
    cores = usable_cores()
    rows: list[dict[str, object]] = []
    for slots in sorted(
        {*(1 << n for n in range(cores.bit_length())), cores} & {*range(1, cores + 1)}
    ):
        with _grader(SandboxChoice.NATIVE, slots=slots) as grader:
            for workload, samples in workloads:
                entries = {"grader native": Entry(run=ours(grader))}
                if samples[0].programs:
                    entries[BARE] = Entry(run=bare_fork(slots))
                else:
                    entries[USUAL] = Entry(run=usual_pytest(slots), stride=3)
                found = throughput(workload, renumbered(samples * slots), entries, rounds=rounds)
                rates = ", ".join(f"{row.contestant} {row.per_second:.0f}/s" for row in found)
                (ratio,) = found[0].ratios.values()
                print(f"{workload}, {slots} slots: {rates}, ratio {ratio:.2f}")
                rows += [{"slots": slots, **row} for row in as_json(found)]
    return rows


def _memory(backend: SandboxChoice, rows: int) -> dict[str, object]:
    peak = peak_memory_bytes(backend, rows=rows)
    print(f"peak memory of the command over {rows:,} rows, {backend}: {peak / 2**20:.0f} MiB")
    return {"backend": backend, "rows": rows, "peak_bytes": peak}


def _rewards(backend: SandboxChoice, rows: int, rounds: int, slots: int) -> dict[str, object]:
    found = compare(rows=rows, rounds=rounds, backend=backend, slots=slots)
    print(
        f"{rows:,} completions, {backend}: `grader grade` {rows / found.command.wall_s:.0f}/s and"
        f" {found.command.cpu_s:.1f} s of CPU; single calls from {threads_for(slots)} threads"
        f" {rows / found.single_calls.wall_s:.0f}/s and {found.single_calls.cpu_s:.1f} s of CPU;"
        f" ratio {found.wall_ratio:.2f} by the clock, {found.cpu_ratio:.2f} by CPU"
    )
    return {"backend": backend, **asdict(found)}


if __name__ == "__main__":
    main()
