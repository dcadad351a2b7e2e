"""What belongs to a client alone: keys, addresses, and what a remote service adds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from recipient_fields.adapters.client import RecipientFieldsClient, RequestRefused
from recipient_fields.adapters.client.connections import Request
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.adapters.sqlite import SqliteStorage
from recipient_fields.application import (
    RecipientFields,
    RecipientFieldService,
    Storage,
    StoredKeyValidator,
)
from recipient_fields.domain import (
    UNCONDITIONAL,
    Access,
    AllowedValues,
    DataType,
    FieldKey,
    FieldNotFound,
    InsufficientAccess,
    KeyRefused,
    KeyValidationUnavailable,
    OrganizationId,
    OrganizationNotFound,
    StorageUnavailable,
)
from recipient_fields.testing.service import OF_A_FIELD, OF_AN_ORGANIZATION, a_draft

from ...support.http_server import Heard, Played, staged
from ..postgres.examples import NOW
from .live import ONCE, Keyring, application, served

CITY = FieldKey("city")
KEY = "rfk_0123456789ABCDEFGHIJKLMNOPQRSTUV0AuoEA"
READS: dict[str, Callable[[RecipientFields, OrganizationId], object]] = {
    **{name: OF_AN_ORGANIZATION[name] for name in ("list", "publish", "find")},
    "get": lambda client, whose: client.get_field(whose, CITY),
}
WRITES: dict[str, Callable[[RecipientFields, OrganizationId], object]] = {
    **{name: OF_AN_ORGANIZATION[name] for name in ("create", "replace or create")},
    "update": lambda client, whose: OF_A_FIELD["update"](client, whose, CITY, UNCONDITIONAL),
    "delete": lambda client, whose: OF_A_FIELD["delete"](client, whose, CITY, UNCONDITIONAL),
}
CALLS = {**READS, **WRITES}
each_call = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
each_write = pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


@pytest.fixture
def ours(storage: Storage) -> OrganizationId:
    return storage.organizations.add("Ours", NOW).id


def client_at(url: str, keys, **options) -> RecipientFieldsClient:
    return RecipientFieldsClient(url, keys=keys, retry_policy=ONCE, **options)


@each_call
def test_a_key_that_the_service_does_not_know_is_refused(storage, ours, call):
    with (
        served(application(storage)) as url,
        client_at(url, {ours: KEY}) as client,
        pytest.raises(KeyRefused) as refused,
    ):
        call(client, ours)
    assert KEY not in str(refused.value)


@each_call
@pytest.mark.parametrize("key", ["", "rfk\n", "rfk_1\r\nX: y", "rfk 1", "rfk_ä", "=", "a=b"])
def test_a_key_that_no_header_can_carry_is_refused_unsent(ours, call, key):
    with (
        staged(lambda _: Played(200)) as stage,
        client_at(stage.url, {ours: key}) as client,
        pytest.raises(KeyRefused),
    ):
        call(client, ours)
    assert stage.heard == []


@pytest.mark.parametrize("name", CALLS)
def test_an_organization_without_a_key_does_not_exist(ours, name):
    absent = FieldNotFound if name in {"get", "update", "delete"} else OrganizationNotFound
    with (
        staged(lambda _: Played(200)) as stage,
        client_at(stage.url, {}) as client,
        pytest.raises(absent),
    ):
        CALLS[name](client, ours)
    assert stage.heard == []


def test_a_key_can_be_given_while_the_client_runs(storage, ours):
    keys: dict[OrganizationId, str] = {}
    with served(application(storage)) as url, client_at(url, keys) as client:
        with pytest.raises(OrganizationNotFound):
            client.list_fields(ours)
        keys[ours] = Keyring(storage)[ours]
        assert client.list_fields(ours).fields == ()


def test_a_key_is_sent_as_it_is_and_never_shown(ours):
    heard: list[Heard] = []

    def play(asked: Heard) -> Played:
        heard.append(asked)
        return Played(204)

    with staged(play) as stage, client_at(stage.url, {ours: KEY}) as client:
        client.delete_field(ours, CITY)
        assert KEY not in repr(client)
    assert heard[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in repr(Request(method="GET", target="/", headers=heard[0].headers))


def test_the_key_of_another_organization_is_noticed_when_a_list_is_read(storage, ours):
    theirs = storage.organizations.add("Theirs", NOW).id
    keys = {ours: Keyring(storage)[theirs]}
    with (
        served(application(storage)) as url,
        client_at(url, keys) as client,
        pytest.raises(StorageUnavailable, match="another organization"),
    ):
        client.list_fields(ours)


@each_write
def test_a_key_that_may_only_read_changes_nothing(storage, ours, call):
    service = RecipientFieldService(fields=storage.fields)
    city = service.create_field(ours, a_draft())
    keys = Keyring(storage, Access.READ_ONLY)
    with served(application(storage)) as url, client_at(url, keys) as client:
        with pytest.raises(InsufficientAccess):
            call(client, ours)
        assert client.get_field(ours, CITY).version_tag == city.version_tag


@pytest.fixture
def broken(tmp_path: Path) -> Storage:
    """A storage that fails whatever it is asked."""
    with closing(SqliteStorage(str(tmp_path / "broken.db"))) as storage:
        pass
    return storage


@each_call
def test_a_storage_that_fails_is_unavailable_from_afar_too(storage, broken, ours, call):
    app = application(storage, RecipientFieldService(fields=broken.fields))
    with (
        served(app) as url,
        client_at(url, Keyring(storage)) as client,
        pytest.raises(StorageUnavailable) as unavailable,
    ):
        call(client, ours)
    (note,) = unavailable.value.__notes__
    assert note.startswith("Request id: ")


@each_call
def test_keys_that_can_not_be_checked_are_told_apart(storage, broken, ours, call):
    app = application(storage, validator=StoredKeyValidator(broken.api_keys))
    with (
        served(app) as url,
        client_at(url, Keyring(storage)) as client,
        pytest.raises(KeyValidationUnavailable),
    ):
        call(client, ours)


def test_a_field_that_is_larger_than_the_service_reads_is_refused(storage, ours):
    texts = [f"{n:04}" + "\N{GRINNING FACE}" * 251 for n in range(1_000)]
    draft = a_draft(
        allowed_values=AllowedValues(DataType.TEXT, texts),
        custom_insertion_code="\N{GRINNING FACE}" * 10_000,
        custom_value_expression="\N{GRINNING FACE}" * 2_000,
    )
    with served(application(storage)) as url, client_at(url, Keyring(storage)) as client:
        with pytest.raises(RequestRefused) as refused:
            client.create_field(ours, draft)
        assert client.list_fields(ours).fields == ()
    assert refused.value.code == "payload_too_large"


def test_no_field_tells_its_version(storage, ours):
    with served(application(storage)) as url, client_at(url, Keyring(storage)) as client:
        made = client.create_field(ours, a_draft())
        assert (made.version, client.get_field(ours, CITY).version) == (0, 0)


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
def test_a_url_that_keys_can_not_be_sent_to_is_refused(url):
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


def test_plain_http_to_another_machine_must_be_wanted():
    client_at("http://fields.example.com", {}, plaintext=True).close()
