"""Metrics for Prometheus, whose time series clients can't create."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from typing import ClassVar

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from recipient_fields.adapters.postgres import PostgresStorage
from recipient_fields.application import Core, Pooled
from recipient_fields.domain import (
    API,
    InvalidField,
    OrganizationId,
    RecipientField,
    Rule,
    StorageUnavailable,
    Violation,
)
from recipient_fields.entrypoints.http.heavy_requests import HeavyRequests
from recipient_fields.entrypoints.http.metrics import Metrics, create_admin_app
from recipient_fields.entrypoints.http.problems import RequestRejected
from recipient_fields.entrypoints.http.responses import UnreadResponses
from recipient_fields.testing.examples import AUTHOR
from recipient_fields.testing.field_changes import update_field

from .api import FIELDS, Api, falcon_transport
from .conftest import Harness

STORAGES = ("memory",)

pytestmark = pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def client(harness: Harness, bakery: OrganizationId, metrics: Metrics) -> Api:
    """Return a client of the bakery, whose requests are counted."""
    key = harness.issue_key(bakery).plain.reveal()
    return measured_client(harness, metrics).with_key(key)


def measured_client(harness: Harness, metrics: Metrics, **parts: object) -> Api:
    validator = metrics.counting(harness.validator)
    return harness.client(
        **{"validator": validator, "on_response": [metrics.record_response]} | parts
    )


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    """Return our samples in `/metrics` by the name and the values of the labels."""
    response = scrape(metrics)
    return {
        (sample.name.removeprefix("recipient_fields_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.decode())
        for sample in family.samples
        if sample.name.startswith("recipient_fields_") and not sample.name.endswith("_created")
    }


def scrape(metrics: Metrics) -> bytes:
    app = create_admin_app(metrics, lambda: None)
    accepted = [("Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1")]
    status, headers, content = falcon_transport(app)("GET", "/metrics", accepted, b"")
    assert status == 200
    assert dict(headers)["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return content


def test_requests_are_counted_by_route_method_and_status(client, metrics):
    client.list()
    client.list()
    client.get("missing")
    client.get("other")

    counts = {labels: n for labels, n in samples(metrics).items() if labels[0] == "requests_total"}
    assert counts == {
        ("requests_total", "GET", FIELDS, "200"): 2,
        ("requests_total", "GET", f"{FIELDS}/{{id_or_key}}", "404"): 2,
    }


def test_the_duration_of_requests_is_reported_per_route(client, metrics):
    client.list()
    client.get("missing")

    shown = samples(metrics)
    for route in (FIELDS, f"{FIELDS}/{{id_or_key}}"):
        assert shown["request_seconds_count", route] == 1
        assert shown["request_seconds_bucket", "+Inf", route] == 1
        assert 0 < shown["request_seconds_sum", route] < 10
    assert shown["request_seconds_bucket", "5.0", FIELDS] == 1


def test_clients_can_not_create_time_series(client, metrics):
    def send_requests(salt: str) -> None:
        client.send("GET", f"/{salt}")
        client.send("GET", f"{FIELDS}/{salt}")
        client.send("GET", f"{FIELDS}?{salt}=1")
        client.send(salt.upper(), FIELDS)
        client.list(authorization=f"Bearer {salt}", x_request_id=salt, user_agent=salt)

    send_requests("first")
    before = samples(metrics).keys()
    for number in range(20):
        send_requests(f"more{number}")

    assert samples(metrics).keys() == before
    assert b"more" not in scrape(metrics)
    assert ("requests_total", "GET", "unrouted", "404") in before
    assert ("requests_total", "other", FIELDS, "405") in before


def test_key_validations_are_counted_by_their_result(harness, client, metrics, closed):
    client.list()
    client.list(authorization="Bearer wrong")
    client.list(authorization=None)
    down = harness.client(
        validator=metrics.counting(Core.over(closed, clock=harness.clock).validator)
    )
    down.with_key(client.key).list()

    results = {
        key[1]: n for key, n in samples(metrics).items() if key[0] == "key_validations_total"
    }
    assert results == {"valid": 1, "refused": 1, "unavailable": 1}


def test_results_that_have_not_occurred_are_reported_as_0(client, metrics):
    shown = samples(metrics)

    assert {shown["key_validations_total", r] for r in ("valid", "refused", "unavailable")} == {0}
    assert shown["input_stopped_by_storage_total",] == 0


def failing(error: Exception) -> object:
    class Failing:
        def __getattr__(self, name: str):
            raise error from error.__cause__

    return Failing()


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


class Frozen(Exception):
    """An error of a driver."""


def test_storage_errors_are_counted_by_their_cause(harness, client, metrics):
    for error in (caused(StorageUnavailable("x"), Frozen()), StorageUnavailable("y")):
        service = harness.service_with(failing(error))
        measured_client(harness, metrics, fields=service).with_key(client.key).list()

    shown = samples(metrics)
    assert shown["storage_errors_total", "Frozen"] == 1
    assert shown["storage_errors_total", "StorageUnavailable"] == 1


def test_storage_errors_of_the_key_check_are_counted(harness, client, metrics, folder):
    broken = Harness.open(f"sqlite:{folder / 'broken.db'}")
    with sqlite3.connect(folder / "broken.db") as connection:
        connection.execute("DROP TABLE api_keys")
    connection.close()
    measured_client(harness, metrics, validator=broken.validator).with_key(client.key).list()
    broken.storage.close()

    assert samples(metrics)["storage_errors_total", "OperationalError"] == 1


def test_input_that_only_the_storage_rejects_is_counted(harness, client, metrics):
    violation = Violation(Rule.TOO_LONG, "PostgreSQL can't store this value.")
    error = caused(InvalidField([violation]), Frozen())
    client = measured_client(
        harness, metrics, fields=harness.service_with(failing(error))
    ).with_key(client.key)

    assert client.post({"name": "City", "data_type": "text"}).status == 422

    assert samples(metrics)["input_stopped_by_storage_total",] == 1


def test_input_that_is_rejected_earlier_is_not_counted(client, metrics):
    assert client.post({"name": "City", "data_type": "text", "key": "city"}).status == 201
    for members in (
        {"name": "\x00", "data_type": "text"},
        {"name": "x" * 300, "data_type": 5, "key": "If"},
        {"name": "N", "data_type": "number", "allowed_values": [1e300, "1", None]},
        {"name": "D", "data_type": "datetime", "allowed_values": ["2026-99-01T00:00:00Z"]},
        {"name": "日本", "data_type": "text"},
    ):
        assert client.post(members).status == 422
    for changes in ({"data_type": "date"}, {"allowed_values": ["\ud800"]}, {"id": 7}):
        assert client.patch("city", changes).status == 422
    assert client.put("If", {"name": "N", "data_type": "text"}).status == 422

    assert samples(metrics)["input_stopped_by_storage_total",] == 0


def test_the_server_and_the_pool_are_read_at_each_scrape(metrics):
    class Host:
        connections, in_flight, shed, refused = 7, 1, 2, 3

    class Pool:
        pool_size = 4
        use: ClassVar = {"open": 4, "in_use": 3, "waiting": 2}

        def pool_use(self) -> dict[str, int]:
            return self.use

    host, pool = Host(), Pool()
    metrics.watch_server(host)
    metrics.watch_pool(pool)
    host.in_flight = pool.use["in_use"] = 0

    shown = samples(metrics)
    assert shown["connections",] == 7
    assert shown["requests_in_flight",] == 0
    assert shown["requests_shed_total",] == 2
    assert shown["requests_malformed_total",] == 3
    assert {state: shown["pool", state] for state in pool.use} == pool.use


def test_heavy_requests_and_interrupted_responses_are_counted(metrics):
    heavy, unread = HeavyRequests(), UnreadResponses(max_bytes=1)
    metrics.watch_large_responses(heavy, unread)
    organization = OrganizationId(1)
    for content in (b"1", b"2", b"3"):
        unread.open(organization, content)
    with heavy.request(organization) as request:
        request.take_slot()
        with suppress(RequestRejected), heavy.request(organization) as other:
            other.take_slot()

    shown = samples(metrics)
    assert shown["heavy_requests_rejected_total",] == 1
    assert shown["responses_interrupted_total",] == 2


def test_the_postgresql_storage_reports_its_connections(emptied_database, postgresql):
    assert isinstance(postgresql, PostgresStorage)
    assert isinstance(postgresql, Pooled)
    harness = Harness(postgresql)
    field = harness.add_field(harness.organization(), API)
    seen = []

    def change(field: RecipientField) -> RecipientField:
        seen.append(postgresql.pool_use())
        return field

    update_field(postgresql.fields, field.organization_id, field.id, change, author=AUTHOR)

    use = seen[-1]  # A change that changes nothing is planned again under the lock.
    assert use.keys() == {"open", "in_use", "waiting"}
    assert 1 <= use["in_use"] <= use["open"]
    assert use["waiting"] == 0


def test_other_storages_do_not_report_connections(storage, closed):
    assert not isinstance(storage, Pooled)
    assert not isinstance(closed, Pooled)


def test_each_service_has_its_own_metrics(client, metrics):
    client.list()

    assert len(samples(Metrics())) < len(samples(metrics))
    assert not [family.name for family in REGISTRY.collect() if "recipient" in family.name]
