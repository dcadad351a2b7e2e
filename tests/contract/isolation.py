"""Cases for the isolation of organizations, and for ids and keys that do not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from recipient_fields.application import ApiKeyRepository, FieldRepository
from recipient_fields.domain import (
    ApiKeyNotFound,
    FieldId,
    FieldKey,
    FieldNotFound,
    FieldReference,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
)

from .api_keys import BY_KEY_ID, by_key_id
from .api_keys import Call as KeyCall
from .examples import (
    NEVER_ASSIGNED,
    NOW,
    a_definition,
    a_grant,
    must_not_be_called,
)
from .field_changes import add_field, delete_field, update_field

Call: TypeAlias = Callable[[FieldRepository, OrganizationId, FieldReference], object]

BY_REFERENCE: dict[str, Call] = {
    "get": lambda fields, ours, reference: fields.get(ours, reference),
    "update": lambda fields, ours, reference: update_field(
        fields, ours, reference, must_not_be_called
    ),
    "delete": lambda fields, ours, reference: delete_field(
        fields, ours, reference, must_not_be_called
    ),
}
"""Every method with a reference to a field."""

by_reference: pytest.MarkDecorator = pytest.mark.parametrize(
    "call", BY_REFERENCE.values(), ids=BY_REFERENCE
)


class IsolationCases:
    """Cases for two organizations that use the same field keys."""

    @pytest.fixture
    def our_field(self, fields: FieldRepository, ours: OrganizationId) -> RecipientField:
        """Return a field whose key the other organization also uses."""
        return add_field(fields, ours, a_definition(name="Ours"))

    @pytest.fixture
    def their_field(self, fields: FieldRepository, theirs: OrganizationId) -> RecipientField:
        """Return the field with that key in the other organization."""
        return add_field(fields, theirs, a_definition(name="Theirs"))

    @by_reference
    def test_another_organizations_field_is_not_found_by_its_id_or_key(
        self, fields: FieldRepository, ours: OrganizationId, their_field: RecipientField, call: Call
    ) -> None:
        before = fields.all(their_field.organization_id)
        for reference in (their_field.id, their_field.key):
            with pytest.raises(FieldNotFound):
                call(fields, ours, reference)
            assert fields.all(their_field.organization_id) == before

    @by_reference
    def test_another_organizations_field_is_not_found_by_its_id_if_both_have_fields(
        self,
        fields: FieldRepository,
        ours: OrganizationId,
        our_field: RecipientField,
        their_field: RecipientField,
        call: Call,
    ) -> None:
        with pytest.raises(FieldNotFound):
            call(fields, ours, their_field.id)
        assert fields.all(ours).fields == (our_field,)

    def test_each_organization_finds_its_own_field_by_a_shared_key(
        self, fields: FieldRepository, our_field: RecipientField, their_field: RecipientField
    ) -> None:
        for field in (our_field, their_field):
            assert fields.get(field.organization_id, FieldKey("city")) == field
            assert fields.all(field.organization_id).fields == (field,)


class ApiKeyIsolationCases:
    """Cases for the API keys of two organizations."""

    def test_each_organization_lists_its_own_api_keys(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        our_key, their_key = (
            api_keys.add(a_grant(organization)) for organization in (ours, theirs)
        )
        assert api_keys.all(ours) == (our_key,)
        assert api_keys.all(theirs) == (their_key,)

    @by_key_id
    def test_another_organizations_api_key_is_not_found(
        self,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        call: KeyCall,
    ) -> None:
        their_key = api_keys.add(a_grant(theirs))
        for _ in range(2):
            with pytest.raises(ApiKeyNotFound):
                call(api_keys, ours, their_key.id)
            api_keys.add(a_grant(ours))  # The result is the same if the organization has a key.
        assert api_keys.all(theirs) == (their_key,)

    def test_no_use_of_another_organizations_api_key_is_recorded(
        self, api_keys: ApiKeyRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        their_key = api_keys.add(a_grant(theirs))
        api_keys.record_use(ours, their_key.id, NOW)
        assert api_keys.all(theirs) == (their_key,)


class AbsenceCases:
    """Cases for ids and keys that do not exist."""

    @by_reference
    def test_an_id_that_was_never_assigned_has_no_field(
        self, fields: FieldRepository, ours: OrganizationId, call: Call
    ) -> None:
        add_field(fields, ours, a_definition())
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(FieldNotFound):
                call(fields, ours, FieldId(never_assigned))

    @by_reference
    def test_a_key_that_was_never_used_has_no_field(
        self, fields: FieldRepository, ours: OrganizationId, call: Call
    ) -> None:
        add_field(fields, ours, a_definition("city"))
        for key in ("c", "cit", "c_ty", "city_2", "town"):  # `_` is a wildcard in LIKE
            with pytest.raises(FieldNotFound):
                call(fields, ours, FieldKey(key))

    @by_reference
    def test_an_unknown_organization_has_no_field_by_any_reference(
        self, fields: FieldRepository, ours: OrganizationId, call: Call
    ) -> None:
        field = add_field(fields, ours, a_definition())
        for never_assigned in NEVER_ASSIGNED:
            for reference in (field.id, field.key):
                with pytest.raises(FieldNotFound):
                    call(fields, OrganizationId(never_assigned), reference)

    def test_an_unknown_organization_has_no_catalog(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition())
        for never_assigned in NEVER_ASSIGNED:
            for read in (fields.all, fields.publish):
                with pytest.raises(OrganizationNotFound):
                    read(OrganizationId(never_assigned))

    def test_adding_a_field_requires_an_organization(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        before = fields.all(ours)
        for never_assigned in NEVER_ASSIGNED:
            for limit in (None, 0):
                with pytest.raises(OrganizationNotFound):
                    add_field(fields, OrganizationId(never_assigned), a_definition(), limit=limit)
            assert fields.all(ours) == before


class ApiKeyAbsenceCases:
    """Cases for the API keys of an organization that does not exist."""

    def test_listing_and_adding_api_keys_require_an_organization(
        self, api_keys: ApiKeyRepository, ours: OrganizationId
    ) -> None:
        key = api_keys.add(a_grant(ours))
        for never_assigned in NEVER_ASSIGNED:
            for call in BY_KEY_ID.values():
                with pytest.raises(ApiKeyNotFound):
                    call(api_keys, OrganizationId(never_assigned), key.id)
            api_keys.record_use(OrganizationId(never_assigned), key.id, NOW)
            with pytest.raises(OrganizationNotFound):
                api_keys.all(OrganizationId(never_assigned))
            with pytest.raises(OrganizationNotFound):
                api_keys.add(a_grant(OrganizationId(never_assigned)))
            assert api_keys.all(ours) == (key,)
