"""The members of a field, each described once.

Rows, records of the history, documents, plans and the OpenAPI document loop over these
descriptions. The classes of fields are explicit, and a test compares them with the descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Any

from attrs import frozen

from ..arguments import require_type
from ..identity import FieldId, IntegrationId
from ..instants import format_instant
from ..text import MAX_LINE_LENGTH
from .origins import MAX_ESP_FIELD_NAME_LENGTH, Source
from .values import (
    MAX_ALLOWED_VALUES,
    MAX_INSERTION_CODE_LENGTH,
    MAX_KEY_LENGTH,
    MAX_VALUE_EXPRESSION_LENGTH,
    AllowedValues,
    DataType,
    FieldKey,
    FieldName,
    InsertionCode,
    ValueExpression,
)

__all__ = [
    "FIELD_MEMBERS",
    "IMMUTABLE_MEMBERS",
    "NULLABLE_TEXTS",
    "ORIGIN_MEMBERS",
    "READ_ONLY_MEMBERS",
    "WRITABLE_MEMBERS",
    "FieldMember",
    "Mutability",
    "member_reader",
]


class Mutability(Enum):
    """Whether an input can set a member."""

    WRITABLE = "in each input"
    IMMUTABLE = "only in the draft of the field"
    READ_ONLY = "never"


@frozen(kw_only=True)
class FieldMember:
    """A member of a field.

    `name` is the name of the member in documents, of its column, and of the attribute of a draft.
    `description` is for people: sentences about its values. `kind` is the type of its value.
    `default` is the value if a document omits the member.
    `max_length` counts characters, `max_items` allowed values. `added` is true for a nullable
    member that older records of the history do not have.
    """

    name: str
    description: str
    kind: Any
    mutability: Mutability = Mutability.READ_ONLY
    nullable: bool = False
    default: object = None
    max_length: int | None = None
    max_items: int | None = None
    added: bool = False

    @property
    def path(self) -> str:
        """The attribute of a field that has the value: the origin has three of the members."""
        return f"origin.{self.name}" if self.name in ORIGIN_MEMBERS else self.name


ORIGIN_MEMBERS = ("source", "integration_id", "esp_field_name")
"""The members that the origin of a field consists of."""

FIELD_MEMBERS = (
    FieldMember(
        name="id",
        description="Assigned by the service, never used again.",
        kind=FieldId,
    ),
    FieldMember(
        name="name",
        description="What people call the field: one line. Not unique.",
        kind=FieldName,
        mutability=Mutability.WRITABLE,
        max_length=MAX_LINE_LENGTH,
    ),
    FieldMember(
        name="key",
        description="The name of the field for programs. It never changes.",
        kind=FieldKey,
        mutability=Mutability.IMMUTABLE,
        max_length=MAX_KEY_LENGTH,
    ),
    FieldMember(
        name="data_type",
        description="The type of the values. It never changes.",
        kind=DataType,
        mutability=Mutability.IMMUTABLE,
    ),
    FieldMember(
        name="allowed_values",
        description=(
            "The values a recipient may have, in this order. null allows any value. "
            "All are of the field's data type, and each is listed once."
        ),
        kind=AllowedValues,
        mutability=Mutability.WRITABLE,
        nullable=True,
        max_items=MAX_ALLOWED_VALUES,
    ),
    FieldMember(
        name="insertable",
        description="Whether the field can be inserted into content. The default is `true`.",
        kind=bool,
        mutability=Mutability.WRITABLE,
        default=True,
    ),
    FieldMember(
        name="source",
        description=("The origin of the field. Only `api` fields can be changed through the API."),
        kind=Source,
    ),
    FieldMember(
        name="integration_id",
        description="The integration that syncs the field. null for other sources.",
        kind=IntegrationId,
        nullable=True,
    ),
    FieldMember(
        name="esp_field_name",
        description="The ESP's name of the field. null for other sources.",
        kind=str,
        nullable=True,
        max_length=MAX_ESP_FIELD_NAME_LENGTH,
    ),
    FieldMember(
        name="custom_insertion_code",
        description="The whole code that inserts the value into exported content.",
        kind=InsertionCode,
        mutability=Mutability.WRITABLE,
        nullable=True,
        max_length=MAX_INSERTION_CODE_LENGTH,
    ),
    FieldMember(
        name="custom_value_expression",
        description="The expression that segment and condition logic evaluates.",
        kind=ValueExpression,
        mutability=Mutability.WRITABLE,
        nullable=True,
        max_length=MAX_VALUE_EXPRESSION_LENGTH,
    ),
    FieldMember(
        name="created_at",
        description="When the field was created.",
        kind=datetime,
    ),
    FieldMember(
        name="updated_at",
        description="Moves only when something changed, and forward.",
        kind=datetime,
    ),
)
"""All members of a field, in the order of the API's documents."""


def _names(mutability: Mutability) -> tuple[str, ...]:
    return tuple(each.name for each in FIELD_MEMBERS if each.mutability is mutability)


WRITABLE_MEMBERS = _names(Mutability.WRITABLE)
"""The names of the members that each input can set."""
IMMUTABLE_MEMBERS = _names(Mutability.IMMUTABLE)
"""The names of the members that only the creation of a field sets."""
READ_ONLY_MEMBERS = _names(Mutability.READ_ONLY)
"""The names of the members that no input sets."""
NULLABLE_TEXTS = tuple(
    each.name
    for each in FIELD_MEMBERS
    if each.nullable and each.name in WRITABLE_MEMBERS and issubclass(each.kind, str)
)
"""The names of the writable members that are a text or null."""

_CONVERSIONS: Mapping[Any, Callable[[Any], object]] = {
    AllowedValues: attrgetter("values"),
    datetime: format_instant,
}
"""How a value that is not null becomes a value of JSON, for types that JSON does not have."""


def member_reader(members: Iterable[FieldMember]) -> Callable[[object], dict[str, object]]:
    """Return a function that returns the values of these members of a field by name.

    The values have the types of JSON, except that a list is a tuple.
    """
    require_type(Iterable, members=members)
    members = tuple(members)
    names = tuple(each.name for each in members)
    # One call of `attrgetter` for all members is twice as fast as one for each.
    read_values = attrgetter(*map(_json_path, members))
    converted = tuple(
        (each.name, _CONVERSIONS[each.kind]) for each in members if each.kind in _CONVERSIONS
    )

    def read(field: object) -> dict[str, object]:
        values = dict(zip(names, read_values(field), strict=True))
        for name, convert in converted:
            if values[name] is not None:
                values[name] = convert(values[name])
        return values

    return read


def _json_path(member: FieldMember) -> str:
    """Return the attribute of a field that has the value of the member in the types of JSON."""
    is_enum = isinstance(member.kind, type) and issubclass(member.kind, Enum)
    return f"{member.path}.value" if is_enum else member.path
