"""`serve --traces`: the spans that a collector receives over HTTP, and its faults."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    Core,
    IssuedInvitation,
    IssuedKey,
    StorageGroup,
)
from recipient_fields.domain import OrganizationId, Role
from recipient_fields.entrypoints.service.traces import Traces

from ..support.catalog_storage import CatalogStorage, UnrecordedStorage
from ..support.command_line import Script, environment_with
from ..support.http_server import (
    HANG,
    Handler,
    ReceivedRequest,
    Reply,
    StubResponse,
    StubServer,
    always,
    stub_server,
)
from ..support.network import free_port, http_status
from ..support.service import FIELDS, Client, Service
from ..support.waiting import eventually
from .conftest import Start
from .test_other_hosts import HOSTS, hosted

pytestmark = pytest.mark.slow

ACCEPTED = StubResponse(
    body=ExportTraceServiceResponse().SerializeToString(),
    headers={"Content-Type": "application/x-protobuf"},
)
CATALOG = CatalogStorage(MemoryStorage())
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@frozen
class Collector:
    """A collector of OTLP over HTTP, which parses what it receives."""

    server: StubServer
    spans: list[Span] = field(factory=list)
    resources: list[dict[str, str]] = field(factory=list)

    def receive(self, request: ReceivedRequest) -> Reply:
        """Parse an export and accept it."""
        assert (request.method, request.path) == ("POST", "/v1/traces")
        assert request.headers["content-type"] == "application/x-protobuf"
        export = ExportTraceServiceRequest.FromString(request.body)
        for each in export.resource_spans:
            self.resources.append(attributes(each.resource))
            for scope in each.scope_spans:
                assert scope.scope.name == "recipient-fields"
                self.spans.extend(scope.spans)
        return ACCEPTED

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a service that exports to this collector without delay."""
        return exporting_to(self.server.url)

    def request(self, name: str) -> tuple[Span, list[Span]]:
        """Wait for the only request with this name; return its span, and those below it."""
        span = eventually(lambda: next((s for s in self.spans if s.name == name), None))
        assert [s for s in self.spans if s.name == name] == [span]
        return span, [s for s in self.spans if s.parent_span_id == span.span_id]


def exporting_to(url: str) -> dict[str, str]:
    return {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "20"}


def attributes(item: Any) -> dict[str, str]:
    """Return the attributes of a span or a resource as text."""
    return {
        each.key: each.value.string_value or str(each.value.int_value) for each in item.attributes
    }


@pytest.fixture
def collector() -> Iterator[Collector]:
    with stub_server(always(ACCEPTED)) as server:
        collector = Collector(server)
        server.handler = collector.receive
        yield collector


@pytest.fixture
def traced(collector: Collector, start: Start) -> Start:
    """Return a function that starts a service which exports to the collector, and ends first."""
    return partial(start, "--traces", **collector.environment)


class TestRequests:
    def test_a_request_is_a_span_with_its_storage_calls_below(
        self, traced: Start, collector: Collector, issued: IssuedKey, acme: OrganizationId
    ) -> None:
        service = traced()
        client = service.client(issued.plain.reveal())
        created = client.create(name="Loyalty tier")
        response = client("GET", f"{FIELDS}/loyalty_tier?", **{"X-Request-Id": "abc"})
        assert (created.status, response.status) == (201, 200)

        span, below = collector.request("GET /api/v1/recipient_fields/{id_or_key}")

        assert span.kind == Span.SPAN_KIND_SERVER
        assert span.parent_span_id == b""
        assert span.status.code == Status.STATUS_CODE_UNSET
        assert attributes(span) == {
            "http.request.method": "GET",
            "http.response.status_code": "200",
            "http.route": "/api/v1/recipient_fields/{id_or_key}",
            "recipient_fields.request_id": "abc",
            "url.scheme": "http",
        }
        assert [each.name for each in below] == ["ApiKeyRepository.find", "FieldRepository.get"]
        for each in below:
            assert each.trace_id == span.trace_id
            assert each.kind == Span.SPAN_KIND_CLIENT
            assert attributes(each) == {
                "db.system.name": "sqlite",
                "db.operation.name": each.name.partition(".")[2],
            }
            assert span.start_time_unix_nano <= each.start_time_unix_nano
            assert each.end_time_unix_nano <= span.end_time_unix_nano

    def test_the_resource_names_the_service(self, traced: Start, collector: Collector) -> None:
        service = traced()
        assert service.anonymous("GET", "/healthz").status == 200
        collector.request("GET /healthz")

        assert {each["service.name"] for each in collector.resources} == {"recipient-fields"}
        assert all(each["service.version"] for each in collector.resources)

    def test_variables_override_the_resource(self, traced: Start, collector: Collector) -> None:
        variables = {
            "OTEL_SERVICE_NAME": "fields",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=staging",
        }
        service = traced(**variables)
        assert service.anonymous("GET", "/healthz").status == 200
        collector.request("GET /healthz")

        assert collector.resources[0]["service.name"] == "fields"
        assert collector.resources[0]["deployment.environment.name"] == "staging"

    def test_spans_contain_no_key_path_query_string_body_or_argument(
        self, traced: Start, collector: Collector, core: Core, acme: OrganizationId, key: str
    ) -> None:
        invitation = core.administrators.invite(acme, "ada@example.com", Role.ADMIN)
        assert isinstance(invitation, IssuedInvitation)
        token = invitation.token.reveal()
        service = traced("--console")
        client = service.client(key)
        client.create(name="Sentinel body", key="sentinel_body")
        client("GET", f"{FIELDS}?q=sentinel_query")
        client("GET", f"{FIELDS}/sentinel_path")
        client("GET", FIELDS, tracestate=f"a={key}", traceparent=f"00-{TRACE}-{PARENT}-01")
        client("GET", f"/unknown/{key}")
        service.anonymous("GET", f"/console/invitations/{token}")
        eventually(lambda: "GET /console/invitations/{token}" in {s.name for s in collector.spans})
        service.stop()

        assert len([s for s in collector.spans if s.kind == Span.SPAN_KIND_SERVER]) == 6
        exported = b"".join(request.body for request in collector.server.requests)
        for secret in (key, token, "sentinel", "Sentinel"):
            assert secret.encode() not in exported

    def test_a_request_id_that_is_a_key_is_not_exported(
        self, collector: Collector, storage: str, key: str
    ) -> None:
        service = Service(storage, "--traces", prefix=(), **collector.environment)
        try:
            service.client(key)("GET", FIELDS, **{"X-Request-Id": key})
            span, _ = collector.request(f"GET {FIELDS}")
        finally:
            service.kill()

        assert attributes(span)["recipient_fields.request_id"] == "[API key]"

    def test_a_path_without_a_route_is_named_by_the_method(
        self, traced: Start, collector: Collector
    ) -> None:
        service = traced()
        assert service.anonymous("GET", "/unknown").status == 404

        assert "http.route" not in attributes(collector.request("GET")[0])

    def test_an_unknown_method_is_not_exported(self, storage: str, collector: Collector) -> None:
        settings = {**collector.environment, "RECIPIENT_FIELDS_TRACES": "true"}
        # `serve` rejects such a request before the application receives it.
        with hosted("granian", storage, subprocess.DEVNULL, **settings) as port:
            eventually(lambda: http_status(port, "/readyz") == 200)
            Client(f"http://127.0.0.1:{port}")("BREW", "/healthz")

            span, _ = collector.request("HTTP /healthz")

        assert attributes(span)["http.request.method"] == "_OTHER"

    def test_a_client_error_is_no_failure(
        self, traced: Start, collector: Collector, key: str
    ) -> None:
        service = traced()
        assert service.client(key)("GET", f"{FIELDS}/missing").status == 404

        span, below = collector.request("GET /api/v1/recipient_fields/{id_or_key}")

        assert span.status.code == Status.STATUS_CODE_UNSET
        assert attributes(below[-1])["error.type"] == "FieldNotFound"
        assert below[-1].status.code == Status.STATUS_CODE_UNSET

    def test_a_failure_of_the_storage_is_one(
        self, traced: Start, collector: Collector, key: str, file: Path
    ) -> None:
        client = traced().client(key)
        with closing(sqlite3.connect(file, isolation_level=None)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")
            assert client.create(name="Blocked").status == 503

        span, below = collector.request("POST /api/v1/recipient_fields")

        assert span.status.code == Status.STATUS_CODE_ERROR
        assert attributes(span)["error.type"] == "503"
        [failed] = [each for each in below if each.name == "FieldRepository.change"]
        assert failed.status.code == Status.STATUS_CODE_ERROR
        assert attributes(failed)["error.type"] == "StorageUnavailable"
        assert (failed.status.message, list(failed.events)) == ("", [])

    def test_pages_of_the_console_are_spans(self, traced: Start, collector: Collector) -> None:
        service = traced("--console")
        assert service.anonymous("GET", "/console/sign-in").status == 200

        assert collector.request("GET /console/sign-in")


class TestTraceparent:
    def test_the_span_belongs_to_the_trace_of_the_client(
        self, traced: Start, collector: Collector
    ) -> None:
        service = traced()
        service.anonymous("GET", "/healthz", traceparent=f"00-{TRACE}-{PARENT}-01")

        span, _ = collector.request("GET /healthz")

        assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)

    def test_an_invalid_one_begins_a_new_trace(self, traced: Start, collector: Collector) -> None:
        invalid = {
            "empty": "",
            "text": "nonsense",
            "short": f"00-{TRACE}-{PARENT}",
            "version": f"ff-{TRACE}-{PARENT}-01",
            "trace": f"00-{'0' * 32}-{PARENT}-01",
            "parent": f"00-{TRACE}-{'0' * 16}-01",
            "upper-case": f"00-{TRACE.upper()}-{PARENT}-01",
            "two": f"00-{TRACE}-{PARENT}-01,00-{TRACE}-{PARENT}-01",
        }
        service = traced()
        for name, traceparent in invalid.items():
            headers = {"X-Request-Id": name, "traceparent": traceparent}
            assert service.anonymous("GET", "/healthz", **headers).status == 200
        service.stop()

        begun = {
            attributes(span)["recipient_fields.request_id"]: span.parent_span_id == b""
            for span in collector.spans
            if span.trace_id.hex() not in {TRACE, "0" * 32}
        }
        assert begun == dict.fromkeys(invalid, True)

    def test_the_client_can_decide_not_to_sample(self, traced: Start, collector: Collector) -> None:
        service = traced()
        service.anonymous("GET", "/readyz", traceparent=f"00-{TRACE}-{PARENT}-00")
        service.anonymous("GET", "/healthz", traceparent=f"00-{TRACE}-{PARENT}-01")
        service.stop()

        assert [span.name for span in collector.spans] == ["GET /healthz"]

    def test_a_variable_selects_the_sampler(self, traced: Start, collector: Collector) -> None:
        service = traced(OTEL_TRACES_SAMPLER="always_off")
        service.anonymous("GET", "/healthz", traceparent=f"00-{TRACE}-{PARENT}-01")
        service.stop()

        assert collector.spans == []


class TestHosts:
    def test_the_shutdown_exports_the_last_spans(self, traced: Start, collector: Collector) -> None:
        service = traced(OTEL_BSP_SCHEDULE_DELAY="60000")
        for _ in range(3):
            assert service.anonymous("GET", "/healthz").status == 200
        assert collector.spans == []

        assert service.stop() == 0
        assert [span.name for span in collector.spans] == ["GET /healthz"] * 3

    @pytest.mark.parametrize("host", HOSTS)
    def test_another_host_exports_them_too(
        self, host: str, storage: str, core: Core, collector: Collector
    ) -> None:
        late = {
            **collector.environment,
            "OTEL_BSP_SCHEDULE_DELAY": "60000",
            "RECIPIENT_FIELDS_TRACES": "true",
        }
        with hosted(host, storage, subprocess.DEVNULL, **late) as port:
            eventually(lambda: http_status(port, "/readyz") == 200)
            assert http_status(port, "/healthz") == 200
            assert collector.spans == []

        assert "GET /healthz" in {span.name for span in collector.spans}


class TestFaultsOfTheCollector:
    @pytest.fixture(params=["down", "hangs", "rejects"])
    def faulty(self, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
        """Return the variables of a service that exports to a faulty collector."""
        if request.param == "down":
            yield exporting_to(f"http://127.0.0.1:{free_port()}/sentinel-token")
            return
        reply: Reply = HANG if request.param == "hangs" else StubResponse(401, b"no")
        handler: Handler = always(reply)
        with stub_server(handler) as server:
            yield exporting_to(f"{server.url}/sentinel-token")

    def test_requests_neither_fail_nor_wait(
        self, faulty: dict[str, str], start: Start, key: str
    ) -> None:
        small = {"OTEL_BSP_MAX_QUEUE_SIZE": "16", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "4"}
        service = start("--traces", **faulty, **small, OTEL_EXPORTER_OTLP_TIMEOUT="1")
        client = service.client(key)
        slowest = 0.0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            began = time.monotonic()
            assert client("GET", FIELDS).status == 200
            slowest = max(slowest, time.monotonic() - began)
        assert slowest < 0.9  # Each attempt to export can take 1 s.

        warnings = [line for line in service.log if line["level"] != "info"]
        assert [line["logger"] for line in warnings] == [
            "recipient_fields.entrypoints.service.traces"
        ]
        assert "OpenTelemetry" in warnings[0]["event"]
        assert "sentinel" not in service.stderr

    def test_the_shutdown_does_not_wait_for_long(
        self, faulty: dict[str, str], start: Start
    ) -> None:
        service = start("--traces", **faulty)
        assert service.anonymous("GET", "/healthz").status == 200
        began = time.monotonic()

        assert service.stop() == 0
        assert time.monotonic() - began < 6


def test_the_log_has_at_most_one_warning_per_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from recipient_fields.entrypoints.service import traces

    now = 1_000.0
    monkeypatch.setattr(traces, "monotonic", lambda: now)
    handler = traces._OncePerMinute()
    sdk = logging.Logger("opentelemetry.sdk")
    sdk.addHandler(handler)
    for now in (1_000.0, 1_001.0, 1_059.9, 1_060.0, 1_061.0):
        sdk.error("at %d", now)

    assert [record.getMessage().rpartition(" ")[2] for record in caplog.records] == ["1000", "1060"]


class TestSettings:
    def test_an_invalid_variable_is_reported_on_one_line(self, script: Script) -> None:
        variables = {"OTEL_BSP_MAX_QUEUE_SIZE": "-1"}
        run = script("serve", "--traces", "--listen", "127.0.0.1:0", environment=variables)

        assert run.failure() == (
            "A variable OTEL_* has an invalid value: max_queue_size must be a positive integer."
            " Correct it."
        )

    @pytest.mark.parametrize(("traces", "imports"), [("false", False), ("true", True)])
    def test_only_a_service_with_traces_imports_opentelemetry(
        self, traces: str, imports: bool
    ) -> None:
        program = (
            "import os, sys\n"
            "from recipient_fields.entrypoints.cli.service import process\n"
            "from recipient_fields.entrypoints.wsgi import application\n"
            "application()\n"
            "print(any(name.startswith('opentelemetry') for name in sys.modules))"
        )
        variables = {
            "RECIPIENT_FIELDS_STORAGE": "memory:",
            "RECIPIENT_FIELDS_CONSOLE": "true",
            "RECIPIENT_FIELDS_CONSOLE_URL": "https://fields.example.com",
            "RECIPIENT_FIELDS_TRACES": traces,
        }

        run = subprocess.run(
            [sys.executable, "-c", program],
            env=environment_with(variables),
            capture_output=True,
            text=True,
            check=True,
        )

        assert run.stdout == f"{imports}\n"


def test_a_traced_storage_has_the_groups_of_the_storage() -> None:
    traces = Traces("memory")
    try:
        unrecorded = UnrecordedStorage(MemoryStorage()), [*StorageGroup][1:]
        for storage, groups in ((MemoryStorage(), [*StorageGroup]), (CATALOG, []), unrecorded):
            traced = traces.trace_storage(storage)
            assert [group for group in StorageGroup if group.is_in(traced)] == groups
    finally:
        traces.close()
