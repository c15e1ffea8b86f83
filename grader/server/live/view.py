"""The data of the live page, as JSON in server-sent events.

Texts that a model or a client wrote go through `grader.text.visible`, and the page inserts them as
text, never as markup.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from grader.config.server import KeepSettings
from grader.queueing.status import Lane, QueueStatus, WorkerStatus
from grader.report.reasons import VERDICTS
from grader.server.live.alerts import Alert
from grader.server.live.intervals import Interval
from grader.server.live.worker_history import WorkerHistory
from grader.server.metrics import MetricCounts
from grader.server.samples import Kept, StoreCounts
from grader.server.state import ServiceState
from grader.text.inert import shorten
from grader.text.visible import visible_line

_ID_CHARS = 80
_FEEDBACK_CHARS = 160
_ERRORS = 10
_WORKERS = 500
_LANES = 50


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Return a server-sent event."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return f"event: {name}\ndata: {text}\n\n".encode()


def interval_fields(interval: Interval) -> dict[str, Any]:
    """Return the fields of an interval; times in seconds, to four decimals."""
    return {
        **asdict(interval),
        "at": round(interval.at, 3),
        "span_s": round(interval.span_s, 4),
        "oldest_s": round(interval.oldest_s, 1),
        "latency": {
            phase: [round(found.p50_s, 4), round(found.p95_s, 4)]
            for phase, found in interval.latency.items()
        },
    }


def sample_fields(kept: Kept) -> dict[str, Any]:
    """Return the fields of a sample in a list."""
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


def state_fields(
    state: ServiceState | None, worker_history: WorkerHistory
) -> dict[str, Any] | None:
    """Return the fields of the service's state; None if it was not read yet."""
    if state is None:
        return None
    return {
        "waiting": state.waiting,
        "oldest_s": round(state.oldest_s, 1),
        "busy": state.busy,
        "usable": state.usable,
        "slots": None if state.slots is None else asdict(state.slots),
        "queue": _queue_fields(state.queue, worker_history) if state.has_queue else None,
    }


def _queue_fields(queue: QueueStatus | None, worker_history: WorkerHistory) -> dict[str, Any]:
    gone = [
        {"worker": _worker_fields(each.worker), "at": round(each.at, 1), "lost": each.is_lost}
        for each in reversed(worker_history.gone)
    ]
    if queue is None:
        return {"up": False, "gone": gone}
    return {
        "up": True,
        "workers": [_worker_fields(worker) for worker in queue.workers[:_WORKERS]],
        "gone": gone,
        "lanes": [_lane_fields(lane) for lane in queue.lanes[:_LANES]],
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


def _lane_fields(lane: Lane) -> dict[str, Any]:
    return {
        "client": _short(lane.client, _ID_CHARS),
        "class": _short(lane.service_class, _ID_CHARS),
        "image": _short(lane.image, _ID_CHARS),
        "waiting": lane.waiting,
        "weight": lane.weight,
        "run_s": None if lane.run_s is None else round(lane.run_s, 4),
    }


def _worker_fields(worker: WorkerStatus) -> dict[str, Any]:
    return {
        "id": _short(worker.id, _ID_CHARS),
        "host": _short(worker.host, _ID_CHARS),
        "state": _short(worker.state, _ID_CHARS),
        "build": _short(f"{worker.version} {worker.build}".strip(), _ID_CHARS),
        "images": _short(worker.images, _ID_CHARS),
        "sandbox": _short(worker.sandbox, _ID_CHARS),
        "slots": worker.slots,
        "running": worker.running,
        "graded": worker.graded,
        "per_s": round(worker.per_s, 2),
        "started": worker.started.timestamp(),
    }


def totals_fields(counts: MetricCounts) -> dict[str, Any]:
    """Return the counts since the service started."""
    return {
        "verdicts": dict(counts.verdicts),
        "suspicious": counts.suspicious,
        "internal_errors": counts.internal_errors,
        "cancelled": counts.cancelled,
        "programs": counts.programs,
    }


def alert_fields(alert: Alert) -> dict[str, Any]:
    """Return the fields of an alert."""
    return {"level": alert.level, "text": visible_line(alert.text)}


def keep_fields(settings: KeepSettings) -> dict[str, Any]:
    """Return which samples are kept, how many and for how long."""
    return {
        "samples": settings.samples,
        "count": settings.count,
        "total_bytes": settings.total_bytes,
        "lifetime_s": settings.lifetime_s,
    }


def kept_fields(counts: StoreCounts) -> dict[str, Any]:
    """Return how many samples are kept now."""
    return {"by_kind": dict(counts.by_kind), "bytes": counts.size}


def _short(text: str, most: int) -> str:
    # Cut first, since the text may be long; cut again, since some symbols take several characters.
    return shorten(visible_line(text[: most + 1]), most)
