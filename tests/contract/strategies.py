"""Hypothesis strategies for all values that the domain accepts.

Each function returns a strategy whose values are valid. Channels and origins use the integrations
in `OWN_INTEGRATION_IDS`, so that fields of the same and of another integration are generated.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, TypeVar

from attrs import evolve
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.application import SyncPlanner
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_ESP_FIELD_NAME_LENGTH,
    MAX_SAFE_INTEGER,
    MILLISECOND,
    UNCHANGED,
    AllowedValues,
    Channel,
    DataType,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldName,
    FieldQuery,
    HistoryQuery,
    InsertionCode,
    IntegrationId,
    InvalidInput,
    Operation,
    OrganizationId,
    Origin,
    RecipientField,
    RecordedOperation,
    SortKey,
    Source,
    Unchanged,
    ValueExpression,
    format_instant,
    parse_organization_name,
    sync_channel,
    whole_milliseconds,
)
from recipient_fields.domain.esp import BUILT_IN
from recipient_fields.domain.integrations import EspField, IntegrationDraft

from .examples import MAX_INTEGRATION_ID, reporting

__all__ = [
    "OWN_INTEGRATION_IDS",
    "allowed_values",
    "changes",
    "channels",
    "definitions",
    "drafts",
    "history_queries",
    "insertion_codes",
    "instants",
    "integration_drafts",
    "keys",
    "names",
    "operations",
    "organization_names",
    "origins",
    "queries",
    "runs",
    "stored_fields",
    "value_expressions",
]

T = TypeVar("T")

_FIRST = datetime(2000, 1, 1, tzinfo=UTC)

OWN_INTEGRATION_IDS: Final = (IntegrationId(MAX_INTEGRATION_ID - 1), MAX_INTEGRATION_ID)
"""The ids of integrations that an application runs itself: no storage assigns them."""

_CHANNELS = (API, ADMINISTRATOR, *map(sync_channel, OWN_INTEGRATION_IDS))
_ESP_NAMES = ("CITY", "city", "First name", "first_name", "first-name", "email", "id", "{")


@cache
def names() -> SearchStrategy[FieldName]:
    """Generate names of fields, in any script."""
    return _accepted(FieldName, _texts(longest=255))


@cache
def organization_names() -> SearchStrategy[str]:
    """Generate names of organizations."""
    return _accepted(parse_organization_name, _texts(longest=255))


@cache
def keys() -> SearchStrategy[FieldKey]:
    """Generate keys of fields."""
    words = r"[a-z][a-z0-9]{0,20}(_[a-z0-9]{1,20}){0,2}"
    return _accepted(FieldKey, st.from_regex(words, fullmatch=True))


@cache
def insertion_codes() -> SearchStrategy[InsertionCode]:
    """Generate insertion codes, mostly short."""
    return _accepted(InsertionCode, _texts(longest=10_000))


@cache
def value_expressions() -> SearchStrategy[ValueExpression]:
    """Generate value expressions, mostly short."""
    return _accepted(ValueExpression, _texts(longest=2_000))


@cache
def instants() -> SearchStrategy[datetime]:
    """Generate instants of the years 2000 to 2099, in whole milliseconds."""
    century = st.timedeltas(timedelta(), timedelta(days=36_524))
    return century.map(lambda passed: whole_milliseconds(_FIRST + passed))


def channels() -> SearchStrategy[Channel]:
    """Generate the API, the administrator and the sync runs of two integrations."""
    return st.sampled_from(_CHANNELS)


def operations() -> SearchStrategy[Operation]:
    """Generate the operations: read, create, update and delete."""
    return st.sampled_from(Operation)


def origins() -> SearchStrategy[Origin]:
    """Generate the origins of fields that `channels` create; ESP field names are any text."""
    return channels().flatmap(
        lambda channel: st.builds(channel.origin, _esp_field_names_of(channel))
    )


def allowed_values(data_type: DataType, *, max_size: int = 5) -> SearchStrategy[AllowedValues]:
    """Generate allowed values for this data type. Generate nothing for a boolean: it has none."""
    if data_type is DataType.BOOLEAN:
        return st.nothing()
    values = st.lists(_SCALARS[data_type](), min_size=1, max_size=max_size, unique=True)
    return values.map(lambda proposed: AllowedValues(data_type, proposed))


@st.composite
def drafts(
    draw: st.DrawFn, *, keyed: SearchStrategy[FieldKey] | None = None, by: Channel = API
) -> FieldDraft:
    """Generate drafts of fields that the channel may create."""
    data_type = draw(st.sampled_from(DataType))
    return FieldDraft(
        name=draw(names()),
        key=draw(keys() if keyed is None else keyed),
        data_type=data_type,
        allowed_values=draw(st.none() | allowed_values(data_type)),
        insertable=draw(st.booleans()),
        custom_insertion_code=draw(st.none() | insertion_codes()),
        custom_value_expression=draw(st.none() | value_expressions()),
        esp_field_name=draw(_esp_field_names_of(by)),
    )


def definitions(
    *, keyed: SearchStrategy[FieldKey] | None = None, by: Channel | None = None
) -> SearchStrategy[FieldDefinition]:
    """Generate definitions of fields: of the channel `by`, or if it is None, of any channel."""
    return st.one_of(
        [
            st.builds(
                FieldDraft.define,
                drafts(keyed=keyed, by=channel),
                by=st.just(channel),
                at=instants(),
            )
            for channel in (_CHANNELS if by is None else (by,))
        ]
    )


@st.composite
def stored_fields(
    draw: st.DrawFn, *, keyed: SearchStrategy[FieldKey] | None = None, by: Channel | None = None
) -> RecipientField:
    """Generate stored fields of any organization, both new and changed.

    They are of the channel `by`, or if it is None, of any channel.
    """
    ids = st.integers(1, MAX_SAFE_INTEGER)
    definition = draw(definitions(keyed=keyed, by=by))
    field = definition.with_id(FieldId(draw(ids)), OrganizationId(draw(ids)))
    times_changed = draw(st.integers(0, 3))
    if not times_changed:
        return field
    updated_at = field.created_at + draw(
        st.timedeltas(times_changed * MILLISECOND, timedelta(days=1))
    )
    return evolve(field, updated_at=updated_at, version=1 + times_changed)


def queries(*, keyed: SearchStrategy[FieldKey] | None = None) -> SearchStrategy[FieldQuery]:
    """Generate queries for first pages, without `after`."""
    return st.builds(
        FieldQuery,
        sources=_filters(st.sampled_from(Source)),
        data_types=_filters(st.sampled_from(DataType)),
        keys=_filters(keys() if keyed is None else keyed),
        integration_ids=_filters(st.sampled_from(OWN_INTEGRATION_IDS)),
        insertable=st.none() | st.booleans(),
        text=st.none() | st.sampled_from("aeiou_"),
        sort=st.sampled_from(SortKey),
        descending=st.booleans(),
        limit=st.none() | st.integers(1, 3),
        after=st.none(),
    )


def history_queries(
    *, keyed: SearchStrategy[FieldKey] | None = None
) -> SearchStrategy[HistoryQuery]:
    """Generate queries of the history."""
    return st.builds(
        HistoryQuery,
        keys=_filters(keys() if keyed is None else keyed),
        sources=_filters(st.sampled_from(Source)),
        operations=_filters(st.sampled_from(RecordedOperation)),
        descending=st.booleans(),
        limit=st.integers(1, 5),
        after=st.none() | st.integers(0, 20),
    )


def integration_drafts() -> SearchStrategy[IntegrationDraft]:
    """Generate drafts of integrations; their names have the same rules as those of fields."""
    return st.builds(
        IntegrationDraft,
        esp=st.sampled_from(BUILT_IN.esps),
        name=names().map(str),
        created_at=instants(),
    )


def runs() -> SearchStrategy[SyncPlanner]:
    """Generate planners of sync runs, in which the ESP reports some of a few names."""
    reported = st.sampled_from(DataType).flatmap(
        lambda data_type: st.builds(
            EspField,
            name=st.sampled_from(_ESP_NAMES),
            data_type=st.just(data_type),
            label=st.none() | names(),
            allowed_values=st.none() | allowed_values(data_type).map(lambda each: each.values),
            standard=st.booleans(),
        )
    )
    reports = st.lists(reported, max_size=6).map(tuple)
    return st.builds(lambda report, at: reporting(*report, at=at), reports, instants())


def changes(data_type: DataType | None = None) -> SearchStrategy[FieldChanges]:
    """Generate changes of any members, valid for every field through its own channel.

    With a `data_type`, they include allowed values, valid for fields of that type.
    """
    restrictions = st.none() if data_type is None else st.none() | allowed_values(data_type)
    return st.builds(
        FieldChanges,
        name=_perhaps(names()),
        allowed_values=_perhaps(restrictions.map(lambda each: each and each.values)),
        insertable=_perhaps(st.booleans()),
        custom_insertion_code=_perhaps(st.none() | insertion_codes()),
        custom_value_expression=_perhaps(st.none() | value_expressions()),
    )


def _accepted(make: Callable[[str], T], texts: SearchStrategy[str]) -> SearchStrategy[T]:
    def made(text: str) -> T:
        try:
            return make(text)
        except InvalidInput:
            reject()

    return texts.map(made)


def _texts(longest: int) -> SearchStrategy[str]:
    storable = st.characters(codec="utf-8", exclude_characters="\0")
    return st.text(storable, min_size=1, max_size=longest)


def _lines() -> SearchStrategy[str]:
    return names().map(str)


def _numbers() -> SearchStrategy[int | float]:
    integers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    return integers | st.floats(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)


def _dates() -> SearchStrategy[str]:
    return st.dates().map(lambda date: date.isoformat())


def _instants() -> SearchStrategy[str]:
    return st.datetimes(timezones=st.just(UTC)).map(format_instant)


def _esp_field_names_of(channel: Channel) -> SearchStrategy[str | None]:
    if channel.source is Source.INTEGRATION:
        return _texts(longest=MAX_ESP_FIELD_NAME_LENGTH)
    return st.none()


def _filters(values: SearchStrategy[T]) -> SearchStrategy[frozenset[T] | None]:
    return st.none() | st.frozensets(values, min_size=1, max_size=2)


def _perhaps(values: SearchStrategy[T]) -> SearchStrategy[T | Unchanged]:
    return st.just(UNCHANGED) | values


_SCALARS: dict[DataType, Callable[[], SearchStrategy[object]]] = {
    DataType.TEXT: _lines,
    DataType.NUMBER: _numbers,
    DataType.DATE: _dates,
    DataType.DATETIME: _instants,
}
