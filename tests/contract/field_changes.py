"""Changes of single fields, which the cases make with `change` of FieldRepository."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeAlias

from recipient_fields.application import FieldCreator, FieldRepository
from recipient_fields.domain import (
    Author,
    CatalogChanges,
    CatalogView,
    Change,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    FieldReference,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    plan_creation,
    require_addable,
)

from .examples import AUTHOR, LATER, NOW, FieldChange, permit, restoring

FieldCheck: TypeAlias = Callable[[RecipientField], None]
"""Raise if the field may not be deleted."""

_RESTORATION: Final = restoring()


def add_field(
    fields: FieldRepository,
    organization_id: OrganizationId,
    definition: FieldDefinition,
    *,
    limit: int | None = None,
    size_limit: int | None = None,
    author: Author = AUTHOR,
) -> RecipientField:
    """Create a field, as the service does: with `create` if the storage has it."""
    if isinstance(fields, FieldCreator):
        return fields.create(
            organization_id, definition, limit=limit, size_limit=size_limit, author=author
        )
    return add_with_plan(
        fields, organization_id, definition, limit=limit, size_limit=size_limit, author=author
    )


def add_with_plan(
    fields: FieldRepository,
    organization_id: OrganizationId,
    definition: FieldDefinition,
    *,
    limit: int | None = None,
    size_limit: int | None = None,
    author: Author = AUTHOR,
) -> RecipientField:
    """Create a field with `change`."""
    applied = fields.change(
        organization_id,
        lambda catalog: plan_creation(catalog, definition, limit=limit, size_limit=size_limit),
        author=author,
        at=definition.created_at,
    )
    return applied.created[0]


def update_field(
    fields: FieldRepository,
    organization_id: OrganizationId,
    reference: FieldReference,
    change: FieldChange,
    *,
    author: Author = AUTHOR,
    at: datetime = NOW,
) -> RecipientField:
    """Store the result of `change`, unless it is equal to the stored field, and return it.

    Raises: FieldNotFound if the organization has no such field.
    """
    changed: RecipientField

    def plan(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
        nonlocal changed
        field = _get(catalog, reference)
        changed = change(field)
        updates = () if changed == field else (Change(RecordedOperation.UPDATED, field, changed),)
        return CatalogChanges.of(updated=updates)

    fields.change(organization_id, plan, author=author, at=at)
    return changed


def delete_field(
    fields: FieldRepository,
    organization_id: OrganizationId,
    reference: FieldReference,
    check: FieldCheck = permit,
    *,
    author: Author = AUTHOR,
    at: datetime = LATER,
) -> None:
    """Delete a field, unless `check` raises.

    Raises: FieldNotFound if the organization has no such field.
    """

    def plan(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
        field = _get(catalog, reference)
        check(field)
        return CatalogChanges.of(deleted=(field,))

    fields.change(organization_id, plan, author=author, at=at)


def restore_field(
    fields: FieldRepository,
    organization_id: OrganizationId,
    field_id: FieldId,
    restoration: FieldChange = _RESTORATION,
    *,
    limit: int | None = None,
    author: Author = AUTHOR,
    at: datetime = LATER,
) -> RecipientField:
    """Store the result of `restoration`, and return it.

    `restoration` receives the field as it was before its last deletion, or as it is if the history
    has no deletion.
    Raises: FieldNotFound if there is neither; the errors of `restoration`; then those of
    `require_addable`.
    """

    def plan(catalog: CatalogView) -> CatalogChanges[FieldDefinition]:
        restored = restoration(catalog.last_deletion(field_id) or _get(catalog, field_id))
        holder = catalog.find(restored.key)
        require_addable(restored, holder=holder, count=catalog.count, limit=limit)
        return CatalogChanges.of(restored=(restored,))

    applied = fields.change(organization_id, plan, author=author, at=at)
    return applied.restored[0]


def _get(catalog: CatalogView, reference: FieldReference) -> RecipientField:
    field = catalog.find(reference)
    if field is None:
        raise FieldNotFound
    return field
