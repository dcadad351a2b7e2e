"""Recipient fields, the inputs that create and change them, and catalogs of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar, cast

from attrs import Factory, asdict, evolve, field, frozen

from ..arguments import require_type
from ..errors import InvalidField, Rule, Violation, Violations
from ..identity import FieldId, OrganizationId
from ..instants import MILLISECOND, epoch_milliseconds, whole_milliseconds
from ..permissions import Operation, require
from .errors import FieldNotFound
from .members import (
    FIELD_MEMBERS,
    IMMUTABLE_MEMBERS,
    ORIGIN_MEMBERS,
    WRITABLE_MEMBERS,
    member_reader,
)
from .origins import Channel, Origin
from .preconditions import UNCONDITIONAL, Precondition
from .sizes import definition_size, id_size, list_size
from .values import (
    AllowedValues,
    DataType,
    FieldKey,
    FieldName,
    InsertionCode,
    ValueExpression,
    require_boolean,
    require_string,
)

__all__ = [
    "UNCHANGED",
    "Catalog",
    "FieldChanges",
    "FieldDefinition",
    "FieldDraft",
    "FieldReference",
    "RecipientField",
    "Unchanged",
    "catalog_version_tag",
    "repeated_violations",
]

A = TypeVar("A")
S = TypeVar("S", bound=str)
T = TypeVar("T")

FieldReference: TypeAlias = FieldId | FieldKey | str
"""A reference to a field of an organization: its id or its key, also as a plain text."""


class Unchanged(Enum):
    """The type of `UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""The value of a member that a change does not set. (None is a value that can be set.)"""


def _at(member: str, parse: Callable[[A], T], value: A) -> T:
    """Parse the value, and put the member's name before the path of each violation."""
    try:
        return parse(value)
    except InvalidField as invalid:
        raise InvalidField([v.prefixed(member) for v in invalid.violations]) from None


# Each converter returns a parsed value as it is, because parsers of documents pass parsed values.


def _text(kind: Callable[[str], S], member: str, text: str) -> S:
    return _at(member, lambda value: kind(require_string(value)), text)


def _name(text: str) -> FieldName:
    return text if isinstance(text, FieldName) else _text(FieldName, "name", text)


def _key(text: str) -> FieldKey:
    return text if isinstance(text, FieldKey) else _text(FieldKey, "key", text)


def _data_type(value: DataType | str) -> DataType:
    return value if isinstance(value, DataType) else _at("data_type", DataType.parse, value)


def _insertable(value: bool) -> bool:  # noqa: FBT001 (a converter)
    return value if value is True or value is False else _at("insertable", require_boolean, value)


def _insertion_code(text: str | None) -> InsertionCode | None:
    if text is None or isinstance(text, InsertionCode):
        return text
    return _text(InsertionCode, "custom_insertion_code", text)


def _value_expression(text: str | None) -> ValueExpression | None:
    if text is None or isinstance(text, ValueExpression):
        return text
    return _text(ValueExpression, "custom_value_expression", text)


def _derived_key(name: FieldName) -> FieldKey:
    return _at("key", FieldKey.derived_from, name)


def _changed_name(name: str | Unchanged) -> FieldName | Unchanged:
    return name if isinstance(name, Unchanged) else _name(name)


def _changed_insertable(value: bool | Unchanged) -> bool | Unchanged:  # noqa: FBT001
    return value if isinstance(value, Unchanged) else _insertable(value)


def _changed_insertion_code(code: str | Unchanged | None) -> InsertionCode | Unchanged | None:
    return code if isinstance(code, Unchanged) else _insertion_code(code)


def _changed_value_expression(
    expression: str | Unchanged | None,
) -> ValueExpression | Unchanged | None:
    return expression if isinstance(expression, Unchanged) else _value_expression(expression)


def _unconverted(values: AllowedValues | Sequence[object] | None) -> AllowedValues | None:
    """Return the values for `__attrs_post_init__`: a converter does not know the data type."""
    return cast("AllowedValues | None", values)


@frozen(kw_only=True)
class FieldDraft:
    """The input to create or replace a field. Without a key, the key is derived from the name.

    The data type can be passed by its name, and the allowed values as a sequence. Only sync runs
    set `esp_field_name`.

    Raises: InvalidField if a member is invalid, if the data type does not permit the allowed
    values, if these are too large, or if no key can be derived from the name.
    """

    name: FieldName = field(converter=_name)
    data_type: DataType = field(converter=_data_type)
    key: FieldKey = field(
        converter=_key,
        default=Factory(lambda self: _derived_key(self.name), takes_self=True),
    )
    allowed_values: AllowedValues | None = field(converter=_unconverted, default=None)
    insertable: bool = field(converter=_insertable, default=True)
    custom_insertion_code: InsertionCode | None = field(converter=_insertion_code, default=None)
    custom_value_expression: ValueExpression | None = field(
        converter=_value_expression, default=None
    )
    esp_field_name: str | None = None

    def __attrs_post_init__(self) -> None:
        if self.allowed_values is not None:
            permitted = _at("allowed_values", self._permit, self.allowed_values)
            object.__setattr__(self, "allowed_values", permitted)

    def define(self, *, by: Channel, at: datetime) -> FieldDefinition:
        """Return the definition of this field, with the channel's origin, created at this time.

        Raises: OperationForbidden if the channel may not create it; InvalidField if the origin of
        the channel requires an ESP field name, or permits none.
        """
        origin = by.origin(self.esp_field_name)
        require(by, Operation.CREATE, origin)
        members = _values(self, (*WRITABLE_MEMBERS, *IMMUTABLE_MEMBERS))
        return FieldDefinition(**members, origin=origin, created_at=at)

    def changes(self) -> FieldChanges:
        """Return the changes that make a stored field equal to this one.

        They have a value for each writable member, and repeat the data type.
        """
        members = _values(self, WRITABLE_MEMBERS)
        if self.allowed_values is not None:
            members["allowed_values"] = self.allowed_values.values
        return FieldChanges(**members, repeated={"data_type": self.data_type.value})

    def _permit(self, values: AllowedValues | Sequence[object]) -> AllowedValues:
        if not isinstance(values, AllowedValues):
            values = AllowedValues(self.data_type, values)
        elif values.data_type is not self.data_type:
            raise InvalidField([_other_type(self.data_type)])
        return values.require_size()


@frozen(kw_only=True)
class FieldChanges:
    """The input to change a field. Members that are UNCHANGED keep their values.

    `allowed_values` are checked against the data type of the field. `repeated` has members that no
    change sets, such as the data type, with the values of documents. They are a check, like
    `If-Match`: each must equal what documents show of the stored field.
    """

    name: FieldName | Unchanged = field(converter=_changed_name, default=UNCHANGED)
    allowed_values: Sequence[object] | Unchanged | None = UNCHANGED
    insertable: bool | Unchanged = field(converter=_changed_insertable, default=UNCHANGED)
    custom_insertion_code: InsertionCode | Unchanged | None = field(
        converter=_changed_insertion_code, default=UNCHANGED
    )
    custom_value_expression: ValueExpression | Unchanged | None = field(
        converter=_changed_value_expression, default=UNCHANGED
    )
    repeated: Mapping[str, object] = field(factory=dict)

    def draft(self, key: FieldKey | str, *, by: Channel) -> FieldDraft:
        """Return the draft of the new field that a replacement with these changes creates.

        Its data type is the repeated one.
        Raises: InvalidField, with all violations, if a member is missing or invalid, or if a
        repeated member differs from that of the new field.
        """
        repeated = dict(self.repeated)
        data_type = repeated.pop("data_type", None)
        origin = by.origin(None)
        created = {"key": str(key), **{name: getattr(origin, name) for name in ORIGIN_MEMBERS}}
        violations = Violations(
            repeated_violations(repeated, {**created, "source": origin.source.value})
        )
        draft = None
        with violations.collect("data_type"):
            data_type = DataType.parse(data_type)
        if isinstance(data_type, DataType):
            with violations.collect():
                members = _values(self, WRITABLE_MEMBERS)
                draft = FieldDraft(**members, key=key, data_type=data_type)
        if violations or draft is None:
            raise InvalidField(violations)
        return draft


@frozen(kw_only=True)
class FieldDefinition:
    """A complete field to which no storage has assigned an id. It checks rules across members."""

    name: FieldName
    key: FieldKey
    data_type: DataType
    allowed_values: AllowedValues | None
    insertable: bool
    origin: Origin
    custom_insertion_code: InsertionCode | None
    custom_value_expression: ValueExpression | None
    created_at: datetime = field(converter=whole_milliseconds)

    def __attrs_post_init__(self) -> None:
        if self.allowed_values is None:
            return
        if not isinstance(self.allowed_values, AllowedValues):
            require_type(AllowedValues, allowed_values=self.allowed_values)
        if self.allowed_values.data_type is not self.data_type:
            require_type(DataType, data_type=self.data_type)
            raise InvalidField([_other_type(self.data_type).prefixed("allowed_values")])

    def with_id(self, field_id: FieldId, organization_id: OrganizationId) -> RecipientField:
        """Return the field to store under the id that the storage assigns."""
        return RecipientField(
            **asdict(self, recurse=False),
            id=field_id,
            organization_id=organization_id,
            updated_at=self.created_at,
            version=1,
        )

    @cached_property
    def size_without_id(self) -> int:
        """The bytes that the field adds to a list, without the digits of its id."""
        return definition_size(self)


@frozen(kw_only=True)
class RecipientField(FieldDefinition):
    """A stored recipient field.

    `version` starts at 1 and increases with each change; `updated_at` strictly increases with it.
    A field that another process has reported has version 0: only storages know the version.
    """

    id: FieldId
    organization_id: OrganizationId
    updated_at: datetime = field(converter=whole_milliseconds)
    version: int

    @property
    def size(self) -> int:
        """The bytes that the field adds to a list, with the comma that separates it."""
        return self.size_without_id + id_size(self.id)

    @property
    def version_tag(self) -> str:
        """The identifier of this state of this field, unique even if the storage is recreated."""
        return f"{self.id}-{epoch_milliseconds(self.updated_at):x}"

    def with_changes(
        self,
        changes: FieldChanges,
        *,
        by: Channel,
        at: datetime,
        precondition: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """Return this field with the changes applied, or itself if they change nothing.

        Raises, in this order: OperationForbidden if the channel may not update it; VersionConflict
        if the precondition does not hold; InvalidField, with all violations, if the allowed values
        are invalid or a repeated member differs from that of the field.
        """
        require(by, Operation.UPDATE, self.origin)
        precondition.require(self.version_tag)
        violations = Violations()
        if changes.repeated:
            shown = {**_read_not_writable(self), "key": str(self.key)}
            violations += repeated_violations(changes.repeated, shown)
        members = _values(changes, WRITABLE_MEMBERS)
        with violations.collect("allowed_values"):
            if changes.allowed_values is not None and changes.allowed_values is not UNCHANGED:
                allowed_values = AllowedValues(self.data_type, changes.allowed_values)
                if allowed_values != self.allowed_values:
                    members["allowed_values"] = allowed_values.require_size()
                else:
                    members["allowed_values"] = allowed_values
        if violations:
            raise InvalidField(violations)
        changed = {name: value for name, value in members.items() if value is not UNCHANGED}
        return self._next_version(evolve(self, **changed), at)

    def updated_from(
        self, reported: FieldDefinition, *, by: Channel, at: datetime
    ) -> RecipientField:
        """Return this field as its ESP now reports it, with its key, or itself if nothing changed.

        Raises: OperationForbidden unless the channel is that of the field's integration.
        """
        require(by, Operation.UPDATE, self.origin)
        changed = _values(reported, (*WRITABLE_MEMBERS, "data_type"))
        return self._next_version(evolve(self, **changed), at)

    def restored(self, *, by: Channel, at: datetime) -> RecipientField:
        """Return this deleted field as it is stored again: with its id, in the next version.

        Raises: OperationForbidden if the channel may not create fields of its origin.
        """
        require(by, Operation.CREATE, self.origin)
        return self._with_next_version(at)

    def require_changeable(self, *, by: Channel) -> None:
        """Check that the channel may change the field. Raises: OperationForbidden if not."""
        require(by, Operation.UPDATE, self.origin)

    def require_deletable(self, *, by: Channel, precondition: Precondition = UNCONDITIONAL) -> None:
        """Check that the field can be deleted.

        Raises, in this order: OperationForbidden if the channel may not delete it; VersionConflict
        if the precondition does not hold.
        """
        require(by, Operation.DELETE, self.origin)
        precondition.require(self.version_tag)

    def _next_version(self, changed: RecipientField, at: datetime) -> RecipientField:
        return self if changed == self else changed._with_next_version(at)

    def _with_next_version(self, at: datetime) -> RecipientField:
        at = max(at, self.updated_at + MILLISECOND)
        return evolve(self, updated_at=at, version=self.version + 1)


@frozen
class Catalog:
    """An organization's fields, ordered by id, and their revision.

    The revision is a number that changes with every change to the fields.
    """

    organization_id: OrganizationId
    revision: int
    fields: tuple[RecipientField, ...]

    @property
    def version_tag(self) -> str:
        """The identifier of this state of this catalog, unique even if the storage is recreated."""
        return catalog_version_tag(self.organization_id, self.revision)

    @property
    def size(self) -> int:
        """The bytes of the list of the fields, as JSON without white space in UTF-8."""
        return list_size(sum(each.size for each in self.fields))

    def get(self, reference: FieldReference) -> RecipientField:
        """Return the field with this id or key. Raises: FieldNotFound if there is none."""
        for each in self.fields:
            if reference in (each.id, each.key):
                return each
        raise FieldNotFound


def catalog_version_tag(organization_id: OrganizationId, revision: int) -> str:
    """Return the version tag of an organization's catalog at this revision."""
    require_type(int, revision=revision)
    return f"{organization_id}-{revision:x}"


def repeated_violations(
    repeated: Mapping[str, object], shown: Mapping[str, object]
) -> Iterable[Violation]:
    """Return a violation for each repeated member that differs from what documents show."""
    return [
        _immutable(member) if member in IMMUTABLE_MEMBERS else _READ_ONLY.prefixed(member)
        for member, value in repeated.items()
        if member not in shown or not _same(value, shown[member])
    ]


def _immutable(member: str) -> Violation:
    message = f"The {member.replace('_', ' ')} of a field can't be changed."
    return Violation(Rule.IMMUTABLE, message, (member,))


def _same(one: object, other: object) -> bool:
    """Compare the values and their types: 1 is neither 1.0 nor True."""
    return type(one) is type(other) and one == other


_READ_ONLY = Violation(
    Rule.READ_ONLY, "This member can't be set. Leave it out, or send what is stored."
)
_read_not_writable = member_reader(
    each for each in FIELD_MEMBERS if each.name not in WRITABLE_MEMBERS
)


def _values(source: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the attributes with these names."""
    return {name: getattr(source, name) for name in names}


def _other_type(data_type: DataType) -> Violation:
    """Return the violation of allowed values that are for another data type."""
    message = f"A {data_type.value} field permits {data_type.value} values only."
    return Violation(Rule.TYPE, message)
