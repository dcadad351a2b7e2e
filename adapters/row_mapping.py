"""Conversion between rows of plain values and objects of the domain, for storages with tables.

A storage selects its columns in the order of the constants, or of the parameters of a function. It
converts values that each storage stores in a different format, such as times, inside a
`RowMapping`. The domain validates each row. If a row breaks a rule, the functions raise
UnreadableRow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from attrs import asdict, define

from recipient_fields.application import OrganizationRecord
from recipient_fields.domain import (
    FIELD_MEMBERS,
    Access,
    Administrator,
    AllowedValues,
    ApiKey,
    ApiKeyId,
    Author,
    Channel,
    DataType,
    EmailAddress,
    FieldDefinition,
    FieldId,
    FieldKey,
    FieldName,
    FoundKey,
    HistoryRecord,
    InsertionCode,
    IntegrationId,
    InvalidInput,
    Invitation,
    InvitationDraft,
    Membership,
    OrganizationId,
    Origin,
    RecipientField,
    RecordedOperation,
    Role,
    Session,
    Source,
    StorageUnavailable,
    ValueExpression,
    epoch_milliseconds,
    format_instant,
    from_epoch_milliseconds,
    list_size,
    member_reader,
    parse_instant,
)
from recipient_fields.domain.integrations import EspConnection, Integration, SetName

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

_CONNECTION_TIMES = ("due_at", "last_run_at")

Row = TypeVar("Row")
T = TypeVar("T")


class UnreadableRow(Exception):
    """A stored row breaks a rule of the domain: another program wrote it, or it is damaged.

    It is not a RecipientFieldsError, because the caller has made no mistake. The message contains
    only the table and the id.
    """


@define  # Not frozen, because `frozen` doubles the time to create one. Each row requires two.
class RowMapping:
    """A context manager for the conversion of the row with this id in this table.

    Raises: UnreadableRow if the block finds a value that the domain does not permit.
    """

    _table: str
    _row_id: object

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, _UNREADABLE):
            raise UnreadableRow(f"{self._table} {self._row_id}") from error


_UNREADABLE = (
    InvalidInput,
    ValueError,
    OverflowError,
    RecursionError,
    LookupError,  # a document without a member
    TypeError,  # a document that is no object
    UnreadableRow,  # a field in the row of a record
)


def map_rows(read: Callable[[Row], T], rows: Iterable[Row]) -> Iterator[T]:
    """Yield `read(row)` for each row. Use this to copy a whole storage.

    Raises: StorageUnavailable if a row breaks a rule of the domain. The message contains its table
    and id.
    """
    try:
        yield from map(read, rows)
    except UnreadableRow as error:
        raise StorageUnavailable(
            f"The row {error} breaks a rule of recipient fields. Correct or delete it."
        ) from error


PLAIN_MEMBERS = tuple(
    each
    for each in FIELD_MEMBERS
    if each.name != "id" and each.kind not in {AllowedValues, datetime}
)
"""The members of a field, except the id, whose columns have the same format in each storage."""

FIELD_COLUMNS = (
    *("id", "organization_id"),
    *(each.name for each in PLAIN_MEMBERS),
    *("version", "allowed_values", "created_at", "updated_at"),
)
"""The columns of a field's row, in the order of `field_values`, which `read_field` expects."""


def stored_field(
    field_id: int,
    organization_id: int,
    name: str,
    key: str,
    data_type_name: str,
    insertable: object,
    source: str,
    integration_id: int | None,
    esp_field_name: str | None,
    insertion_code: str | None,
    value_expression: str | None,
    version: int,
    allowed_values: Sequence[object] | None,
    created_at: datetime,
    updated_at: datetime,
) -> RecipientField:
    """Return the field of a row. The parameters have the order of FIELD_COLUMNS.

    The last three columns have a different format in each storage. Convert them first.
    """
    # Explicit, because a loop over the members doubles the time. A list converts each of its rows.
    with RowMapping("recipient_fields", field_id):
        data_type = DataType(data_type_name)
        return RecipientField(
            id=FieldId(field_id),
            organization_id=OrganizationId(organization_id),
            name=FieldName(name),
            key=FieldKey(key),
            data_type=data_type,
            allowed_values=(
                None if allowed_values is None else AllowedValues(data_type, allowed_values)
            ),
            insertable=bool(insertable),
            origin=Origin(
                Source(source),
                None if integration_id is None else IntegrationId(integration_id),
                esp_field_name,
            ),
            custom_insertion_code=None if insertion_code is None else InsertionCode(insertion_code),
            custom_value_expression=(
                None if value_expression is None else ValueExpression(value_expression)
            ),
            created_at=created_at,
            updated_at=updated_at,
            version=version,
        )


def plain_values(definition: FieldDefinition) -> Mapping[str, Any]:
    """Return the values of a row by column, except the times and the allowed values."""
    return _read_plain_members(definition)


_read_plain_members = member_reader(PLAIN_MEMBERS)


def field_values(field: RecipientField) -> Mapping[str, str | int | None]:
    """Return the values of a field's row by column, in the order that `read_field` expects.

    Allowed values are JSON, times are milliseconds since 1970.
    """
    allowed = field.allowed_values
    return {
        "id": field.id,
        "organization_id": field.organization_id,
        **plain_values(field),
        "version": field.version,
        "allowed_values": None if allowed is None else json.dumps(allowed.values),
        "created_at": epoch_milliseconds(field.created_at),
        "updated_at": epoch_milliseconds(field.updated_at),
    }


def read_field(row: Sequence[Any]) -> RecipientField:
    """Return the field of a row with the values of `field_values`."""
    *plain, allowed, created_at, updated_at = row
    with RowMapping("recipient_fields", row[0]):
        values: tuple[Any, ...] = (
            *plain,
            None if allowed is None else json.loads(allowed),
            from_epoch_milliseconds(created_at),
            from_epoch_milliseconds(updated_at),
        )
    return stored_field(*values)


def field_document(field: FieldDefinition) -> str:
    """Return the JSON document of a field in the row of a record, without the id.

    A definition has the document of the new field, so a storage can store the record of a creation
    in the statement that assigns the id.
    """
    allowed = field.allowed_values
    version, updated_at = 1, field.created_at
    if isinstance(field, RecipientField):
        version, updated_at = field.version, field.updated_at
    return _json(
        {
            **plain_values(field),
            "version": version,
            "allowed_values": None if allowed is None else allowed.values,
            "created_at": format_instant(field.created_at),
            "updated_at": format_instant(updated_at),
        }
    )


def author_document(author: Author) -> str:
    """Return the JSON document of an author in the row of a record."""
    return _json(
        {
            "channel": author.channel.source.value,
            "id": author.id,
            "name": author.name,
            "request_id": author.request_id,
        }
    )


def record_values(
    record: HistoryRecord, document: Callable[[FieldDefinition], str] = field_document
) -> Mapping[str, str | int | None]:
    """Return the values of a record's row by column. The time is milliseconds since 1970.

    `document` returns the JSON document of a field before or after the change. Queries filter by
    `key` and `source`. `read_record` expects the other columns, in this order.
    """
    return {
        "organization_id": record.organization_id,
        "sequence": record.sequence,
        "operation": record.operation.value,
        "field_id": record.field_id,
        "key": record.key,
        "source": record.field.origin.source.value,
        "author": author_document(record.author),
        "before": None if record.before is None else document(record.before),
        "after": None if record.after is None else document(record.after),
        "occurred_at": epoch_milliseconds(record.occurred_at),
    }


def read_record(row: Sequence[Any]) -> HistoryRecord:
    """Return the record of a row with the values of `record_values`, without `key` and `source`."""
    organization_id, sequence, operation, field_id, author, before, after, occurred_at = row
    with RowMapping("recipient_field_changes", (organization_id, sequence)):
        return HistoryRecord(
            sequence=sequence,
            operation=RecordedOperation(operation),
            before=_field_of(before, field_id, organization_id),
            after=_field_of(after, field_id, organization_id),
            author=_author_of(author),
            occurred_at=from_epoch_milliseconds(occurred_at),
        )


def publish_record(row: Sequence[Any]) -> tuple[int, str]:
    """Return the sequence and the JSON of the record in such a row, as `published_page` does.

    The stored documents are passed through: the domain does not validate them again.
    """
    organization_id, sequence, operation, field_id, author, before, after, occurred_at = row
    with RowMapping("recipient_field_changes", (organization_id, sequence)):
        states = [_public_document(field_id, document) for document in (before, after)]
        actor = json.loads(author)
        record = {
            "sequence": sequence,
            "occurred_at": format_instant(from_epoch_milliseconds(occurred_at)),
            "operation": operation,
            "actor": {name: actor[name] for name in ("channel", "id", "name")},
            "request_id": actor["request_id"],
            "field_id": field_id,
            "key": next(each["key"] for each in states if each is not None),
            "before": states[0],
            "after": states[1],
        }
    return sequence, _json(record)


def _public_document(field_id: int, document: str | None) -> Mapping[str, object] | None:
    """Return the members of a field that `render_field` returns, from that of `field_document`."""
    if document is None:
        return None
    members = {**_ABSENT_MEMBERS, **json.loads(document), "id": field_id}
    return {name: members[name] for name in _PUBLIC_MEMBERS}


_PUBLIC_MEMBERS = tuple(each.name for each in FIELD_MEMBERS)
"""The members of the document of a field in responses, in their order."""


LARGE_MEMBERS = ("allowed_values", "custom_insertion_code", "custom_value_expression")
"""The members of a field, all nullable, on which no filter and no order depends."""


def read_document(field_id: int, organization_id: int, document: str) -> RecipientField:
    """Return the field with the JSON document of `field_document`."""
    with RowMapping("recipient_field_changes", (organization_id, field_id)):
        return cast(RecipientField, _field_of(document, field_id, organization_id))


def _field_of(document: str | None, field_id: int, organization_id: int) -> RecipientField | None:
    if document is None:
        return None
    members = {**_ABSENT_MEMBERS, **json.loads(document)}
    values = (members[name] for name in _DOCUMENT_MEMBERS)
    times = (parse_instant(members[name]) for name in ("created_at", "updated_at"))
    return stored_field(field_id, organization_id, *values, *times)


_ABSENT_MEMBERS = {each.name: None for each in FIELD_MEMBERS if each.added}
"""A record from before one of these members was added does not have it."""
_DOCUMENT_MEMBERS = FIELD_COLUMNS[2:-2]
"""The members of the document of a field between the ids and the times."""


def _author_of(document: str) -> Author:
    members = json.loads(document)
    source = Source(members["channel"])
    integration_id = members["id"] if source is Source.INTEGRATION else None
    return Author(
        Channel(source, integration_id),
        id=members["id"],
        name=members["name"],
        request_id=members["request_id"],
    )


def organization_values(record: OrganizationRecord) -> Mapping[str, object]:
    """Return the values of an organization's row by column."""
    return {
        **asdict(record.organization),
        "revision": record.revision,
        "last_sequence": record.last_sequence,
        "last_change_at": record.last_change_at,
    }


def integration_values(integration: Integration) -> Mapping[str, object]:
    """Return the values of an integration's row by column. Two of them are JSON documents."""
    return {
        **asdict(integration),
        "esp": str(integration.esp),
        "refused_names": refused_names_document(integration),
        "names": names_document(integration),
    }


def refused_names_document(integration: Integration) -> str:
    """Return the JSON document of the names that the last sync refused."""
    return _json(sorted(integration.refused_names))


def names_document(integration: Integration) -> str:
    """Return the JSON document of the set names by the ids of their fields."""
    return _json({field_id: asdict(name) for field_id, name in integration.names.items()})


def connection_document(connection: EspConnection) -> str:
    """Return the JSON document of a connection, without its ids."""
    members = asdict(connection)
    del members["organization_id"], members["id"]
    times = {each: members[each] and format_instant(members[each]) for each in _CONNECTION_TIMES}
    return _json({**members, **times})


def stored_connection(organization_id: int, integration_id: int, document: str) -> EspConnection:
    """Return the connection of an integration with this document."""
    with RowMapping("esp_connections", integration_id):
        members = json.loads(document)
        times = {each: members[each] and parse_instant(members[each]) for each in _CONNECTION_TIMES}
        return EspConnection(
            id=IntegrationId(integration_id),
            organization_id=OrganizationId(organization_id),
            **{**members, **times},
        )


def api_key_values(key: ApiKey) -> Mapping[str, object]:
    """Return the values of an API key's row by column."""
    return {**asdict(key), "access": key.access.value}


def administrator_values(administrator: Administrator) -> Mapping[str, object]:
    """Return the values of an administrator's row by column, without the memberships."""
    return {
        "id": administrator.id,
        "email": administrator.email.text,
        "folded_email": administrator.email.folded,
        "password_hash": administrator.password_hash,
        "created_at": administrator.created_at,
    }


def membership_values(administrator: Administrator) -> Iterator[Mapping[str, object]]:
    """Yield the values by column of the rows of an administrator's memberships."""
    for each in administrator.memberships:
        yield {
            "organization_id": each.organization_id,
            "administrator_id": administrator.id,
            "role": each.role.value,
        }


def _named(columns: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    """Return the values of a row by column."""
    return dict(zip(columns, row, strict=True))


ADMINISTRATOR_COLUMNS = ("id", "email", "password_hash", "memberships", "created_at")
"""The columns of the row of an administrator."""


def stored_administrator(*row: Any) -> Administrator:
    """Return the administrator of a row with the values of ADMINISTRATOR_COLUMNS.

    The memberships are a text such as `1:admin,2:viewer`, in any order. The last column is a time.
    """
    members = _named(ADMINISTRATOR_COLUMNS, row)
    with RowMapping("administrators", row[0]):
        roles = dict(each.split(":") for each in (members["memberships"] or "").split(","))
        members["email"] = EmailAddress(members["email"])
        members["memberships"] = tuple(
            Membership(OrganizationId(int(each)), Role(roles[each]))
            for each in sorted(roles, key=int)
        )
        return Administrator(**members)


def invitation_values(draft: InvitationDraft) -> Mapping[str, object]:
    """Return the values of an invitation's row by column, without the ids."""
    return {
        "email": draft.email.text,
        "folded_email": draft.email.folded,
        "role": draft.role.value,
        "digest": draft.digest,
        "created_at": draft.created_at,
        "expires_at": draft.expires_at,
    }


INVITATION_COLUMNS = (
    *("id", "organization_id", "email", "role", "digest"),
    *("created_at", "expires_at"),
)
"""The columns of the row of an invitation."""


def stored_invitation(*row: Any) -> Invitation:
    """Return the invitation of a row with the values of INVITATION_COLUMNS.

    The last two columns are times.
    """
    members = _named(INVITATION_COLUMNS, row)
    with RowMapping("administrator_invitations", row[0]):
        return Invitation(**{**members, "email": EmailAddress(members["email"])})


SESSION_COLUMNS = ("id", "administrator_id", "digest", "user_agent", "created_at", "last_used_at")
"""The columns of the row of a session."""


def stored_session(*row: Any) -> Session:
    """Return the session of a row with the values of SESSION_COLUMNS. The last two are times."""
    members = _named(SESSION_COLUMNS, row)
    with RowMapping("administrator_sessions", row[0]):
        return Session(**members)


KEY_COLUMNS = (
    *("id", "organization_id", "name", "access", "digest", "display", "created_by"),
    *("created_at", "expires_at", "last_used_at", "revoked_at"),
)
"""The columns of the row of an API key."""


def stored_key(*row: Any) -> ApiKey:
    """Return the API key of a row with the values of KEY_COLUMNS. The last four are times."""
    members = _named(KEY_COLUMNS, row)
    with RowMapping("api_keys", row[0]):
        return ApiKey(**members)


INTEGRATION_COLUMNS = (
    *("id", "organization_id", "esp", "name"),
    *("created_at", "last_synced_at", "refused_names", "names"),
)
"""The columns of the row of an integration."""


def stored_integration(*row: Any) -> Integration:
    """Return the integration of a row with the values of INTEGRATION_COLUMNS.

    The last four columns are two times and two documents: those of `refused_names_document` and
    `names_document`.
    """
    members = _named(INTEGRATION_COLUMNS, row)
    with RowMapping("integrations", row[0]):
        by_field = json.loads(members["names"])
        members["refused_names"] = json.loads(members["refused_names"])
        members["names"] = {FieldId(int(each)): SetName(**by_field[each]) for each in by_field}
        return Integration(**members)


def found_key(
    key_id: int,
    organization_id: int,
    access: str,
    catalog_revision: int,
    expires_at: datetime | None,
    revoked_at: datetime | None,
    last_used_at: datetime | None,
    fields_size: int | None = None,
) -> FoundKey:
    """Return the look-up of an API key. Three columns are times.

    `fields_size` is the sum of the sizes of the fields of its organization, or None if that is not
    known.
    """
    with RowMapping("api_keys", key_id):
        return FoundKey(
            id=ApiKeyId(key_id),
            organization_id=OrganizationId(organization_id),
            access=Access(access),
            catalog_revision=catalog_revision,
            expires_at=expires_at,
            revoked_at=revoked_at,
            last_used_at=last_used_at,
            catalog_size=None if fields_size is None else list_size(fields_size),
        )
