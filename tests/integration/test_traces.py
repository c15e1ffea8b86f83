"""One trace from a request over the queue to a sandbox, as a collector receives it over HTTP."""

import importlib.util
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.deployment import Deployment
from tests.serving import ASSERTS, GOOD, serving

pytestmark = [pytest.mark.usefixtures("native_sandbox"), pytest.mark.timeout(120)]

TRACE = "0af7651916cd43dd8448eb211c80319c"
CALLER = "b7ad6b7169203331"
"""The span of the caller."""


@dataclass
class Collector:
    """Takes spans by OpenTelemetry's protocol, as a Jaeger or Tempo does."""

    bodies: list[bytes]
    """Of its requests."""

    def spans(self) -> list[Any]:
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest,
        )

        return [
            span
            for body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    if importlib.util.find_spec("opentelemetry") is None:
        missing("OpenTelemetry", "it is not installed")
    if importlib.util.find_spec("opentelemetry.exporter") is None:
        missing("OpenTelemetry", "its exporter is not installed")

    bodies: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":  # FastAPI may send its metrics, too.
                bodies.append(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield Collector(bodies)
    server.shutdown()
    thread.join()
    server.server_close()


def path_of_the_sandbox(spans: list[Any]) -> list[str]:
    """Return the names of the spans from the sandbox's up to the caller's own."""
    by_id = {span.span_id: span for span in spans}
    (span,) = (span for span in spans if span.name == "sandbox")
    names = [span.name]
    while span.parent_span_id != bytes.fromhex(CALLER):
        span = by_id[span.parent_span_id]
        names.append(span.name)
    return names


@pytest.mark.redis
def test_trace_goes_through_service_queue_worker_and_sandbox(
    collector: Collector, tmp_path: Path
) -> None:
    with ExitStack() as held:
        deployment = Deployment(tmp_path / "queue")
        held.callback(deployment.close)
        worker = deployment.add_worker()
        service = held.enter_context(serving(tmp_path, broker=deployment.redis.url))
        headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
        body = {"completion": GOOD, "label": ASSERTS, "id": "sample/7"}
        assert service.post("/v1/grade", body, headers=headers).json()["report"]["passed"] == 2
        assert service.stop() == 0
        worker.stop()
        logs = [*service.log(), *worker.log_lines()]
    spans = [span for span in collector.spans() if span.trace_id == bytes.fromhex(TRACE)]
    # The spans above are of the request; they differ between releases of FastAPI.
    assert path_of_the_sandbox(spans)[:3] == ["sandbox", "job", "queue"]
    graded = [line for line in logs if line["event"] == "graded"]
    assert [line["trace"] for line in graded] == [TRACE, TRACE]


def test_trace_goes_to_the_sandbox_of_a_service_without_queue(
    collector: Collector, tmp_path: Path
) -> None:
    with serving(tmp_path) as service:
        headers = {"traceparent": f"00-{TRACE}-{CALLER}-01"}
        body = {"completion": GOOD, "label": ASSERTS}
        service.post("/v1/grade", body, headers=headers)
        assert service.stop() == 0
    spans = [span for span in collector.spans() if span.trace_id == bytes.fromhex(TRACE)]
    assert "queue" not in path_of_the_sandbox(spans)
