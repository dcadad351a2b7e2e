"""The public strategies generate values that the domain accepts, and reach every case."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MILLISECOND,
    UNCHANGED,
    Allowed,
    Channel,
    DataType,
    Operation,
    OperationForbidden,
    RecipientField,
    Source,
    decide,
    sync_channel,
)
from recipient_fields.testing import strategies

T = TypeVar("T")

CHANNELS = (API, ADMINISTRATOR, *map(sync_channel, strategies.OWN_INTEGRATION_IDS))
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def generate(strategy: SearchStrategy[T], condition: Callable[[T], bool]) -> None:
    """Fail unless the strategy generates a value that fulfils the condition."""
    find(strategy, condition, settings=settings(phases=[Phase.generate], max_examples=2_000))


def owner_of(field: RecipientField) -> Channel:
    return Channel(field.origin.source, field.origin.integration_id)


def test_all_names_every_public_strategy() -> None:
    public = {
        name
        for name, value in vars(strategies).items()
        if not name.startswith("_") and callable(value) and value.__module__ == strategies.__name__
    }
    assert {*strategies.__all__} == {*public, "OWN_INTEGRATION_IDS"}
    assert {*("origins", "operations", "channels", "drafts", "changes", "stored_fields")} <= public


@pytest.mark.parametrize("name", sorted({*strategies.__all__} - {"OWN_INTEGRATION_IDS"}))
def test_every_public_strategy_has_a_docstring(name):
    assert getattr(strategies, name).__doc__


@pytest.mark.parametrize("source", Source)
def test_origins_are_of_every_source(source):
    generate(strategies.origins(), lambda origin: origin.source is source)


@pytest.mark.parametrize("operation", Operation)
def test_every_operation_is_generated(operation):
    generate(strategies.operations(), lambda generated: generated is operation)


def test_channels_and_origins_meet_as_the_same_integration_and_as_different_ones() -> None:
    pairs = st.tuples(strategies.channels(), strategies.origins())
    generate(pairs, lambda pair: pair[0].source is Source.INTEGRATION and pair[0].owns(pair[1]))
    generate(
        pairs,
        lambda pair: (
            pair[0].source is pair[1].source is Source.INTEGRATION and not pair[0].owns(pair[1])
        ),
    )


@given(strategies.origins())
def test_a_channel_is_generated_for_every_origin(origin):
    assert Channel(origin.source, origin.integration_id) in CHANNELS


@given(strategies.channels())
def test_channels_are_those_of_the_api_administrators_and_two_integrations(channel):
    assert channel in CHANNELS


@given(strategies.channels().flatmap(lambda by: st.tuples(st.just(by), strategies.drafts(by=by))))
def test_a_channel_creates_fields_of_its_drafts(pair):
    by, draft = pair
    assert by.owns(draft.define(by=by, at=NOON).origin)


@pytest.mark.parametrize("source", Source)
@pytest.mark.parametrize("changed", [False, True])
def test_stored_fields_are_of_every_source_new_and_changed(source, changed):
    generate(
        strategies.stored_fields(),
        lambda field: field.origin.source is source and (field.version > 1) is changed,
    )


@given(strategies.stored_fields())
def test_a_stored_field_counts_its_changes_and_moves_forward_with_each(field):
    changes = field.version - 1
    assert (field.updated_at == field.created_at) is (changes == 0)
    assert field.updated_at - field.created_at >= changes * MILLISECOND
    assert field.id > 0
    assert field.organization_id > 0


@pytest.mark.parametrize(
    "channel", [API, ADMINISTRATOR, sync_channel(strategies.OWN_INTEGRATION_IDS[0])]
)
def test_the_fields_of_one_channel_can_be_generated(channel):
    @given(strategies.stored_fields(by=channel))
    def the_channel_owns(field: RecipientField) -> None:
        assert channel.owns(field.origin)

    the_channel_owns()


@given(strategies.stored_fields(), strategies.changes(), strategies.channels())
def test_every_field_accepts_every_change_through_its_own_channel(field, changes, channel):
    if decide(channel, Operation.UPDATE, field.origin) == Allowed():
        field.with_changes(changes, by=channel, at=field.updated_at)
    else:
        with pytest.raises(OperationForbidden):
            field.with_changes(changes, by=channel, at=field.updated_at)


@given(st.data(), strategies.stored_fields())
def test_changes_for_a_data_type_fit_its_fields(data, field):
    changes = data.draw(strategies.changes(field.data_type))
    field.with_changes(changes, by=owner_of(field), at=field.updated_at)


@pytest.mark.parametrize("data_type", [each for each in DataType if each is not DataType.BOOLEAN])
def test_changes_for_a_data_type_restrict_the_values(data_type):
    generate(
        strategies.changes(data_type),
        lambda changes: changes.allowed_values not in (None, UNCHANGED),
    )
