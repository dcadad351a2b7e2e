"""Cases for the size of a catalog."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from recipient_fields.application import (
    ApiKeyRepository,
    FieldRepository,
    IntegrationStorage,
    Storage,
    published,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    AllowedValues,
    Batch,
    BatchRejected,
    CatalogChanges,
    CatalogTooLarge,
    CatalogView,
    Channel,
    CreateField,
    DataType,
    DeleteField,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldLimitReached,
    KeyTaken,
    OrganizationId,
    RecipientField,
    StagedBatch,
    UpdateField,
    id_size,
    list_size,
    plan_restoration,
)
from recipient_fields.domain.integrations import EspField, Integration, SyncPlan, SyncRun

from .catalog_views import look
from .concurrency import race
from .examples import (
    ALLOWED_VALUES,
    AUTHOR,
    INSERTION_CODES,
    LATER,
    SYNC,
    a_definition,
    a_grant,
    an_esp_field,
    an_integration_draft,
    changing,
    run_sync,
)
from .field_changes import add_field, add_with_plan, delete_field, update_field
from .field_limits import CHANGES, SYNCED_CHANGES, StorageChange, SyncedChange

_CITY: Final = FieldKey("city")
_LONG: Final = AllowedValues(DataType.TEXT, ["ä" * 200, '"', "b"])

SIZE_CHANGES: Final[dict[str, StorageChange]] = {
    **CHANGES,
    "larger values": lambda storage, ours: update_field(
        storage.fields, ours, _CITY, changing(allowed_values=_LONG.values)
    ),
    "smaller values": lambda storage, ours: update_field(
        storage.fields, ours, FieldKey("zip"), changing(allowed_values=None)
    ),
}
"""The organization has `city` and `age`, which the API manages, and `zip`, which has values."""

SYNCED_SIZE_CHANGES: Final[dict[str, SyncedChange]] = {**SIZE_CHANGES, **SYNCED_CHANGES}
"""Also changes by integrations."""


LISTED: Final[dict[str, FieldDefinition]] = {
    **{
        f"values: {name}": a_definition(data_type=values.data_type, allowed_values=values)
        for name, values in ALLOWED_VALUES.items()
    },
    **{
        f"text: {name}": a_definition(custom_insertion_code=text, custom_value_expression=text)
        for name, text in INSERTION_CODES.items()
    },
}
"""Fields with values and texts that JSON escapes."""


def listed_bytes(fields: FieldRepository, organization_id: OrganizationId) -> int:
    """Return the bytes of the list of the fields, as compact JSON in UTF-8."""
    documents = published(fields.all(organization_id)).documents
    return len(f'{{"recipient_fields":{documents}}}'.encode())


def size_in_plan(fields: FieldRepository, organization_id: OrganizationId) -> int:
    """Return the sum of the sizes of the fields that a plan sees."""
    return look(fields, organization_id, lambda view: view.fields_size())


def size_with(
    fields: FieldRepository, organization_id: OrganizationId, definition: FieldDefinition
) -> int:
    """Return the size of the list if this field is created next."""

    def size(view: CatalogView) -> int:
        added = definition.size_without_id + id_size(view.next_id())
        return list_size(view.fields_size() + added)

    return look(fields, organization_id, size)


def _update(
    fields: FieldRepository,
    organization_id: OrganizationId,
    field_id: FieldId,
    changes: FieldChanges,
    limit: int,
) -> None:
    """Change a field as the service does, with this limit of bytes."""

    def plan(view: CatalogView) -> CatalogChanges[FieldDefinition]:
        staged = StagedBatch(view, organization_id, by=API, at=LATER, limit=None, size_limit=limit)
        staged.update(field_id, changes)
        return staged.changes()

    fields.change(organization_id, plan, author=AUTHOR, at=LATER)


def _apply(
    fields: FieldRepository, organization_id: OrganizationId, batch: Batch, limit: int
) -> None:
    """Apply a batch as the service does, with this limit of bytes."""
    fields.change(
        organization_id,
        lambda view: batch.stage(view, by=API, at=LATER, size_limit=limit).changes(),
        author=AUTHOR,
        at=LATER,
    )


def _size_after(fields: FieldRepository, organization_id: OrganizationId, batch: Batch) -> int:
    """Return the size of the list after the batch, which is not stored."""

    def size(view: CatalogView) -> int:
        changes = batch.stage(view, by=API, at=LATER).changes()
        first_id = view.next_id()
        created = tuple(
            each.with_id(FieldId(first_id + number), organization_id)
            for number, each in enumerate(changes.created)
        )
        return list_size(view.fields_size() + changes.with_ids(created).added_size())

    return look(fields, organization_id, size)


class CatalogSizeCases:
    """Cases for the size of a catalog, which plans see."""

    @pytest.mark.parametrize("change", SIZE_CHANGES.values(), ids=SIZE_CHANGES)
    def test_after_every_change_the_size_is_that_of_the_list(
        self,
        storage: Storage,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        change: StorageChange,
    ) -> None:
        _add_sized(fields, ours, theirs)
        change(storage, ours)
        for organization in (ours, theirs):
            catalog = fields.all(organization)
            assert catalog.size == listed_bytes(fields, organization)
            assert size_in_plan(fields, organization) == sum(each.size for each in catalog.fields)

    def test_the_next_id_is_that_of_the_next_field(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        for key in ("city", "age"):
            next_id = look(fields, ours, lambda view: view.next_id())
            assert add_field(fields, ours, a_definition(key)).id == next_id

    def test_a_list_can_have_exactly_the_limit_of_bytes(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        """Also if it is the first field, with each way of creating it."""
        for add in (add_field, add_with_plan):
            for organization in (ours, theirs):
                new = a_definition(f"by_{add.__name__}")
                limit = size_with(fields, organization, new)
                before = fields.all(organization)
                with pytest.raises(CatalogTooLarge) as reached:
                    add(fields, organization, new, size_limit=limit - 1)
                assert (reached.value.limit, reached.value.used) == (limit - 1, before.size)
                assert fields.all(organization) == before
                add(fields, organization, new, size_limit=limit)
                assert listed_bytes(fields, organization) == limit

    @pytest.mark.parametrize("by", [API, ADMINISTRATOR, SYNC], ids=lambda by: by.source.value)
    def test_the_bytes_of_fields_of_all_sources_count(
        self, fields: FieldRepository, ours: OrganizationId, by: Channel
    ) -> None:
        add_field(fields, ours, a_definition("city", by=by))
        limit = fields.all(ours).size
        for add in (add_field, add_with_plan):
            with pytest.raises(CatalogTooLarge):
                add(fields, ours, a_definition("town"), size_limit=limit)

    def test_a_taken_key_and_the_limit_of_fields_have_precedence(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition("city"))
        for add in (add_field, add_with_plan):
            with pytest.raises(KeyTaken):
                add(fields, ours, a_definition("city"), limit=1, size_limit=1)
            with pytest.raises(FieldLimitReached):
                add(fields, ours, a_definition("town"), limit=1, size_limit=1)

    def test_the_limit_of_bytes_is_exact_under_concurrent_creations_of_both_ways(
        self, fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId
    ) -> None:
        """Half of the fields fit."""
        added = a_definition("other_1").size_without_id + 4  # An id has at most 4 digits here.
        limit = list_size(4 * added)
        outcomes = race(
            *(
                partial(
                    (add_field, add_with_plan)[number % 2],
                    fields,
                    ours,
                    a_definition(f"other_{number}"),
                    size_limit=limit,
                    author=AUTHOR,
                )
                for number in range(8)
            )
        )
        stored = fields.all(ours)
        assert [type(each) for each in outcomes].count(CatalogTooLarge) == 4
        assert len(stored.fields) == 4
        assert listed_bytes(fields, ours) <= limit
        for each in outcomes:
            if isinstance(each, CatalogTooLarge):
                assert (each.limit, each.used) == (limit, stored.size)
        add_field(fields, theirs, a_definition(), size_limit=limit)

    def test_concurrent_changes_do_not_exceed_the_limit_of_bytes_together(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        ids = [add_field(fields, ours, a_definition(f"f_{number}")).id for number in range(6)]
        change = FieldChanges(allowed_values=["x" * 100])
        limit = fields.all(ours).size + 250
        outcomes = race(*(partial(_update, fields, ours, each, change, limit) for each in ids))
        assert [type(each) for each in outcomes].count(CatalogTooLarge) == 4
        assert fields.all(ours).size <= limit

    def test_a_list_above_the_limit_is_readable_and_can_shrink(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        small = add_field(fields, ours, a_definition("small"))
        large = a_definition("large", allowed_values=_LONG)
        stored = add_field(fields, ours, large)
        before = fields.all(ours)
        with pytest.raises(CatalogTooLarge):
            _update(fields, ours, small.id, FieldChanges(name="A longer name"), 100)
        assert fields.all(ours) == before
        _update(fields, ours, small.id, FieldChanges(name="Town"), 100)  # as long as before
        _update(fields, ours, stored.id, FieldChanges(allowed_values=["a"]), 100)
        delete_field(fields, ours, small.id)
        assert fields.all(ours).size == listed_bytes(fields, ours) < before.size

    def test_a_restoration_beyond_the_limit_of_bytes_stores_nothing(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        removed = add_field(fields, ours, a_definition("removed"))
        kept = add_field(fields, ours, a_definition("kept"))
        limit = fields.all(ours).size
        delete_field(fields, ours, removed.id)

        def restore(size_limit: int) -> None:
            fields.change(
                ours,
                lambda view: plan_restoration(
                    view, removed.id, by=API, at=LATER, size_limit=size_limit
                ),
                author=AUTHOR,
                at=LATER,
            )

        with pytest.raises(CatalogTooLarge):
            restore(limit - 1)
        assert fields.all(ours).fields == (kept,)
        restore(limit)
        assert fields.all(ours).size == listed_bytes(fields, ours) == limit
        assert fields.get(ours, removed.id).version == 2

    def test_a_batch_beyond_the_limit_of_bytes_stores_nothing(
        self, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        add_field(fields, ours, a_definition("city", allowed_values=_LONG))
        before = fields.all(ours)
        batch = Batch(
            (
                UpdateField(_CITY, FieldChanges(allowed_values=None)),
                CreateField(FieldDraft(name="Draft", key="draft", data_type=DataType.TEXT)),
                DeleteField(FieldKey("draft")),
                CreateField(FieldDraft(name="Town", key="town", data_type=DataType.TEXT)),
                CreateField(FieldDraft(name="Zip code", key="zip", data_type=DataType.TEXT)),
            )
        )
        limit = _size_after(fields, ours, batch)
        with pytest.raises(BatchRejected) as rejected:
            _apply(fields, ours, batch, limit - 1)
        failures = rejected.value.failures
        assert {index: type(each) for index, each in failures.items()} == {4: CatalogTooLarge}
        assert fields.all(ours) == before
        _apply(fields, ours, batch, limit)
        assert fields.all(ours).size == listed_bytes(fields, ours) == limit


class FoundSizeCases:
    """Cases for the size of a catalog, which look-ups of API keys and syncs see."""

    @pytest.mark.parametrize("change", SYNCED_SIZE_CHANGES.values(), ids=SYNCED_SIZE_CHANGES)
    def test_after_every_change_a_look_up_returns_the_size_of_the_list(
        self,
        storage: IntegrationStorage,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        change: SyncedChange,
    ) -> None:
        grants = {each: api_keys.add(a_grant(each)) for each in (ours, theirs)}
        _add_sized(fields, ours, theirs)
        change(storage, ours)
        for organization, granted in grants.items():
            found = api_keys.find(granted.digest)
            assert found is not None
            size = listed_bytes(fields, organization)
            assert found.catalog_size == fields.all(organization).size == size
            listed = fields.all(organization).fields
            assert size_in_plan(fields, organization) == sum(each.size for each in listed)

    @pytest.mark.parametrize("definition", LISTED.values(), ids=LISTED)
    def test_the_size_counts_allowed_values_and_texts_as_they_are_listed(
        self,
        fields: FieldRepository,
        api_keys: ApiKeyRepository,
        ours: OrganizationId,
        definition: FieldDefinition,
    ) -> None:
        key = api_keys.add(a_grant(ours))
        add_field(fields, ours, definition)
        found = api_keys.find(key.digest)
        assert found is not None
        assert found.catalog_size == listed_bytes(fields, ours)

    def test_a_sync_beyond_the_limit_of_bytes_stores_nothing(
        self, storage: IntegrationStorage, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = storage.integrations.add(ours, an_integration_draft())
        add_field(fields, ours, a_definition("city"))
        before = fields.all(ours)

        def sync(limit: int, *reported: EspField) -> None:
            def planner(
                found: Integration, catalog: tuple[RecipientField, ...], _: object
            ) -> SyncPlan:
                run = SyncRun.from_report(found, reported, at=LATER)
                return run.plan(found, catalog, size_limit=limit)

            run_sync(storage.integrations, integration, planner)

        with pytest.raises(CatalogTooLarge) as reached:
            sync(before.size + 100, an_esp_field("TOWN"))
        assert (reached.value.limit, reached.value.used) == (before.size + 100, before.size)
        assert fields.all(ours) == before
        assert storage.integrations.get(ours, integration.id).last_synced_at is None
        sync(before.size + 1_000, an_esp_field("TOWN"))
        assert fields.all(ours).size == listed_bytes(fields, ours) > before.size
        sync(1)  # It only removes a field.
        assert fields.all(ours).size == before.size


def _add_sized(fields: FieldRepository, ours: OrganizationId, theirs: OrganizationId) -> None:
    for key in ("city", "age"):
        add_field(fields, ours, a_definition(key))
    zip_code = a_definition("zip", by=ADMINISTRATOR, allowed_values=_LONG)
    add_field(fields, ours, zip_code)
    add_field(fields, theirs, a_definition())
