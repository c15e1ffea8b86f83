"""The page's charts, drawn once for everybody who looks."""

import asyncio
from enum import StrEnum

from grader.server.live.beats import Beat
from grader.server.live.charts import draw_charts
from grader.server.live.pulse import BEAT_S, BEATS, MINUTE_S, MINUTES, Pulse


class Span(StrEnum):
    """How far back charts go."""

    MINUTES = "minutes"
    HOURS = "hours"


class ChartBoard:
    """Draws charts of a pulse, and keeps them until it has gone on. For the event loop's thread."""

    def __init__(self, pulse: Pulse) -> None:
        """Draw nothing yet."""
        self._pulse = pulse
        self._drawn: dict[Span, tuple[float, str]] = {}
        self._drawing = asyncio.Lock()

    async def html(self, span: Span) -> str:
        """Return the charts as a fragment of HTML, no older than the last beat of their span."""
        async with self._drawing:
            beats, count, span_s = self._beats(span)
            newest = beats[-1].at if beats else 0.0
            drawn_at, html = self._drawn.get(span, (-1.0, ""))
            if drawn_at != newest:
                # Takes some 50 ms, which other requests should not wait for.
                html = await asyncio.to_thread(draw_charts, beats, count, span_s)
                self._drawn[span] = (newest, html)
            return html

    def _beats(self, span: Span) -> tuple[list[Beat], int, float]:
        match span:
            case Span.MINUTES:
                return list(self._pulse.beats), BEATS, BEATS * BEAT_S
            case Span.HOURS:
                return list(self._pulse.minutes), MINUTES, MINUTES * MINUTE_S
