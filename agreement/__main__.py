"""`make agreement`: find where the grader and plain Python differ.

Sources are cpython, packages, and the names of files: examples, recorded problems and honest
submissions; the default is all. What
differs is confirmed by another run on both sides. The exit code is 1 if something differs that
docs/known-disagreements.md does not list.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

from agreement import compared
from agreement.compared import Judged
from agreement.mutants import mutants
from agreement.ours import Way, grade_alone, grade_together
from agreement.pairs import Found, Outcome, Pair, Source
from agreement.plain import NotPlainError, Plain, can_hide
from agreement.sources import cpython, honest, packages, recorded
from grader.config.settings import SandboxChoice

REPO = Path(__file__).resolve().parent.parent
SHARED = REPO.parent / "shared"
CACHE = REPO / "build/agreement"
EXAMPLES = REPO / "examples/problems.jsonl"
KNOWN = REPO / "docs/known-disagreements.md"


def sources() -> dict[str, Source]:
    """Return every source by its name."""
    found: dict[str, Source] = {
        "cpython": partial(cpython.read, CACHE / "cpython"),
        "packages": partial(packages.read, CACHE / "packages"),
    }
    for name in honest.FILES:
        found[name] = partial(_of_file, honest.read, SHARED / "redteam" / name)
    found[EXAMPLES.name] = partial(_of_file, recorded.read, EXAMPLES)
    for name in recorded.FILES:
        found[name] = partial(_of_file, recorded.read, SHARED / "data" / name)
    return found


def main() -> int:
    """Judge every pair on both sides and print where they differ."""
    arguments = _arguments()
    plain = Plain(CACHE / "plain")
    judged: list[Judged] = []
    rows = []
    for name in arguments.sources:
        found = sources()[name](plain.judge, arguments.jobs)
        chosen = _chosen(found.pairs, arguments)
        _show_rest(found, everything=arguments.left_out)
        of_source = []
        for each in _judged(chosen, plain, arguments):
            compared.show_differences(each)
            of_source.append(each)
        judged += of_source
        rows.append(compared.row(name, found, of_source))
    compared.show_table(rows)
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps([each.as_json() for each in judged], indent=1) + "\n")
        print(f"written to {arguments.json}")
    new = compared.unlisted(judged, KNOWN.read_text("utf-8"))
    for id in new:
        print(f"not in {KNOWN.relative_to(REPO)}: {id}")
    return 1 if new else 0


def _arguments() -> argparse.Namespace:
    known = sources()
    parser = argparse.ArgumentParser(prog="python -m agreement", description=__doc__)
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=f"of {', '.join(known)}")
    parser.add_argument("--only", type=re.compile, help="a pattern that ids of pairs must contain")
    parser.add_argument("--sample", type=int, help="so many pairs of each source, not all")
    parser.add_argument("--mutants", type=int, default=2, help="of each pair")
    parser.add_argument("--ways", type=Way, nargs="+", default=[Way.HIDDEN, Way.KNOWN])
    parser.add_argument("--alone", type=int, default=20, help="pairs of each source graded alone")
    parser.add_argument("--jobs", type=int, default=2, help="pairs judged at a time")
    parser.add_argument("--backend", type=SandboxChoice, default=SandboxChoice.NATIVE)
    parser.add_argument("--order-seed", type=int, default=1, help="decides the order of the pairs")
    parser.add_argument("--json", type=Path, help="file to write every outcome to")
    parser.add_argument("--left-out", action="store_true", help="name every test that is left out")
    arguments = parser.parse_args()
    arguments.sources = arguments.sources or list(known)
    if unknown := [name for name in arguments.sources if name not in known]:
        parser.error(f"no source {', '.join(unknown)}; there are {', '.join(known)}")
    if arguments.mutants and not can_hide():
        print("mutants are left out: only root can run them as another user")
        arguments.mutants = 0
    return arguments


def _of_file(read: Callable[[Path], Found], file: Path, _judge: object, _jobs: int) -> Found:
    if not file.exists():
        return Found(missing={file.name: "the file is not there"})
    return read(file)


def _chosen(pairs: Sequence[Pair], arguments: argparse.Namespace) -> list[Pair]:
    """Return the pairs that the options select."""
    wanted = [pair for pair in pairs if arguments.only is None or arguments.only.search(pair.id)]
    if arguments.sample is not None and arguments.sample < len(wanted):
        wanted = random.Random(len(pairs)).sample(wanted, arguments.sample)  # noqa: S311
    return wanted


def _judged(pairs: Sequence[Pair], plain: Plain, arguments: argparse.Namespace) -> Iterator[Judged]:
    """Judge pairs and their mutants on both sides, and yield each as it is done."""
    outcomes: dict[str, Outcome] = {}

    def run(every: Sequence[Pair]) -> list[Pair]:
        with ThreadPoolExecutor(arguments.jobs) as threads:
            said = threads.map(partial(_plain, plain), every)
            outcomes.update((p.id, o) for p, o in zip(every, said, strict=True) if o is not None)
        return [pair for pair in every if pair.id in outcomes]

    judgeable = run(pairs)
    sound = [pair for pair in judgeable if outcomes[pair.id].passed]
    changed = run([mutant for pair in sound for mutant in mutants(pair, arguments.mutants)])
    order = [(pair, way) for pair in (*judgeable, *changed) for way in arguments.ways]
    random.Random(arguments.order_seed).shuffle(order)  # noqa: S311 - to be repeated
    backend = arguments.backend
    together = grade_together(order, backend, arguments.jobs)
    alone = (grade_alone(pair, Way.ALONE, backend) for pair in sound[: arguments.alone])
    for graded in chain(together, alone):
        pair = graded.pair
        judged = compared.compare(outcomes[pair.id], graded)
        if judged.differences:
            # Once more, alone: this shows chance, and the influence of the pairs' order.
            again = grade_alone(pair, graded.way, backend)
            judged = compared.confirm(judged, plain.judge_anew(pair), again)
        yield judged


def _plain(plain: Plain, pair: Pair) -> Outcome | None:
    try:
        return plain.judge(pair)
    except NotPlainError:
        return None


def _show_rest(found: Found, *, everything: bool) -> None:
    for id, reason in found.missing.items():
        print(f"missing: {id}: {reason}")
    if everything:
        for id, reason in found.left_out.items():
            print(f"left out: {id}: {reason}")


if __name__ == "__main__":
    sys.exit(main())
