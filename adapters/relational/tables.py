"""The tables of which a copy of a storage consists."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from attrs import frozen

from recipient_fields.application import OrganizationRecord
from recipient_fields.domain import Administrator, ApiKey, HistoryRecord, RecipientField
from recipient_fields.domain.esp import Integration

from ..row_mapping import (
    administrator_values,
    api_key_values,
    field_values,
    integration_values,
    membership_values,
    organization_values,
    read_field,
    read_record,
    record_values,
)
from .administrators import administrator_columns, read_administrator
from .api_keys import key_columns, read_api_key
from .database import Row, Values
from .dialect import Dialect
from .fields import field_columns
from .history import record_columns
from .integrations import integration_columns, read_integration
from .organizations import organization_record_columns, read_organization_record

T = TypeVar("T")


@frozen
class Table(Generic[T]):
    """A table, and the conversion of its rows to objects of the domain."""

    name: str
    columns: Callable[[Dialect], str]
    """Return the columns of a row for `read`."""
    read: Callable[[Row], T]
    values: Callable[[T], Values]
    """Return the values of a row by column."""
    details: Mapping[str, Callable[[T], Iterable[Values]]] = {}
    """By table, the rows that also belong to a record."""


ORGANIZATIONS = Table[OrganizationRecord](
    "organizations", organization_record_columns, read_organization_record, organization_values
)
INTEGRATIONS = Table[Integration](
    "integrations", integration_columns, read_integration, integration_values
)
API_KEYS = Table[ApiKey]("api_keys", key_columns, read_api_key, api_key_values)
FIELDS = Table[RecipientField]("recipient_fields", field_columns, read_field, field_values)
HISTORY = Table[HistoryRecord](
    "recipient_field_changes", record_columns, read_record, record_values
)
ADMINISTRATORS = Table[Administrator](
    "administrators",
    administrator_columns,
    read_administrator,
    administrator_values,
    {"administrator_memberships": membership_values},
)
