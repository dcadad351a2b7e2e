"""Cases for the revision of a catalog."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeAlias

import pytest

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    OrganizationRepository,
)
from recipient_fields.domain import (
    API,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    FieldQuery,
    KeyTaken,
    OperationForbidden,
    OrganizationId,
    sync_channel,
)

from .assertions import raising
from .examples import (
    INSTANTS,
    MAX_INTEGRATION_ID,
    a_definition,
    a_grant,
    renaming,
    unchanged,
)
from .field_changes import add_field, delete_field, update_field

Call: TypeAlias = Callable[[FieldRepository, OrganizationId], object]

CITY = FieldKey("city")


_forbid = raising(OperationForbidden("not this one"))

CHANGES: dict[str, Call] = {
    "add": lambda fields, ours: add_field(fields, ours, a_definition("town")),
    "update": lambda fields, ours: update_field(fields, ours, CITY, renaming("Town")),
    "delete": lambda fields, ours: delete_field(fields, ours, CITY),
}
"""Calls that change a catalog with the field `city`."""

NO_CHANGES: dict[str, Call] = {
    "reading all": lambda fields, ours: fields.all(ours),
    "publishing": lambda fields, ours: fields.publish(ours),
    "selecting": lambda fields, ours: fields.select(ours, FieldQuery()),
    "reading one": lambda fields, ours: fields.get(ours, CITY),
    "a taken key": lambda fields, ours: add_field(fields, ours, a_definition("city")),
    "a reached limit": lambda fields, ours: add_field(fields, ours, a_definition("town"), limit=1),
    "an update of nothing": lambda fields, ours: update_field(fields, ours, CITY, unchanged),
    "the same name again": lambda fields, ours: update_field(fields, ours, CITY, renaming("City")),
    "a rejected update": lambda fields, ours: update_field(fields, ours, CITY, _forbid),
    "an update of no field": lambda fields, ours: update_field(
        fields, ours, FieldKey("no"), unchanged
    ),
    "a rejected delete": lambda fields, ours: delete_field(fields, ours, CITY, _forbid),
    "a delete of no field": lambda fields, ours: delete_field(fields, ours, FieldKey("no")),
}
"""Calls that do not change a catalog with the field `city`."""


class RevisionCases:
    """Cases for the revision, which increases if and only if the catalog changes."""

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_every_change_increases_only_the_revision_of_its_organization(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId, change: Call
    ) -> None:
        for organization in (ours, theirs):
            add_field(fields, organization, a_definition())
        before, their_catalog = fields.all(ours), fields.all(theirs)
        change(fields, ours)
        assert fields.all(ours).revision > before.revision
        assert fields.all(theirs) == their_catalog

    @pytest.mark.parametrize("call", NO_CHANGES.values(), ids=NO_CHANGES)
    def test_a_call_without_effect_keeps_the_revision(
        self, fields: FieldRepository, ours: OrganizationId, call: Call
    ) -> None:
        add_field(fields, ours, a_definition())
        before = fields.all(ours)
        with suppress(KeyTaken, FieldLimitReached, FieldNotFound, OperationForbidden):
            call(fields, ours)
        assert fields.all(ours) == before

    def test_a_revision_is_never_reused(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        revisions = [fields.all(ours).revision]
        for channel in (API, sync_channel(MAX_INTEGRATION_ID)):
            field = add_field(fields, ours, a_definition(by=channel))
            revisions.append(fields.all(ours).revision)
            update_field(fields, ours, field.id, renaming("Town"))
            revisions.append(fields.all(ours).revision)
            delete_field(fields, ours, field.id)
            revisions.append(fields.all(ours).revision)
        assert revisions == sorted(set(revisions))

    @pytest.mark.parametrize("created_at", INSTANTS)
    def test_a_revision_increases_if_the_clock_is_behind(
        self, fields: FieldRepository, organizations: OrganizationRepository, created_at: datetime
    ) -> None:
        """The organization was created after the current time of the storage's clock."""
        ours = organizations.add("ACME", created_at).id
        revisions = [fields.all(ours).revision]
        for change in (
            lambda *_: add_field(fields, ours, a_definition()),
            *CHANGES.values(),
        ):
            change(fields, ours)
            revisions.append(fields.all(ours).revision)
        assert revisions == sorted(set(revisions))


class FoundRevisionCases:
    """Cases for the revision and the size that a look-up of an API key returns."""

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
    def test_a_key_is_found_with_the_revision_and_size_of_its_organizations_catalog(
        self,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        change: Call,
    ) -> None:
        keys = {
            organization: api_keys.add(a_grant(organization)) for organization in (ours, theirs)
        }
        add_field(fields, ours, a_definition())
        for step in (lambda *_: None, change):
            step(fields, ours)
            for organization, key in keys.items():
                catalog = fields.all(organization)
                expected = key.to_found_key(catalog.revision, catalog.size)
                assert api_keys.find(key.digest) == expected
