"""The recipient field: what is asked for, what is stored, and how one becomes the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from attrs import Factory, asdict, evolve, field, frozen
from attrs.converters import optional

from .errors import (
    FieldLimitReached,
    FieldNotFound,
    InvalidField,
    KeyTaken,
    Rule,
    Violation,
    Violations,
)
from .identity import FieldId, OrganizationId
from .instants import MILLISECOND, epoch_milliseconds, format_instant, whole_milliseconds
from .origins import Channel, Origin
from .permissions import Operation, require
from .values import (
    AllowedValues,
    DataType,
    FieldKey,
    FieldName,
    InsertionCode,
    ValueExpression,
    required_boolean,
    required_text,
)
from .versions import UNCONDITIONAL, Precondition

A = TypeVar("A")
T = TypeVar("T")

FieldReference: TypeAlias = FieldId | FieldKey
"""What addresses a field within its organization."""


class Unchanged(Enum):
    """The type of `UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""Stands for a member that a change leaves as it is; None is a value."""


def _at(member: str, parse: Callable[[A], T], given: A) -> T:
    try:
        return parse(given)
    except InvalidField as invalid:
        raise InvalidField([v.under(member) for v in invalid.violations]) from None


def _name(text: str) -> FieldName:
    return _at("name", lambda given: FieldName(required_text(given)), text)


def _key(text: str) -> FieldKey:
    return _at("key", lambda given: FieldKey(required_text(given)), text)


def _data_type(given: DataType | str) -> DataType:
    return given if isinstance(given, DataType) else _at("data_type", DataType.parse, given)


def _insertable(given: bool) -> bool:  # noqa: FBT001 (a converter)
    return _at("insertable", required_boolean, given)


def _changed_insertable(given: bool | Unchanged) -> bool | Unchanged:  # noqa: FBT001
    return given if isinstance(given, Unchanged) else _insertable(given)


def _derived_key(name: FieldName) -> FieldKey:
    return _at("key", FieldKey.derived_from, name)


def _insertion_code(text: str) -> InsertionCode:
    return _at("custom_insertion_code", lambda given: InsertionCode(required_text(given)), text)


def _value_expression(text: str) -> ValueExpression:
    return _at("custom_value_expression", lambda given: ValueExpression(required_text(given)), text)


def _changed_name(name: str | Unchanged) -> FieldName | Unchanged:
    return name if isinstance(name, Unchanged) else _name(name)


def _changed_insertion_code(code: str | Unchanged | None) -> InsertionCode | Unchanged | None:
    return code if code is None or isinstance(code, Unchanged) else _insertion_code(code)


def _changed_value_expression(
    expression: str | Unchanged | None,
) -> ValueExpression | Unchanged | None:
    if expression is None or isinstance(expression, Unchanged):
        return expression
    return _value_expression(expression)


@frozen(kw_only=True)
class FieldDraft:
    """What is asked for when a field is made. Without a key, the name gives it one.

    The data type may be given by its name, and the allowed values as a plain sequence. InvalidField
    where a member is not as it has to be, or the name gives no key; `defined` judges whether the
    allowed values fit the data type. Only a sync run gives an `esp_field_name`.
    """

    name: FieldName = field(converter=_name)
    data_type: DataType = field(converter=_data_type)
    key: FieldKey = field(
        converter=_key,
        default=Factory(lambda self: _derived_key(self.name), takes_self=True),
    )
    allowed_values: AllowedValues | Sequence[object] | None = None
    insertable: bool = field(converter=_insertable, default=True)
    custom_insertion_code: InsertionCode | None = field(
        converter=optional(_insertion_code), default=None
    )
    custom_value_expression: ValueExpression | None = field(
        converter=optional(_value_expression), default=None
    )
    esp_field_name: str | None = None

    def defined(self, *, by: Channel, at: datetime) -> FieldDefinition:
        """The field this draft asks for, of the channel's origin."""
        origin = by.origin(self.esp_field_name)
        require(by, Operation.CREATE, origin)
        allowed_values = self.allowed_values
        if allowed_values is not None and not isinstance(allowed_values, AllowedValues):
            allowed_values = _at("allowed_values", self._allow, allowed_values)
        return FieldDefinition(
            name=self.name,
            key=self.key,
            data_type=self.data_type,
            allowed_values=allowed_values,
            insertable=self.insertable,
            origin=origin,
            custom_insertion_code=self.custom_insertion_code,
            custom_value_expression=self.custom_value_expression,
            created_at=at,
        )

    def _allow(self, values: Sequence[object]) -> AllowedValues:
        return AllowedValues(self.data_type, values)


@frozen(kw_only=True)
class FieldChanges:
    """What is asked for when a field is changed; what is UNCHANGED stays.

    `allowed_values` are judged against the stored data type. `stated` holds what the caller says,
    in wire form, of members that can't be changed; each must equal what is stored.
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
    stated: Mapping[str, object] = Factory(dict)


@frozen(kw_only=True)
class FieldReplacement:
    """What a field shall be, whether it exists or not: members left out take their defaults.

    `data_type` and `stated` are in wire form: an existing field judges them by what is stored, so
    a wrong one is immutable there whatever its form.
    """

    name: FieldName = field(converter=_name)
    data_type: object
    allowed_values: Sequence[object] | None = None
    insertable: bool = field(converter=_insertable, default=True)
    custom_insertion_code: InsertionCode | None = field(
        converter=optional(_insertion_code), default=None
    )
    custom_value_expression: ValueExpression | None = field(
        converter=optional(_value_expression), default=None
    )
    stated: Mapping[str, object] = Factory(dict)

    def changes(self) -> FieldChanges:
        """What this asks of a field that exists."""
        return FieldChanges(
            name=self.name,
            allowed_values=self.allowed_values,
            insertable=self.insertable,
            custom_insertion_code=self.custom_insertion_code,
            custom_value_expression=self.custom_value_expression,
            stated={**self.stated, "data_type": self.data_type},
        )

    def draft(self, key: FieldKey, *, by: Channel) -> FieldDraft:
        """What this asks for where the key is free; InvalidField names all that is wrong."""
        fixed = {"key": str(key), **_origin_members(by.origin())}
        violations = Violations(_stated_violations(self.stated, fixed))
        allowed_values = None
        with violations.under("data_type"):
            data_type = DataType.parse(self.data_type)
            with violations.under("allowed_values"):
                if self.allowed_values is not None:
                    allowed_values = AllowedValues(data_type, self.allowed_values)
        if violations:
            raise InvalidField(violations)
        return FieldDraft(
            name=self.name,
            key=key,
            data_type=data_type,
            allowed_values=allowed_values,
            insertable=self.insertable,
            custom_insertion_code=self.custom_insertion_code,
            custom_value_expression=self.custom_value_expression,
        )


@frozen(kw_only=True)
class FieldDefinition:
    """Everything a field is before a storage gives it an id; holds the rules across members."""

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
        if self.allowed_values is not None and self.allowed_values.data_type is not self.data_type:
            message = f"A {self.data_type.value} field permits {self.data_type.value} values only."
            raise InvalidField([Violation(Rule.TYPE, message, ("allowed_values",))])

    def stored(self, field_id: FieldId, organization_id: OrganizationId) -> RecipientField:
        """The field as a storage keeps it under the id it assigns."""
        return RecipientField(
            **asdict(self, recurse=False),
            id=field_id,
            organization_id=organization_id,
            updated_at=self.created_at,
            version=1,
        )


@frozen(kw_only=True)
class RecipientField(FieldDefinition):
    """A stored recipient field.

    `version` begins at 1 and counts the changes; `updated_at` moves strictly forward with it. It is
    0 where the field was read from a service, which does not tell it.
    """

    id: FieldId
    organization_id: OrganizationId
    updated_at: datetime = field(converter=whole_milliseconds)
    version: int

    @property
    def version_tag(self) -> str:
        """Names this state of this field, and no other, even in a storage made anew."""
        return f"{self.id}-{epoch_milliseconds(self.updated_at):x}"

    def revised(
        self,
        changes: FieldChanges,
        *,
        by: Channel,
        at: datetime,
        given: Precondition = UNCONDITIONAL,
    ) -> RecipientField:
        """This field with the changes applied; itself where they change nothing.

        OperationForbidden, then VersionConflict, then InvalidField with every violation.
        """
        require(by, Operation.UPDATE, self.origin)
        given.require(self.version_tag)
        violations = Violations(_stated_violations(changes.stated, self._fixed_members()))
        allowed_values = self.allowed_values
        with violations.under("allowed_values"):
            if changes.allowed_values is None:
                allowed_values = None
            elif changes.allowed_values is not UNCHANGED:
                allowed_values = AllowedValues(self.data_type, changes.allowed_values)
        if violations:
            raise InvalidField(violations)
        revised = evolve(
            self,
            name=_changed(self.name, changes.name),
            allowed_values=allowed_values,
            insertable=_changed(self.insertable, changes.insertable),
            custom_insertion_code=_changed(
                self.custom_insertion_code, changes.custom_insertion_code
            ),
            custom_value_expression=_changed(
                self.custom_value_expression, changes.custom_value_expression
            ),
        )
        return self._succeeded_by(revised, at)

    def resynced(self, reported: FieldDefinition, *, by: Channel, at: datetime) -> RecipientField:
        """This field as its ESP now reports it, under its own key; itself where nothing differs.

        OperationForbidden unless the channel is that of the field's integration.
        """
        require(by, Operation.UPDATE, self.origin)
        revised = evolve(
            self,
            name=reported.name,
            data_type=reported.data_type,
            allowed_values=reported.allowed_values,
            insertable=reported.insertable,
            custom_insertion_code=reported.custom_insertion_code,
            custom_value_expression=reported.custom_value_expression,
        )
        return self._succeeded_by(revised, at)

    def require_deletable(self, *, by: Channel, given: Precondition = UNCONDITIONAL) -> None:
        """OperationForbidden, then VersionConflict, unless the channel may delete this field."""
        require(by, Operation.DELETE, self.origin)
        given.require(self.version_tag)

    def _succeeded_by(self, revised: RecipientField, at: datetime) -> RecipientField:
        if revised == self:
            return self
        at = max(at, self.updated_at + MILLISECOND)
        return evolve(revised, updated_at=at, version=self.version + 1)

    def _fixed_members(self) -> dict[str, object]:
        return {
            "id": self.id,
            "key": str(self.key),
            "data_type": self.data_type.value,
            **_origin_members(self.origin),
            "created_at": format_instant(self.created_at),
            "updated_at": format_instant(self.updated_at),
        }


@frozen
class Catalog:
    """An organization's fields, ordered by id, and the revision that every change of them moves."""

    organization_id: OrganizationId
    revision: int
    fields: tuple[RecipientField, ...]

    @property
    def version_tag(self) -> str:
        """Names this state of this catalog, and no other, even in a storage made anew."""
        return catalog_tag(self.organization_id, self.revision)

    def get(self, reference: FieldReference) -> RecipientField:
        """Return the field with this id or key. Raises: FieldNotFound if there is none."""
        for each in self.fields:
            if reference in (each.id, each.key):
                return each
        raise FieldNotFound

    def require_room(self, definition: FieldDefinition, *, limit: int | None = None) -> None:
        """Check whether this field can be added.

        Raises: KeyTaken if a field has its key, of whatever origin; then FieldLimitReached if
        `limit` fields have its source.
        """
        for each in self.fields:
            if each.key == definition.key:
                raise KeyTaken(each.key, each.id)
        source = definition.origin.source
        if limit is not None and limit <= sum(each.origin.source is source for each in self.fields):
            raise FieldLimitReached(limit)


def catalog_tag(organization_id: OrganizationId, revision: int) -> str:
    """The version tag of an organization's catalog at that revision."""
    return f"{organization_id}-{revision:x}"


def new_field_violations(stated: Mapping[str, object], *, by: Channel) -> list[Violation]:
    """What is wrong with what a caller states of a field that is yet to be made."""
    return _stated_violations(stated, _origin_members(by.origin())) if stated else []


def _stated_violations(
    stated: Mapping[str, object], fixed: Mapping[str, object]
) -> list[Violation]:
    return [
        _CAN_NOT_CHANGE.get(member, _READ_ONLY).under(member)
        for member, value in stated.items()
        if member not in fixed or not _same(value, fixed[member])
    ]


def _origin_members(origin: Origin) -> dict[str, object]:
    return {
        "source": origin.source.value,
        "integration_id": origin.integration_id,
        "esp_field_name": origin.esp_field_name,
    }


def _same(one: object, other: object) -> bool:
    """Equal and of one type: 1 is neither 1.0 nor True."""
    return type(one) is type(other) and one == other


def _changed(stored: T, change: T | Unchanged) -> T:
    return stored if isinstance(change, Unchanged) else change


_READ_ONLY = Violation(
    Rule.READ_ONLY, "This member can't be set. Leave it out, or send what is stored."
)
_CAN_NOT_CHANGE = {
    member: Violation(Rule.IMMUTABLE, f"The {title} of a field can't be changed.")
    for member, title in (("key", "key"), ("data_type", "data type"))
}
