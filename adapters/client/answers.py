"""Fields, catalogs and pages, as a service answers them.

HTTP contract, sections 2 and 4. Members that later services add are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar
from urllib.parse import parse_qs, urlsplit

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    AllowedValues,
    Catalog,
    DataType,
    FieldId,
    FieldKey,
    FieldName,
    FieldPage,
    FieldQuery,
    InsertionCode,
    IntegrationId,
    InvalidInput,
    OrganizationId,
    Origin,
    RecipientField,
    Source,
    ValueExpression,
    format_instant,
    parse_instant,
)

from .connections import Answer
from .json_values import Json, NotAsAgreed
from .refusals import version_of

T = TypeVar("T")

_CATALOG_TAG = re.compile(r"([0-9]{1,16})-([0-9a-f]{1,16})")
_NUMBER = re.compile(r"[0-9]{1,15}")
_LINK = re.compile(r'<([^<>]*)>; *rel="next"')


def field_of(answer: Answer, organization_id: OrganizationId) -> RecipientField:
    """The one field; NotAsAgreed where it is none, or where `ETag` names another version of it."""
    field = _field(Json.of(answer)["recipient_field"], organization_id)
    if version_of(answer) != field.version_tag:
        raise NotAsAgreed("its ETag does not name this version of the field")
    return field


def catalog_of(answer: Answer, organization_id: OrganizationId) -> Catalog:
    """All fields by ascending id; NotAsAgreed."""
    fields = _fields(answer, organization_id)
    ids = [field.id for field in fields]
    if ids != sorted(set(ids)):
        raise NotAsAgreed("its fields do not come by ascending id")
    if _total(answer) != len(fields):
        raise NotAsAgreed("it lacks some of the fields that it counts")
    return Catalog(organization_id, _revision(answer, organization_id), fields)


def page_of(
    answer: Answer, organization_id: OrganizationId, query: FieldQuery
) -> tuple[FieldPage, str | None]:
    """The page of that query, and the cursor of the next one; NotAsAgreed."""
    fields = _fields(answer, organization_id)
    cursor = _cursor(answer)
    if cursor is not None and not fields:
        raise NotAsAgreed("a page follows one that is empty")
    page = FieldPage(
        organization_id,
        _revision(answer, organization_id),
        fields,
        _total(answer),
        None if cursor is None else query.position_of(fields[-1]),
    )
    return page, cursor


def _fields(answer: Answer, organization_id: OrganizationId) -> tuple[RecipientField, ...]:
    listed = Json.of(answer)["recipient_fields"].items()
    return tuple(_field(document, organization_id) for document in listed)


def _revision(answer: Answer, organization_id: OrganizationId) -> int:
    tag = _CATALOG_TAG.fullmatch(version_of(answer) or "")
    if tag is None:
        raise NotAsAgreed("its ETag does not name a catalog's version")
    if int(tag[1]) != organization_id:
        raise NotAsAgreed("it is about another organization: check whose API key was given")
    return int(tag[2], 16)


def _total(answer: Answer) -> int:
    total = answer.headers.get("Total-Count", "")
    if _NUMBER.fullmatch(total) is None:
        raise NotAsAgreed("it lacks Total-Count")
    return int(total)


def _cursor(answer: Answer) -> str | None:
    link = answer.headers.get("Link")
    if link is None:
        return None
    target = _LINK.fullmatch(link)
    cursors = [] if target is None else parse_qs(urlsplit(target[1]).query).get("cursor", [])
    if len(cursors) != 1:
        raise NotAsAgreed("its Link does not lead to the next page")
    return cursors[0]


def _field(told: Json, organization_id: OrganizationId) -> RecipientField:
    try:
        data_type = DataType(told["data_type"].text())
        allowed = _nullable(told, "allowed_values", Json.items)
        integration_id = _nullable(told, "integration_id", Json.integer)
        return RecipientField(
            id=FieldId(_id(told["id"])),
            organization_id=organization_id,
            name=FieldName(told["name"].text()),
            key=FieldKey(told["key"].text()),
            data_type=data_type,
            allowed_values=(
                None if allowed is None else AllowedValues(data_type, [v.value for v in allowed])
            ),
            insertable=told["insertable"].flag(),
            origin=Origin(
                Source(told["source"].text()),
                None if integration_id is None else IntegrationId(integration_id),
                _nullable(told, "esp_field_name", Json.text),
            ),
            custom_insertion_code=_snippet(told, "custom_insertion_code", InsertionCode),
            custom_value_expression=_snippet(told, "custom_value_expression", ValueExpression),
            created_at=_instant(told["created_at"]),
            updated_at=_instant(told["updated_at"]),
            version=0,
        )
    except (InvalidInput, ValueError, OverflowError):
        # A chained error would repeat the field.
        raise NotAsAgreed("something in it is no recipient field") from None


def _id(told: Json) -> int:
    number = told.integer()
    if not 1 <= number <= MAX_SAFE_INTEGER:
        raise NotAsAgreed("something in it is no id")
    return number


def _nullable(told: Json, name: str, read: Callable[[Json], T]) -> T | None:
    found = told[name]
    return None if found.value is None else read(found)


def _snippet(told: Json, name: str, parse: Callable[[str], T]) -> T | None:
    text = _nullable(told, name, Json.text)
    return None if text is None else parse(text)


def _instant(told: Json) -> datetime:
    text = told.text()
    instant = parse_instant(text)
    if format_instant(instant) != text:
        raise NotAsAgreed("something in it is no instant in UTC with milliseconds")
    return instant
