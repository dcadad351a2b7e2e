"""The use cases of recipient fields, for every channel.

The contract of RecipientFields tests each use case for the API.
"""

from __future__ import annotations

from itertools import permutations

import pytest
from attrs import evolve

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldQuery,
    IntegrationId,
    InvalidField,
    KeyTaken,
    OperationForbidden,
    sync_channel,
)

SYNC, OTHER_SYNC = sync_channel(IntegrationId(7)), sync_channel(IntegrationId(8))
CHANNELS = {"API": API, "administrators": ADMINISTRATOR, "sync": SYNC, "other sync": OTHER_SYNC}
SIZE = FieldKey("size")
RENAMED = FieldChanges(name="New name")
REPLACEMENT = FieldDraft(name="New name", key=SIZE, data_type="text", insertable=False)

through_every_channel = pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS)
of_another_channel = pytest.mark.parametrize(
    ("channel", "owner"),
    [*permutations(CHANNELS.values(), 2)],
    ids=[" of ".join(names) for names in permutations(CHANNELS, 2)],
)


@pytest.fixture
def created(service, acme):
    def create(channel=API, name="Size"):
        esp_field_name = None if channel.integration_id is None else "SIZE"
        draft = FieldDraft(name=name, data_type=DataType.TEXT, esp_field_name=esp_field_name)
        return service.by(Author(channel)).create_field(acme, draft)

    return create


@through_every_channel
def test_a_channel_creates_and_changes_its_own_fields(channel, service, acme, created, clock):
    field, editor = created(channel), service.by(Author(channel))
    assert field.origin == channel.origin(field.origin.esp_field_name)
    assert (field.created_at, field.version) == (clock.now, 1)
    assert editor.update_field(acme, field.id, RENAMED).name == "New name"
    replaced, was_created = editor.replace_or_create_field(acme, REPLACEMENT)
    assert (was_created, replaced.insertable, replaced.origin) == (False, False, field.origin)
    editor.delete_field(acme, field.id)
    assert service.list_fields(acme).fields == ()


@of_another_channel
def test_a_channel_only_reads_the_fields_of_another(channel, owner, service, acme, created):
    field, other = created(owner), service.by(Author(channel))
    assert other.get_field(acme, field.id) == other.get_field(acme, SIZE) == field
    assert other.list_fields(acme).fields == (field,)
    query = FieldQuery(sources=frozenset({owner.source}))
    assert other.find_fields(acme, query).fields == (field,)
    for change in (
        lambda: other.update_field(acme, field.id, RENAMED),
        lambda: other.replace_or_create_field(acme, REPLACEMENT),
        lambda: other.delete_field(acme, field.id),
    ):
        with pytest.raises(OperationForbidden):
            change()
    with pytest.raises(KeyTaken):
        created(channel)
    assert service.list_fields(acme).fields == (field,)


@pytest.mark.parametrize("channel", [API, ADMINISTRATOR])
def test_a_replacement_with_a_free_key_creates_a_field_of_the_channel(channel, service, acme):
    field, created = service.by(Author(channel)).replace_or_create_field(acme, REPLACEMENT)
    assert (created, field.key, field.origin) == (True, SIZE, channel.origin())


def test_a_sync_run_creates_no_field_by_a_replacement(service, acme):
    with pytest.raises(InvalidField, match="esp_field_name"):
        service.by(Author(SYNC)).replace_or_create_field(acme, REPLACEMENT)
    assert service.list_fields(acme).fields == ()


@pytest.mark.parametrize("channel", [ADMINISTRATOR, SYNC])
def test_the_limit_applies_to_fields_of_the_api_only(channel, service, acme, created):
    limited = evolve(service, limit=1).by(Author(channel))
    for name in ("Size", "Town"):
        esp_field_name = None if channel.integration_id is None else name
        draft = FieldDraft(name=name, data_type=DataType.TEXT, esp_field_name=esp_field_name)
        assert limited.create_field(acme, draft).version == 1
    limited.delete_field(acme, SIZE)
    created(API, "City")
    assert len(service.list_fields(acme).fields) == 2


def test_a_field_of_an_administrator_is_restored_beyond_the_limit(service, acme, created):
    shop = created(ADMINISTRATOR)
    manual = evolve(service, limit=0).by(Author(ADMINISTRATOR))
    manual.delete_field(acme, shop.id)
    assert manual.restore_field(acme, shop.id).key == SIZE
