"""Cases for the size of a catalog."""

from __future__ import annotations

from typing import Final

import pytest

from recipient_fields.application import ApiKeyRepository, FieldRepository, Storage, published
from recipient_fields.domain import (
    ADMINISTRATOR,
    AllowedValues,
    DataType,
    FieldKey,
    OrganizationId,
)

from .catalog_views import look
from .examples import ALLOWED_VALUES, AUTHOR, SNIPPETS, a_definition, a_grant, changing
from .field_changes import add_field, update_field
from .field_limits import CHANGES, Change

_CITY: Final = FieldKey("city")
_LONG: Final = AllowedValues(DataType.TEXT, ["ä" * 200, '"', "b"])

SIZE_CHANGES: Final[dict[str, Change]] = {
    **CHANGES,
    "larger values": lambda storage, ours: update_field(
        storage.fields, ours, _CITY, changing(allowed_values=_LONG.values), author=AUTHOR
    ),
    "smaller values": lambda storage, ours: update_field(
        storage.fields, ours, FieldKey("zip"), changing(allowed_values=None), author=AUTHOR
    ),
}
"""The organization has `city` and `age`, which the API manages, and `zip`, which has values."""


def listed_bytes(fields: FieldRepository, organization_id: OrganizationId) -> int:
    """Return the bytes of the list of the fields, as compact JSON in UTF-8."""
    documents = published(fields.all(organization_id)).documents
    return len(f'{{"recipient_fields":{documents}}}'.encode())


def size_in_plan(fields: FieldRepository, organization_id: OrganizationId) -> int:
    """Return the sum of the sizes of the fields that a plan sees."""
    return look(fields, organization_id, lambda view: view.fields_size())


class CatalogSizeCases:
    """Cases for the size of a catalog, which plans and look-ups of API keys see."""

    @pytest.mark.parametrize("change", SIZE_CHANGES.values(), ids=SIZE_CHANGES)
    def test_after_every_change_the_size_is_that_of_the_list(
        self,
        storage: Storage,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        change: Change,
    ) -> None:
        grants = {each: api_keys.add(a_grant(each)) for each in (ours, theirs)}
        for key in ("city", "age"):
            add_field(fields, ours, a_definition(key), author=AUTHOR)
        zip_code = a_definition("zip", by=ADMINISTRATOR, allowed_values=_LONG)
        add_field(fields, ours, zip_code, author=AUTHOR)
        add_field(fields, theirs, a_definition(), author=AUTHOR)
        change(storage, ours)
        for organization, granted in grants.items():
            found = api_keys.find(granted.digest)
            assert found is not None
            size = listed_bytes(fields, organization)
            assert found.catalog_size == fields.all(organization).size == size
            listed = fields.all(organization).fields
            assert size_in_plan(fields, organization) == sum(each.size for each in listed)

    @pytest.mark.parametrize("values", ALLOWED_VALUES.values(), ids=ALLOWED_VALUES)
    def test_the_size_counts_allowed_values_as_they_are_listed(
        self,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        values: AllowedValues,
    ) -> None:
        key = api_keys.add(a_grant(ours))
        definition = a_definition(data_type=values.data_type, allowed_values=values)
        add_field(fields, ours, definition, author=AUTHOR)
        found = api_keys.find(key.digest)
        assert found is not None
        assert found.catalog_size == listed_bytes(fields, ours)

    @pytest.mark.parametrize("text", SNIPPETS.values(), ids=SNIPPETS)
    def test_the_size_counts_texts_as_they_are_listed(
        self,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        text: str,
    ) -> None:
        key = api_keys.add(a_grant(ours))
        definition = a_definition(custom_insertion_code=text, custom_value_expression=text)
        add_field(fields, ours, definition, author=AUTHOR)
        found = api_keys.find(key.digest)
        assert found is not None
        assert found.catalog_size == listed_bytes(fields, ours)

    def test_the_next_id_is_that_of_the_next_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for key in ("city", "age"):
            next_id = look(fields, ours, lambda view: view.next_id())
            assert add_field(fields, ours, a_definition(key), author=AUTHOR).id == next_id
