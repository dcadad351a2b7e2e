"""The table of errors, and responses to internal errors and outages."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.client import RequestRefused
from recipient_fields.adapters.introspection.settings import InvalidIntrospectionUrl
from recipient_fields.adapters.sqlite import BackupFailed
from recipient_fields.application import (
    CopyFailed,
    CredentialsNotPermitted,
    MissingExtra,
    NotJson,
    TooManyValues,
)
from recipient_fields.application.environment import MissingCredentials, UnusableCredentials
from recipient_fields.application.ports.recipients import UnreadableFile
from recipient_fields.domain import (
    AdministratorNotFound,
    AdministratorShared,
    ApiKeyNotActive,
    ApiKeyNotFound,
    BatchRejected,
    DigestTaken,
    InvalidAdministrator,
    InvalidApiKey,
    InvalidOrganization,
    InvalidQuery,
    InvalidStorageUrl,
    InvitationNotFound,
    KeyRefused,
    LastAdministrator,
    LinkNotValid,
    OrganizationChanged,
    PasswordHashingBusy,
    RecipientFieldsError,
    SignInFailed,
    SignInThrottled,
    StorageNotEmpty,
    StorageNotFound,
    StorageUnavailable,
)
from recipient_fields.domain.esp.errors import NoSafeForm, NotInsertable
from recipient_fields.domain.integrations import (
    AccountNotConfirmed,
    CredentialUnreadable,
    EmptyReport,
    EspFieldTaken,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    InvalidConnection,
    InvalidIntegration,
    InvalidNames,
    LeaseLost,
    NoFieldSource,
    NotConnected,
    NotDue,
    RemovalsNotConfirmed,
    SyncOvertaken,
    SyncPlanChanged,
)
from recipient_fields.entrypoints.cli.accounts.audit_log import AuditNotWritten
from recipient_fields.entrypoints.cli.fields.files import InvalidFile
from recipient_fields.entrypoints.cli.service.demo import OtherData
from recipient_fields.entrypoints.console.recipients import ListNotChecked
from recipient_fields.entrypoints.http.problems import CODES, STATUSES
from recipient_fields.entrypoints.service.hosting import AddressUnavailable
from recipient_fields.entrypoints.service.selection import (
    NoBackup,
    UnknownKeyValidator,
    UnusableProfile,
)
from recipient_fields.entrypoints.service.settings import InvalidSettings

from ..support.postgres import execute
from .api import FIELDS, Api, enveloped
from .conftest import Harness

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
    "history_removed": 409,
    "catalog_too_large": 409,
    "precondition_failed": 412,
    "payload_too_large": 413,
    "uri_too_long": 414,
    "unsupported_media_type": 415,
    "not_expressible": 422,
    "validation_failed": 422,
    "headers_too_large": 431,
    "internal_error": 500,
    "not_implemented": 501,
    "api_key_validation_unavailable": 503,
    "service_unavailable": 503,
    "overloaded": 503,
}
"""The table of the contract."""

NOT_OVER_HTTP = {
    AddressUnavailable,
    AdministratorNotFound,
    AdministratorShared,
    AuditNotWritten,
    BackupFailed,
    CredentialsNotPermitted,
    CopyFailed,
    ApiKeyNotActive,
    ApiKeyNotFound,
    InvalidAdministrator,
    InvalidApiKey,
    InvalidFile,
    UnreadableFile,
    ListNotChecked,
    InvalidOrganization,
    InvalidQuery,
    InvalidStorageUrl,
    InvitationNotFound,
    NotInsertable,
    DigestTaken,
    EmptyReport,
    EspFieldTaken,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    InvalidIntegration,
    InvalidNames,
    InvalidSettings,
    KeyRefused,
    LastAdministrator,
    LinkNotValid,
    MissingCredentials,
    MissingExtra,
    NoBackup,
    NoFieldSource,
    NoSafeForm,
    NotJson,
    OrganizationChanged,
    OtherData,
    PasswordHashingBusy,
    RemovalsNotConfirmed,
    RequestRefused,
    SignInFailed,
    SignInThrottled,
    StorageNotEmpty,
    StorageNotFound,
    SyncOvertaken,
    SyncPlanChanged,
    TooManyValues,
    UnknownKeyValidator,
    UnusableCredentials,
    UnusableProfile,
    InvalidIntrospectionUrl,
    AccountNotConfirmed,
    CredentialUnreadable,
    InvalidConnection,
    LeaseLost,
    NotConnected,
    NotDue,
}
"""Errors that no request to the API can raise. They concern administrators, operators, exports and
users of a client. The code that reads a request converts NotJson, TooManyValues and InvalidQuery to
other errors."""

BODY = enveloped({"name": "Town", "data_type": "text"})
REQUESTS = [
    ("GET", FIELDS),
    ("HEAD", FIELDS),
    ("POST", FIELDS),
    *[(method, f"{FIELDS}/city") for method in ("GET", "HEAD", "PATCH", "PUT", "DELETE")],
]


def leaves(error: type[RecipientFieldsError]) -> set[type[RecipientFieldsError]]:
    subclasses = [k for k in error.__subclasses__() if k.__module__.startswith("recipient_fields.")]
    return set().union(*map(leaves, subclasses)) if subclasses else {error}


def test_every_error_that_can_reach_a_client_has_a_code():
    assert leaves(RecipientFieldsError) - NOT_OVER_HTTP == CODES.keys() | {BatchRejected}


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
    def client(self, harness: Harness, api: Api) -> Api:
        return harness.client(fields=harness.service_with(Broken())).with_key(api.key)

    def test_gets_an_internal_error(self, client):
        statuses = {request: client.send(*request, BODY).status for request in REQUESTS}
        assert statuses == dict.fromkeys(REQUESTS, 500)
        assert client.list().status_and_code == (500, "internal_error")

    def test_is_not_explained_to_the_client(self, client):
        content = client.list().content
        assert not any(word in content for word in (b"secret", b"ZeroDivision", b"Broken", b"/tmp"))

    def test_is_logged_with_its_traceback_and_the_request_id(self, client, caplog):
        client.list(x_request_id="find-me")
        (record,) = [r for r in caplog.records if r.levelno == logging.ERROR]
        assert "find-me" in record.getMessage()
        assert "Traceback" in caplog.text
        assert "ZeroDivisionError" in caplog.text
        assert (client.key or "none") not in caplog.text

    def test_is_logged_with_a_generated_id_if_the_client_sends_none(self, client, caplog):
        assert client.list().error["request_id"] in caplog.text

    def test_does_not_affect_later_requests(self, client):
        assert client.list().status == 500
        assert client.send("GET", "/readyz").status == 200


class AdapterError(StorageUnavailable):
    """An error that an adapter derives from an error of the table."""


class PluginError(RecipientFieldsError):
    """An error that is not in the table."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AdapterError, (503, "service_unavailable")),
        (PluginError, (500, "internal_error")),
        (ApiKeyNotFound, (500, "internal_error")),
    ],
)
def test_an_error_that_is_not_in_the_table_gets_a_response(harness, api, error, expected):
    class Failing:
        def __getattr__(self, name: str):
            raise error

    client = harness.client(fields=harness.service_with(Failing())).with_key(api.key)
    assert client.list().status_and_code == expected


class TestWhileTheFieldsCanNotBeRead:
    """The fields are in a closed storage, and the keys in another one."""

    @pytest.fixture
    def client(self, harness: Harness, closed, api: Api) -> Api:
        return harness.client(fields=harness.service_with(closed.fields)).with_key(api.key)

    def test_every_request_gets_503(self, client):
        responses = {request: client.send(*request, BODY) for request in REQUESTS}
        statuses = {request: response.status for request, response in responses.items()}
        assert statuses == dict.fromkeys(REQUESTS, 503)
        assert all(int(each.headers["retry-after"]) > 0 for each in responses.values())

    def test_the_response_does_not_mention_the_storage(self, client):
        response = client.list()
        assert response.status_and_code == (503, "service_unavailable")
        assert "closed" not in response.error["message"]

    def test_requests_that_need_no_storage_get_their_usual_response(self, client):
        assert client.post({"name": " "}).status == 422
        assert client.get("01").status == 404
        assert client.send("OPTIONS", FIELDS).status == 204


def test_a_damaged_file_makes_the_service_unavailable(harness, api, folder):
    broken = Harness.open(f"sqlite:{folder / 'broken.db'}")
    with sqlite3.connect(folder / "broken.db") as connection:
        connection.execute("DROP TABLE recipient_fields")
    connection.close()
    client = harness.client(fields=broken.service, check=broken.storage.check).with_key(api.key)
    response = client.get("city")
    broken.storage.close()
    assert response.status_and_code == (503, "service_unavailable")
    assert "table" not in response.error["message"]


class TestAStoredFieldThatBreaksARule:
    """Another program stored the field, so the error is not one of the client."""

    @pytest.fixture(params=["sqlite", "postgresql"])
    def client(self, request: pytest.FixtureRequest, folder: Path) -> Iterator[Api]:
        """Return a client of a storage whose only field, `city`, has a line break in its name."""
        if request.param == "postgresql":
            database = request.getfixturevalue("emptied_database")
            harness = Harness(request.getfixturevalue("postgresql"))
            client = self.client_with_field(harness)
            execute(database, "UPDATE recipient_fields SET name = E'a\\nb'")
            yield client
            return
        with closing(Harness.open(f"sqlite:{folder / 'spoiled.db'}").storage) as storage:
            client = self.client_with_field(Harness(storage))
            with closing(sqlite3.connect(folder / "spoiled.db")) as connection, connection:
                connection.execute("UPDATE recipient_fields SET name = 'a' || char(10) || 'b'")
            yield client

    def client_with_field(self, harness: Harness) -> Api:
        client = harness.client_with_key(harness.organization())
        assert client.post({"name": "City", "data_type": "text"}).status == 201
        return client

    @pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
    def test_gets_an_internal_error(self, client, method, caplog):
        response = client.send(method, f"{FIELDS}/city", BODY)
        assert response.status_and_code == (500, "internal_error")
        assert "details" not in response.error
        assert "Traceback" in caplog.text
        assert "UnreadableRow: recipient_fields" in caplog.text


def test_a_key_of_a_missing_organization_gets_404(harness):
    other = Harness.open("memory:")
    bearer = other.client_with_key(other.organization())
    client = harness.client(validator=other.validator).with_key(bearer.key)
    assert client.list().status_and_code == (404, "not_found")
    assert client.post({"name": "City", "data_type": "text"}).status_and_code == (404, "not_found")
    assert client.get(1).status_and_code == (404, "not_found")


@pytest.mark.parametrize("own", ["a", "A-1_2.b", "x" * 64, "0"])
def test_a_valid_request_id_is_returned(api, own):
    assert api.list(x_request_id=own).headers["x-request-id"] == own
    assert api.get("missing", x_request_id=own).error["request_id"] == own


@pytest.mark.parametrize("own", [None, "", "x" * 65, "a b", "a/b", "ä", "<a>", ["a", "b"]])
def test_an_invalid_request_id_is_replaced(api, own):
    first, second = (api.list(x_request_id=own).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert own not in [first, second]
    assert "a" not in [first, second]


def test_a_rejected_request_does_not_affect_the_next_one(api, bakery):
    assert api.send("POST", FIELDS, "[" * 100).status == 400
    assert api.post({"name": "City", "data_type": "text"}).status == 201
