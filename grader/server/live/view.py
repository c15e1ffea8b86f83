"""What the page is told, as JSON in server-sent events.

Every text that a model or a client wrote is made visible here (`grader.text.visible`), and the page
puts all of it in as text.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.config.server import KeepSettings
from grader.queueing.status import QueueStatus, WorkerStatus
from grader.report.reasons import VERDICTS
from grader.server.live.beats import Beat
from grader.server.live.concerns import Concern
from grader.server.live.roster import Roster
from grader.server.metrics import MetricCounts
from grader.server.samples import Kept, StoreCounts
from grader.server.state import ServiceState
from grader.text.inert import shorten
from grader.text.visible import visible_line

_ID_CHARS = 80
_FEEDBACK_CHARS = 160
_ERRORS = 10
_WORKERS = 500


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Return a server-sent event."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


def beat_fields(beat: Beat) -> dict[str, Any]:
    """Return a beat; times in seconds, to four digits after the point."""
    return {
        **asdict(beat),
        "at": round(beat.at, 3),
        "span_s": round(beat.span_s, 4),
        "oldest_s": round(beat.oldest_s, 1),
        "latency": {
            phase: [round(found.p50_s, 4), round(found.p95_s, 4)]
            for phase, found in beat.latency.items()
        },
    }


def sample_fields(kept: Kept) -> dict[str, Any]:
    """Return what a list says of a sample."""
    sample = kept.sample
    report = sample.report
    return {
        "key": kept.key,
        "kind": kept.kind,
        "name": _short(kept.name, _ID_CHARS),
        "problem": None if sample.problem_id is None else _short(sample.problem_id, _ID_CHARS),
        "at": round(sample.at, 3),
        "took_s": round(sample.took_s, 4),
        "verdict": report.verdict,
        "code": report.verdict.code,
        "words": VERDICTS[report.verdict].label,
        "reward": round(report.reward, 4) if report.graded else None,
        "passed": report.passed,
        "total": report.total,
        "signs": list(report.suspicion),
        "feedback": _short(report.feedback, _FEEDBACK_CHARS),
        "endpoint": _short(sample.endpoint, _ID_CHARS),
    }


def state_fields(state: ServiceState | None, roster: Roster) -> dict[str, Any] | None:
    """Return the state of the service; None where nobody has looked yet."""
    if state is None:
        return None
    return {
        "waiting": state.waiting,
        "oldest_s": round(state.oldest_s, 1),
        "busy": state.busy,
        "usable": state.usable,
        "slots": None if state.slots is None else asdict(state.slots),
        "queue": _queue_fields(state.queue, roster) if state.has_queue else None,
    }


def _queue_fields(queue: QueueStatus | None, roster: Roster) -> dict[str, Any]:
    gone = [
        {"worker": _worker_fields(each.worker), "at": round(each.at, 1), "lost": each.is_lost}
        for each in reversed(roster.gone)
    ]
    if queue is None:
        return {"up": False, "gone": gone}
    return {
        "up": True,
        "workers": [_worker_fields(worker) for worker in queue.workers[:_WORKERS]],
        "gone": gone,
        "queued": queue.queued,
        "clients": queue.clients,
        "cached": queue.cached,
        "cached_bytes": queue.cached_bytes,
        "hit_rate": round(queue.hit_rate, 4),
        "errors": [
            {"at": each.at.timestamp(), "text": _short(each.text, _FEEDBACK_CHARS)}
            for each in queue.errors[:_ERRORS]
        ],
    }


def _worker_fields(worker: WorkerStatus) -> dict[str, Any]:
    return {
        "id": _short(worker.id, _ID_CHARS),
        "host": _short(worker.host, _ID_CHARS),
        "state": _short(worker.state, _ID_CHARS),
        "images": _short(worker.images, _ID_CHARS),
        "sandbox": _short(worker.sandbox, _ID_CHARS),
        "slots": worker.slots,
        "running": worker.running,
        "graded": worker.graded,
        "per_s": round(worker.per_s, 2),
        "started": worker.started.timestamp(),
    }


def totals_fields(counts: MetricCounts) -> dict[str, Any]:
    """Return what was counted since the service started."""
    return {
        "verdicts": dict(counts.verdicts),
        "suspicious": counts.suspicious,
        "internal_errors": counts.internal_errors,
        "cancelled": counts.cancelled,
        "programs": counts.programs,
    }


def concern_fields(concern: Concern) -> dict[str, Any]:
    """Return a concern."""
    return {"level": concern.level, "text": visible_line(concern.text)}


def keep_fields(settings: KeepSettings) -> dict[str, Any]:
    """Return what is kept of samples, how much and for how long."""
    return {
        "samples": settings.samples,
        "count": settings.count,
        "total_bytes": settings.total_bytes,
        "lifetime_s": settings.lifetime_s,
    }


def kept_fields(counts: StoreCounts) -> dict[str, Any]:
    """Return what is kept now."""
    return {"by_kind": dict(counts.by_kind), "bytes": counts.size}


def _short(text: str, most: int) -> str:
    # Cut first: a text may be long, and a symbol for a character takes several.
    return shorten(visible_line(text[: most + 1]), most)
