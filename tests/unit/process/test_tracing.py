"""Traces are optional: nothing is lost without OpenTelemetry."""

import sys
from collections.abc import Iterator

import pytest

from grader.process import tracing


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    tracing._tracer.cache_clear()
    yield
    tracing._tracer.cache_clear()


def do_something() -> list[str]:
    with tracing.lasting_span("outer") as end, tracing.span("inner", parent="x", key="value"):
        done = [tracing.traceparent(), *tracing.trace_fields().values()]
    end()
    return done


def test_no_spans_are_made_without_an_endpoint() -> None:
    assert do_something() == [""]


def test_missing_package_is_told_once_and_costs_only_the_traces(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    assert do_something() == [""]
    (record,) = caplog.records
    assert "pip install 'grader-rl[tracing]'" in record.getMessage()
