"""Behavior that only the client has: API keys, URLs, and errors of a remote service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import cycle
from pathlib import Path
from wsgiref.types import WSGIEnvironment

import pytest

from recipient_fields.adapters.client import RecipientFieldsClient, RequestRefused
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.network import Request
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import (
    Core,
    RecipientFields,
    RecipientFieldService,
    Storage,
    StoredKeyValidator,
)
from recipient_fields.domain import (
    UNCONDITIONAL,
    Access,
    Batch,
    CreateField,
    DataType,
    DeleteField,
    FieldChanges,
    FieldIdentity,
    FieldKey,
    FieldNotFound,
    FieldQuery,
    InsufficientAccess,
    KeyRefused,
    KeyValidationUnavailable,
    OrganizationId,
    OrganizationNotFound,
    StorageUnavailable,
    UpdateField,
)
from recipient_fields.domain.integrations import EspField
from recipient_fields.testing.examples import NOW
from recipient_fields.testing.service import OF_A_FIELD, OF_AN_ORGANIZATION, a_draft

from ...support.http_server import StubResponse, always, stub_server
from .live_server import (
    NO_RETRIES,
    Application,
    Keyring,
    application,
    client_of,
    live_server,
    stub_service,
)

CITY = FieldKey("city")
KEY = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"


def call_of_city(call, client: RecipientFields, organization_id: OrganizationId) -> object:
    return call(client, organization_id, CITY, UNCONDITIONAL)


READS: dict[str, Callable[[RecipientFields, OrganizationId], object]] = {
    **{name: OF_AN_ORGANIZATION[name] for name in ("list", "publish", "find")},
    "get": lambda client, organization_id: client.get_field(organization_id, CITY),
}
WRITES: dict[str, Callable[[RecipientFields, OrganizationId], object]] = {
    **{name: OF_AN_ORGANIZATION[name] for name in ("create", "replace or create", "apply batch")},
    **{name: partial(call_of_city, OF_A_FIELD[name]) for name in ("update", "delete")},
}
CALLS = {**READS, **WRITES}
ABSENT = {
    name: FieldNotFound if name in {"get", "update", "delete"} else OrganizationNotFound
    for name in CALLS
}
"""The error of each call for an organization that does not exist."""
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
each_write = pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def organization_id(storage: Storage) -> OrganizationId:
    return storage.organizations.add("ACME", NOW).id


def client_at(url: str, keys, **options) -> RecipientFieldsClient:
    return RecipientFieldsClient(url, keys=keys, retry_policy=NO_RETRIES, **options)


@pytest.fixture
def client(storage: Storage) -> Iterator[RecipientFieldsClient]:
    """Run a service. Yield a client of it."""
    with client_of(application(storage), Keyring(storage)) as client:
        yield client


@each_call
def test_a_key_unknown_to_the_service_raises_key_refused(storage, organization_id, call):
    with (
        client_of(application(storage), {organization_id: KEY}) as client,
        pytest.raises(KeyRefused) as refused,
    ):
        call(client, organization_id)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "key"),
    [*zip(CALLS, cycle(["", "rfk\n", "rfk_1\r\nX: y", "rfk 1", "rfk_ä", "=", "a=b"]))],
)
def test_a_key_that_a_header_can_not_contain_is_refused_and_not_sent(organization_id, name, key):
    with (
        stub_service(always(StubResponse(200)), {organization_id: key}) as (server, client),
        pytest.raises(KeyRefused),
    ):
        CALLS[name](client, organization_id)
    assert server.requests == []


@pytest.mark.parametrize("name", CALLS)
def test_an_organization_without_a_key_does_not_exist(organization_id, name):
    handler = always(StubResponse(200))
    with stub_service(handler, {}) as (server, client), pytest.raises(ABSENT[name]):
        CALLS[name](client, organization_id)
    assert server.requests == []


def test_a_key_can_be_added_while_the_client_runs(storage, organization_id):
    keys: dict[OrganizationId, str] = {}
    with client_of(application(storage), keys) as client:
        with pytest.raises(OrganizationNotFound):
            client.list_fields(organization_id)
        keys[organization_id] = Keyring(storage)[organization_id]
        assert client.list_fields(organization_id).fields == ()


def test_a_key_is_sent_unchanged_and_is_in_no_repr(organization_id):
    with stub_service(always(StubResponse(204)), {organization_id: KEY}) as (server, client):
        client.delete_field(organization_id, CITY)
        assert KEY not in repr(client)
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(Request(method="GET", target="/", headers=headers))


def test_an_organization_with_the_key_of_another_one_does_not_exist(storage, organization_id):
    other_id = storage.organizations.add("Other", NOW).id
    keys = {organization_id: Keyring(storage)[other_id]}
    with (
        client_of(application(storage), keys) as client,
        pytest.raises(OrganizationNotFound) as absent,
    ):
        client.list_fields(organization_id)
    (note,) = absent.value.__notes__
    assert note == f"The API key of {organization_id} is of organization {other_id}."


@each_write
def test_a_read_only_key_changes_nothing(storage, organization_id, call):
    service = RecipientFieldService(fields=storage.fields, history=storage.history)
    city = service.create_field(organization_id, a_draft())
    keys = Keyring(storage, Access.READ_ONLY)
    with client_of(application(storage), keys) as client:
        with pytest.raises(InsufficientAccess):
            call(client, organization_id)
        assert client.get_field(organization_id, CITY).version_tag == city.version_tag


def older(app: Application, change: Callable[[WSGIEnvironment], object]) -> Application:
    """Return the application of an older service, which receives requests with a change."""

    def respond(environ, start_response):
        change(environ)
        return app(environ, start_response)

    return respond


def forget_counterparts(environ: WSGIEnvironment) -> None:
    environ["QUERY_STRING"] = environ["QUERY_STRING"].replace("counterparts", "unknown")


def forget_batches(environ: WSGIEnvironment) -> None:
    environ["PATH_INFO"] = environ["PATH_INFO"].replace("_batches", "_unknown")


def forget_preferences(environ: WSGIEnvironment) -> None:
    environ.pop("HTTP_PREFER", None)


@pytest.mark.parametrize("is_older", [False, True])
def test_counterparts_can_be_left_out(storage, organization_id, is_older):
    core = Core.over(storage)
    core.fields.create_field(organization_id, a_draft())
    integration = core.integrations.create_integration(organization_id, esp="braze", name="App")
    reported = [EspField(name=name, data_type=DataType.TEXT) for name in ("city", "town")]
    core.integrations.sync_fields(organization_id, integration.id, reported)
    app = application(storage)
    if is_older:
        app = older(app, forget_counterparts)
    with client_of(app, Keyring(storage)) as client:
        for members, keys in (
            ({}, ["city", "city_1", "town"]),
            ({"counterparts": False}, ["city", "town"]),
            ({"counterparts": False, "text": "CITY"}, ["city"]),
            ({"counterparts": False, "keys": []}, []),
        ):
            query = FieldQuery(**members)
            page = client.find_fields(organization_id, query)
            assert [each.key for each in page.fields] == keys
            assert page.version_tag == core.fields.find_fields(organization_id, query).version_tag
        first = client.find_fields(organization_id, FieldQuery(counterparts=False, limit=1))
        query = FieldQuery(counterparts=False, limit=1, after=first.next)
        assert [each.key for each in client.find_fields(organization_id, query).fields] == ["town"]


@pytest.fixture
def broken_storage(tmp_path: Path) -> Storage:
    """Return a storage whose methods all raise StorageUnavailable."""
    with closing(SqliteStorage(str(tmp_path / "broken.db"))) as storage:
        pass
    return storage


@each_call
def test_a_failing_storage_of_the_service_raises_storage_unavailable(
    storage, broken_storage, organization_id, call
):
    app = application(
        storage, RecipientFieldService(fields=broken_storage.fields, history=storage.history)
    )
    with (
        client_of(app, Keyring(storage)) as client,
        pytest.raises(StorageUnavailable) as unavailable,
    ):
        call(client, organization_id)
    (note,) = unavailable.value.__notes__
    assert note.startswith("Request id: ")


@each_call
def test_a_failing_key_validator_raises_key_validation_unavailable(
    storage, broken_storage, organization_id, call
):
    app = application(storage, validator=StoredKeyValidator(broken_storage.api_keys))
    with client_of(app, Keyring(storage)) as client, pytest.raises(KeyValidationUnavailable):
        call(client, organization_id)


def test_the_version_of_each_field_is_0(client, organization_id):
    created = client.create_field(organization_id, a_draft())
    assert (created.version, client.get_field(organization_id, CITY).version) == (0, 0)


@pytest.mark.parametrize(
    "url",
    [
        *("", "fields.example.com", "//fields.example.com", "ftp://fields.example.com"),
        *("https://", "https:///fields", "https://me:secret@fields.example.com"),
        *("https://fields.example.com?secret", "https://fields.example.com#secret"),
        *("https://fields.example.com/a b", "https://fields.example.com/secret%2f"),
        *("https://fields.example.com/a//b", "https://fields.example.com:secret"),
        *("http://fields.example.com/secret", "http://10.0.0.1", "http://localhost.example.com"),
    ],
)
def test_an_invalid_or_unencrypted_url_raises_a_value_error_without_the_url(url):
    with pytest.raises(ValueError, match="https") as refused:
        client_at(url, {})
    assert "secret" not in repr(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


@pytest.mark.parametrize(
    "url",
    [
        *("https://fields.example.com", "HTTPS://fields.example.com:8443/a/b.c/"),
        *("http://127.0.0.1:8080", "http://localhost", "http://[::1]:8080/fields"),
    ],
)
def test_a_url_can_have_a_port_and_a_path(url):
    client_at(url, {}).close()


def test_plain_http_to_another_host_requires_an_argument():
    client_at("http://fields.example.com", {}, plaintext=True).close()


class TestOneKey:
    """Clients with the API key of one organization, whose id they find."""

    @pytest.fixture
    def url(self, storage: Storage) -> Iterator[str]:
        storage.organizations.add("Other", NOW)
        with live_server(application(storage)) as url:
            yield url

    @pytest.fixture
    def key(self, storage: Storage, organization_id: OrganizationId) -> str:
        return Keyring(storage)[organization_id]

    def test_the_client_finds_the_organization(self, url, key, organization_id):
        with RecipientFieldsClient(url, key) as client:
            own = client.organization_id
            created = client.create_field(own, a_draft())
            assert (own, created.organization_id) == (organization_id, organization_id)
            assert client.list_fields(own).fields == (created,)

    @pytest.mark.parametrize("name", CALLS)
    def test_other_organizations_do_not_exist(self, url, key, organization_id, name):
        with RecipientFieldsClient(url, key) as client, pytest.raises(ABSENT[name]):
            CALLS[name](client, OrganizationId(organization_id + 1))

    def test_the_organization_is_requested_once(self, organization_id):
        catalog = StubResponse.json(
            {"recipient_fields": []}, ETag=f'"{organization_id}-1"', **{"Total-Count": "0"}
        )
        with (
            stub_server(always(catalog)) as server,
            RecipientFieldsClient(server.url, KEY) as client,
        ):
            for _ in range(3):
                client.list_fields(organization_id)
        targets = [request.target.rpartition("/")[2] for request in server.requests]
        assert targets == ["recipient_fields?limit=1", *["recipient_fields"] * 3]

    def test_a_key_unknown_to_the_service_is_refused(self, url, organization_id):
        with RecipientFieldsClient(url, KEY) as client:
            for call in (
                lambda: client.organization_id,
                lambda: client.list_fields(organization_id),
            ):
                with pytest.raises(KeyRefused):
                    call()

    def test_a_url_without_an_api_has_no_organization(self, url, key):
        client = RecipientFieldsClient(f"{url}/elsewhere", key)
        with client, pytest.raises(OrganizationNotFound):
            client.organization_id  # noqa: B018

    def test_a_client_has_either_one_key_or_a_mapping(self, key, organization_id):
        for arguments in ({}, {"api_key": key, "keys": {organization_id: key}}):
            with pytest.raises(TypeError, match="either `api_key` or `keys`"):
                RecipientFieldsClient("https://fields.example.com", **arguments)
        client = client_at("https://fields.example.com", {organization_id: key})
        with client, pytest.raises(TypeError, match="pass the id"):
            client.organization_id  # noqa: B018


def test_a_service_without_batches_is_distinguished_from_an_absent_organization(
    storage, organization_id
):
    with (
        client_of(older(application(storage), forget_batches), Keyring(storage)) as client,
        pytest.raises(RequestRefused, match="does not support batches") as refused,
    ):
        client.apply_batch(organization_id, Batch((DeleteField(CITY),)))
    assert refused.value.code == "not_found"


def test_a_batch_above_the_limits_of_the_service_raises_request_refused(client, organization_id):
    operations = (DeleteField(CITY),) * 1_001
    code = "\N{GRINNING FACE}" * 10_000
    large = tuple(CreateField(a_draft(f"k{n}", custom_insertion_code=code)) for n in range(30))
    with pytest.raises(RequestRefused, match=r"at most 1,000 operations") as refused:
        client.apply_batch(organization_id, Batch(operations))
    assert refused.value.code == "validation_failed"
    with pytest.raises(RequestRefused) as refused:
        client.apply_batch(organization_id, Batch(large))
    assert refused.value.code == "payload_too_large"
    assert client.list_fields(organization_id).fields == ()


def test_a_response_with_too_few_results_raises_storage_unavailable(organization_id):
    handler = always(StubResponse.json({"results": []}))
    with (
        stub_service(handler, {organization_id: KEY}) as (_, client),
        pytest.raises(StorageUnavailable, match="number of results"),
    ):
        client.apply_batch(organization_id, Batch((DeleteField(CITY),)))


def test_fields_that_are_too_large_for_the_response_to_a_batch_are_read(client, organization_id):
    code = "x" * 10_000
    creations = [CreateField(a_draft("city", custom_insertion_code=code))]
    updates = [UpdateField(CITY, FieldChanges(name=f"City {n}")) for n in range(900)]
    town = FieldKey("town")
    batch = Batch((*creations, *updates, CreateField(a_draft(town)), DeleteField(town)))
    *fields, created, deleted = client.apply_batch(organization_id, batch)
    [city] = client.list_fields(organization_id).fields
    assert fields == [city] * 901
    assert created is deleted is None
    assert (city.name, city.custom_insertion_code) == ("City 899", code)


def test_a_service_that_does_not_know_the_preference_sends_the_fields(storage, organization_id):
    app = older(application(storage), forget_preferences)
    with client_of(app, Keyring(storage)) as client:
        batch = Batch(
            (CreateField(a_draft("city")), DeleteField(CITY), CreateField(a_draft("zip")))
        )
        results = client.apply_batch_minimally(organization_id, batch)
        [stored] = client.list_fields(organization_id).fields
        assert results == (None, None, FieldIdentity(stored.id, stored.key))
