"""Errors: one table, closed; and what is told when something breaks (HTTP contract, section 6)."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.client import RequestRefused
from recipient_fields.adapters.esp.account import NoFieldSource
from recipient_fields.adapters.introspection.environment import InvalidIntrospectionUrl
from recipient_fields.adapters.sqlite import BackupFailed
from recipient_fields.application import (
    CopyFailed,
    MissingExtra,
    NotJson,
    TooManyValues,
)
from recipient_fields.application.environment import MissingCredentials, UnusableCredentials
from recipient_fields.domain import (
    ApiKeyNotActive,
    ApiKeyNotFound,
    DigestTaken,
    InvalidApiKey,
    InvalidOrganization,
    InvalidQuery,
    InvalidStorageUrl,
    KeyRefused,
    OrganizationChanged,
    OrganizationId,
    RecipientFieldsError,
    StorageNotEmpty,
    StorageNotFound,
    StorageUnavailable,
)
from recipient_fields.domain.esp import (
    ContentNotExportable,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    IntegrationNotFound,
    InvalidIntegration,
    NoSafeForm,
    SyncOvertaken,
)
from recipient_fields.entrypoints.hosting import AddressUnavailable
from recipient_fields.entrypoints.http.problems import CODES, STATUSES
from recipient_fields.entrypoints.selection import NoBackup, UnknownKeyValidator
from recipient_fields.entrypoints.server.log import AuditNotWritten
from recipient_fields.entrypoints.settings import InvalidSettings

from ..support.postgres import execute
from .api import FIELDS, Api, enveloped
from .conftest import Stand

DOCUMENTED = {
    "invalid_json": 400,
    "invalid_parameter": 400,
    "malformed_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    "request_timeout": 408,
    "key_already_exists": 409,
    "field_limit_reached": 409,
    "precondition_failed": 412,
    "payload_too_large": 413,
    "uri_too_long": 414,
    "unsupported_media_type": 415,
    "validation_failed": 422,
    "headers_too_large": 431,
    "internal_error": 500,
    "not_implemented": 501,
    "api_key_validation_unavailable": 503,
    "service_unavailable": 503,
    "overloaded": 503,
}
"""The table of the contract."""

ADMINISTRATORS_ONLY = {
    AddressUnavailable,
    AuditNotWritten,
    BackupFailed,
    CopyFailed,
    ApiKeyNotActive,
    ApiKeyNotFound,
    InvalidApiKey,
    InvalidOrganization,
    InvalidQuery,
    InvalidStorageUrl,
    ContentNotExportable,
    DigestTaken,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    IntegrationNotFound,
    InvalidIntegration,
    InvalidSettings,
    KeyRefused,
    MissingCredentials,
    MissingExtra,
    NoBackup,
    NoFieldSource,
    NoSafeForm,
    NotJson,
    OrganizationChanged,
    RequestRefused,
    StorageNotEmpty,
    StorageNotFound,
    SyncOvertaken,
    TooManyValues,
    UnknownKeyValidator,
    UnusableCredentials,
    InvalidIntrospectionUrl,
}
"""What no request through the API can raise: it is for administrators, operators, exports and the
users of a client, or, as NotJson, TooManyValues and InvalidQuery, refused where the
request is read."""

BODY = enveloped({"name": "Town", "data_type": "text"})
REQUESTS = [
    ("GET", FIELDS),
    ("HEAD", FIELDS),
    ("POST", FIELDS),
    *[(method, f"{FIELDS}/city") for method in ("GET", "HEAD", "PATCH", "PUT", "DELETE")],
]


def leaves(kind: type[RecipientFieldsError]) -> set[type[RecipientFieldsError]]:
    ours = [k for k in kind.__subclasses__() if k.__module__.startswith("recipient_fields.")]
    return set().union(*map(leaves, ours)) if ours else {kind}


def test_every_error_that_can_reach_a_client_has_its_answer():
    assert leaves(RecipientFieldsError) - ADMINISTRATORS_ONLY == CODES.keys()


def test_every_code_and_its_status_are_documented():
    assert STATUSES.items() <= DOCUMENTED.items()
    assert DOCUMENTED.keys() - STATUSES.keys() <= {"overloaded"}


def test_every_error_has_a_code_with_a_status():
    assert set(CODES.values()) <= STATUSES.keys()


class Broken:
    """A repository with a defect."""

    def __getattr__(self, name: str):
        raise ZeroDivisionError("SELECT secret FROM /tmp/file.py")


class TestADefect:
    @pytest.fixture
    def client(self, stand: Stand, api: Api) -> Api:
        return stand.client(service=stand.service_over(Broken())).bearing(api.key)

    @pytest.mark.parametrize(("method", "path"), REQUESTS)
    def test_is_answered_as_an_internal_error(self, client: Api, method: str, path: str):
        answer = client.send(method, path, BODY)
        assert answer.status == 500
        if method != "HEAD":
            assert answer.outcome == (500, "internal_error")

    def test_is_not_explained_to_the_client(self, client: Api):
        content = client.list().content
        assert not any(word in content for word in (b"secret", b"ZeroDivision", b"Broken", b"/tmp"))

    def test_is_logged_with_its_traceback_under_the_requests_id(
        self, client: Api, caplog: pytest.LogCaptureFixture
    ):
        client.list(x_request_id="find-me")
        (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
        assert "find-me" in record.getMessage()
        assert "Traceback" in caplog.text
        assert "ZeroDivisionError" in caplog.text
        assert (client.key or "none") not in caplog.text

    def test_is_logged_under_an_id_of_ours_where_the_client_has_none(
        self, client: Api, caplog: pytest.LogCaptureFixture
    ):
        assert client.list().error["request_id"] in caplog.text

    def test_harms_no_later_request(self, client: Api):
        assert client.list().status == 500
        assert client.send("GET", "/readyz").status == 200


class OfAnAdapter(StorageUnavailable):
    """A kind of failure that an adapter tells from others."""


class OfAPlugin(RecipientFieldsError):
    """An error that no table knows."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OfAnAdapter, (503, "service_unavailable")),
        (OfAPlugin, (500, "internal_error")),
        (ApiKeyNotFound, (500, "internal_error")),
    ],
)
def test_an_error_beyond_the_table_is_answered_too(stand: Stand, api: Api, error, expected):
    class Failing:
        def __getattr__(self, name: str):
            raise error

    client = stand.client(service=stand.service_over(Failing())).bearing(api.key)
    assert client.list().outcome == expected


class TestWhileTheFieldsCanNotBeRead:
    """The fields are in a storage that is closed; the keys are in another."""

    @pytest.fixture
    def client(self, stand: Stand, closed, api: Api) -> Api:
        return stand.client(service=stand.service_over(closed.fields)).bearing(api.key)

    @pytest.mark.parametrize(("method", "path"), REQUESTS)
    def test_a_request_is_answered_503(self, client: Api, method: str, path: str):
        answer = client.send(method, path, BODY)
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0

    def test_the_answer_tells_nothing_of_the_storage(self, client: Api):
        answer = client.list()
        assert answer.outcome == (503, "service_unavailable")
        assert "closed" not in answer.error["message"]

    def test_what_needs_no_storage_is_answered_as_ever(self, client: Api):
        assert client.post({"name": " "}).status == 422
        assert client.get("01").status == 404
        assert client.send("OPTIONS", FIELDS).status == 204


def test_a_damaged_file_is_a_storage_that_can_not_be_read(stand: Stand, api: Api, folder: Path):
    broken = Stand.over(f"sqlite:{folder / 'broken.db'}")
    with sqlite3.connect(folder / "broken.db") as connection:
        connection.execute("DROP TABLE recipient_fields")
    connection.close()
    client = stand.client(service=broken.service, check=broken.storage.check).bearing(api.key)
    answer = client.get("city")
    broken.storage.close()
    assert answer.outcome == (503, "service_unavailable")
    assert "table" not in answer.error["message"]


class TestAStoredFieldThatBreaksARule:
    """As nobody but somebody else can have stored it: the client did nothing wrong."""

    @pytest.fixture(params=["sqlite", "postgresql"])
    def client(self, request: pytest.FixtureRequest, folder: Path) -> Iterator[Api]:
        """A client of a storage whose one field, `city`, has a line break in its name."""
        if request.param == "postgresql":
            database = request.getfixturevalue("emptied_database")
            stand = Stand(request.getfixturevalue("postgresql"))
            client = self.client_with_field(stand)
            execute(database, "UPDATE recipient_fields SET name = E'a\\nb'")
            yield client
            return
        with closing(Stand.over(f"sqlite:{folder / 'spoiled.db'}").storage) as storage:
            client = self.client_with_field(Stand(storage))
            with closing(sqlite3.connect(folder / "spoiled.db")) as connection, connection:
                connection.execute("UPDATE recipient_fields SET name = 'a' || char(10) || 'b'")
            yield client

    def client_with_field(self, stand: Stand) -> Api:
        client = stand.bearer(stand.organization())
        assert client.post({"name": "City", "data_type": "text"}).status == 201
        return client

    @pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
    def test_is_answered_as_an_internal_error(
        self, client: Api, method: str, caplog: pytest.LogCaptureFixture
    ):
        answer = client.send(method, f"{FIELDS}/city", BODY)
        assert answer.outcome == (500, "internal_error")
        assert "details" not in answer.error
        assert "Traceback" in caplog.text
        assert "UnreadableRow: recipient_fields" in caplog.text


def test_a_key_of_an_organization_that_is_gone_finds_nothing(stand: Stand):
    other = Stand.over("memory:")
    bearer = other.bearer(other.organization())
    client = stand.client(validator=other.validator).bearing(bearer.key)
    assert client.list().outcome == (404, "not_found")
    assert client.post({"name": "City", "data_type": "text"}).outcome == (404, "not_found")
    assert client.get(1).outcome == (404, "not_found")


@pytest.mark.parametrize("own", ["a", "A-1_2.b", "x" * 64, "0"])
def test_a_clients_request_id_is_echoed(api: Api, own: str):
    assert api.list(x_request_id=own).headers["x-request-id"] == own
    assert api.get("missing", x_request_id=own).error["request_id"] == own


@pytest.mark.parametrize("own", [None, "", "x" * 65, "a b", "a/b", "ä", "<a>", ["a", "b"]])
def test_another_request_id_is_replaced(api: Api, own: object):
    first, second = (api.list(x_request_id=own).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert own not in [first, second]
    assert "a" not in [first, second]


def test_a_refusal_changes_nothing_for_the_next_request(api: Api, bakery: OrganizationId):
    assert api.send("POST", FIELDS, "[" * 100).status == 400
    assert api.post({"name": "City", "data_type": "text"}).status == 201
