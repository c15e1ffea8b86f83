"""The report of a graded file as a page: its overview, tables and samples."""

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from grader.model.wire import json_bytes
from grader.report import charts
from grader.report.batch import Batch, batch_of
from grader.report.comparison import RunComparison, compare
from grader.report.differ import diff
from grader.report.flips import Flips, flips_of
from grader.report.index import GradedFile, IndexedRow
from grader.report.pages import (
    OtherCompletion,
    assets,
    one_file,
    render,
    render_page,
    sample_fragment,
)
from grader.report.problems import ProblemReader
from grader.report.reasons import SUSPICIONS, VERDICTS
from grader.report.sample import MAX_COMPLETION_CHARS
from grader.report.tables import SEARCH_FLAGS, SEARCH_NUMBERS, SEARCH_TEXTS, Block, tables
from grader.report.trends import Trends, trends_of
from grader.text.integers import counted
from grader.text.visible import visible

SCRIPTS = ("data.js", "table.js", "query.js", "report.js")
"""The page's scripts, in the order in which it loads them."""

MAX_FILE_BYTES = 4_800_000
"""Size of a report in one file; the pages of samples get the room that the rest leaves."""

_BLOCK_SAMPLES = 48
"""Pages of samples that are compressed together, since much of each is the same."""

_DIFF_LINES = 400
"""Most lines of a completion that are compared."""

_GROUPS = (
    ("problem", "problem"),
    ("verdict", "verdict"),
    ("before", "verdict in the other file"),
    ("differs", "what else differs"),
    ("suspicion", "sign of an attack"),
    ("family", "family of attacks"),
    ("limit", "limit that was hit"),
    ("reward", "reward"),
    ("step", "step"),
    ("dataset", "data set"),
    ("format", "label format"),
    ("language", "language"),
    ("policy", "policy"),
    ("image", "image"),
    ("integrity", "where it was judged"),
)
"""What samples can be grouped by: a column of theirs and its name."""

_VERDICTS = {
    str(verdict): {"code": verdict.code, "label": words.label}
    for verdict, words in VERDICTS.items()
}


class Document:
    """The report of a file, and its comparison with another file if one is given."""

    def __init__(
        self,
        file: GradedFile,
        other: GradedFile | None = None,
        *,
        problems: ProblemReader | None = None,
    ) -> None:
        """Take the files.

        Args:
            file: The rows that are reported.
            other: Rows that they are compared with; None: none.
            problems: Finds prompts and references; None: only those of labels in rows.
        """
        self.file = file
        self.other = other
        self._problems = problems or ProblemReader()
        self.pages_held = 0
        """Number of samples whose pages fit into `one_file`."""

    @cached_property
    def batch(self) -> Batch:
        """The summary of the file."""
        return batch_of(self.file.entries)

    @cached_property
    def trends(self) -> Trends | None:
        """How the figures move; None as for `trends_of`."""
        return trends_of(self.file.entries)

    @cached_property
    def flips(self) -> Flips | None:
        """The differences from the other file; None if there is none."""
        if self.other is None:
            return None
        return flips_of(self.file.entries, self.other.entries, self.other.name)

    @cached_property
    def comparison(self) -> RunComparison | None:
        """The other file's figures side by side with this one's; None if there is none."""
        return None if self.other is None else compare(self.file.entries, self.other.entries)

    @cached_property
    def main(self) -> str:
        """The HTML of the page without its samples."""
        batch = self.batch
        return render(
            "report.html",
            title=self.file.name,
            subtitle=_subtitle(batch),
            tiles=list(_tiles(batch)),
            batch=batch,
            flips=self.flips,
            comparison=self.comparison,
            trends=self.trends,
            steps=json.dumps(self.trends.steps if self.trends else []),
            has_steps=any(entry.step is not None for entry in self.file.entries),
            charts=_charts(batch),
            looks=any((batch.causes, batch.broken, batch.flaky, batch.suspicion, batch.slowest)),
            only=list(self._only()),
            groups=_GROUPS,
            ks=json.dumps([point.k for point in batch.pass_at]),
            SUSPICIONS=SUSPICIONS,
            numbers=SEARCH_NUMBERS,
            texts=SEARCH_TEXTS,
            flags=SEARCH_FLAGS,
        )

    def read_on(self) -> "Document | None":
        """Return the report with the rows that were added since; None if there are none.

        Raises:
            InputError: A file cannot be read.
        """
        files = [self.file] if self.other is None else [self.file, self.other]
        grown = [file for file in files if file.read_on()]
        return Document(self.file, self.other, problems=self._problems) if grown else None

    def tables(self, blocks: Mapping[int, Block] | None = None) -> dict[str, Any]:
        """Return the tables of samples and problems."""
        return tables(
            self.file.entries,
            self.batch,
            blocks=blocks,
            flips=self.flips,
            comparison=self.comparison,
            trends=self.trends,
        )

    def lines_with(self, text: str) -> list[int]:
        """Return the lines of the samples whose code or completion has a text, in any case.

        Reads all rows again: 20,000 rows take about a second.

        Raises:
            InputError: The file has changed since it was indexed.
        """
        wanted = visible(text).lower()
        return [
            entry.line
            for entry in self.file.entries
            if any(wanted in visible(found).lower() for found in self.file.texts(entry))
        ]

    def sample(self, entry: IndexedRow) -> str:
        """Return the HTML of one sample.

        Raises:
            InputError: The file has changed since it was indexed.
        """
        row = self.file.read(entry)
        flip = self.flips.found.get(entry.line) if self.flips else None
        view = row.view(self._problems)
        return sample_fragment(view, flip, self._other_completion(entry.line, row.completion))

    def _other_completion(self, line: int, completion: str) -> OtherCompletion | None:
        there = self.flips.pairs.get(line) if self.flips else None
        if there is None or self.other is None:
            return None
        other = self.other.read(there).completion
        if other == completion:
            return None
        return OtherCompletion(
            text=other[:MAX_COMPLETION_CHARS], diff=diff(_start(other), _start(completion))
        )

    def page(self, assets: str) -> str:
        """Return the page for a server; its scripts fetch tables and samples."""
        return render_page(
            self.file.name,
            self.main,
            scripts=SCRIPTS,
            data={"verdicts": _VERDICTS},
            top=self._top,
            assets=assets,
        )

    @property
    def _top(self) -> str:
        return render("top.html", trends=self.trends)

    def one_file(
        self, max_bytes: int = MAX_FILE_BYTES, tell: Callable[[float], None] = lambda _: None
    ) -> str:
        """Return the page in one file, with the pages of as many samples as fit.

        Args:
            max_bytes: Most bytes of the file; overview and tables are in it even if larger.
            tell: Called with the progress, in [0, 1].
        """
        scripts = [assets()[name].text for name in SCRIPTS]
        blocks: dict[int, Block] = {}
        packed: list[str] = []
        room = max_bytes - len(self._assemble(scripts, packed, {}).encode())
        order = sorted(self.file.entries, key=_interest)
        for start in range(0, len(order), _BLOCK_SAMPLES):
            chosen = order[start : start + _BLOCK_SAMPLES]
            block = _packed([self.sample(entry) for entry in chosen])
            if len(block) > room:
                break
            room -= len(block)
            blocks |= {entry.line: (len(packed), place) for place, entry in enumerate(chosen)}
            packed.append(block)
            tell(len(blocks) / len(order))
        self.pages_held = len(blocks)
        return self._assemble(scripts, packed, blocks)

    def _assemble(
        self, scripts: Sequence[str], packed: Sequence[str], blocks: Mapping[int, Block]
    ) -> str:
        data = {
            "verdicts": _VERDICTS,
            "blocks": {"tables": _packed(self.tables(blocks)), "samples": packed},
        }
        return one_file(self.file.name, self.main, scripts=scripts, data=data, top=self._top)

    def _only(self) -> list[tuple[str, str]]:
        entries = self.file.entries
        found = [
            ("limit", "hit a limit", any(entry.limit_hit for entry in entries)),
            ("hack", "suspicious", any(entry.is_hack for entry in entries)),
            ("ungraded", "not graded", any(not entry.graded for entry in entries)),
            ("flipped", "flipped", bool(self.flips and self.flips.changed)),
        ]
        return [(name, words) for name, words, holds in found if holds]


def _start(text: str) -> str:
    """Return the first lines of a completion, as comparing takes the square of their number."""
    return "\n".join(text.split("\n", _DIFF_LINES)[:_DIFF_LINES])


def _interest(entry: IndexedRow) -> tuple[bool, bool, int]:
    """Return a sort key: samples with signs of attacks first, then those that did not pass."""
    return not entry.suspicion, entry.passed == entry.total > 0, entry.line


def _packed(value: object) -> str:
    """Return JSON as base64 of raw deflate, which browsers can unpack."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(packer.compress(json_bytes(value)) + packer.flush()).decode()


def _charts(batch: Batch) -> dict[str, Any]:
    return {
        "verdicts": charts.verdict_mix(batch),
        "rewards": charts.histogram(batch.rewards, "Samples by reward"),
        # Most policies make a reward of the score alone; then both charts have the same bars.
        "scores": charts.histogram(batch.scores, "Samples by score")
        if [bar.count for bar in batch.scores] != [bar.count for bar in batch.rewards]
        else None,
        "cpu": charts.histogram(batch.cpu_shares, "Samples by percent of the CPU time limit")
        if batch.cpu_shares
        else None,
        "memory": charts.histogram(batch.memory_shares, "Samples by percent of the memory limit")
        if batch.memory_shares
        else None,
        "pass_at": charts.pass_at(batch.pass_at) if len(batch.pass_at) > 1 else None,
    }


def _subtitle(batch: Batch) -> str:
    formats = sorted({conditions.format for conditions in batch.conditions})
    images = sorted({conditions.image for conditions in batch.conditions})
    parts = [
        f"{counted(batch.samples, 'sample')} of {counted(len(batch.problems), 'problem')}",
        f"policy {', '.join(batch.policies)}",
    ]
    if formats:
        parts.append(f"labels {', '.join(formats)}")
    if images:
        parts.append(f"image {', '.join(images)}")
    return " · ".join(parts)


def _tiles(batch: Batch) -> list[tuple[str, str, str]]:
    """Return the key figures: name, value, note."""
    tiles = []
    if batch.graded:
        share = f"{100 * batch.passed / batch.graded:.1f} %"
        tiles.append(("Passed", share, f"{batch.passed:,} of {batch.graded:,} graded"))
    for point in batch.pass_at[:1]:
        tiles.append(
            ("pass@1", f"{100 * point.value:.1f} %", f"over {counted(point.problems, 'problem')}")
        )
    if batch.mean_reward is not None and batch.mean_score is not None:
        sign = f"{batch.mean_reward:+.3f}".replace("-", "\N{MINUS SIGN}")
        tiles.append(("Mean reward", sign, f"mean score {batch.mean_score:.3f}"))
    suspicious = sum(count for _, count, _ in batch.suspicion)
    tiles.append(("Not graded", f"{batch.samples - batch.graded:,}", "internal errors"))
    tiles.append(("Suspicious", f"{suspicious:,}", "signs of an attack"))
    tiles.append(("CPU time", f"{batch.cpu_time_s:,.0f} s", "of all samples together"))
    return tiles
