"""Plans: what makes the API-managed fields of an organization equal to a document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.application.fields.fields_as_code import CatalogDocument, render_definition
from recipient_fields.application.fields.plans import (
    Plan,
    parse_plan,
    plan_document,
    plan_saved,
    render_plan,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    Batch,
    CatalogChanged,
    Change,
    FieldDraft,
    FieldKey,
    InvalidInput,
    RecipientField,
    RecordedOperation,
    Rule,
    Source,
    Violation,
    plan_fields,
)
from recipient_fields.domain.integrations.setting import NamesToSet
from recipient_fields.testing.strategies import drafts

KEYS = st.sampled_from([FieldKey(key) for key in ("city", "size", "tier")])
DRAFTS = drafts(keyed=KEYS)


def draft(key: str, data_type: str = "text", **members: Any) -> FieldDraft:
    return FieldDraft(name=key, key=key, data_type=data_type, **members)


@pytest.fixture
def plan(service, acme):
    def plan(*drafts: FieldDraft, **options: Any) -> Plan:
        return plan_document(service.list_fields(acme), CatalogDocument(drafts), **options)

    return plan


@given(
    stored=st.lists(st.tuples(st.sampled_from([API, ADMINISTRATOR]), DRAFTS), max_size=4),
    document=st.lists(DRAFTS, unique_by=lambda each: each.key, max_size=4),
    prune=st.booleans(),
)
def test_after_a_plan_was_applied_there_is_nothing_to_do(stored, document, prune) -> None:
    core = Core.over(MemoryStorage())
    acme = core.administration.create_organization("Acme").id
    for channel, each in {each.key: (channel, each) for channel, each in stored}.values():
        core.fields.by(Author(channel)).create_field(acme, each)
    before = core.fields.list_fields(acme)
    keys = [each.key for each in document]

    def plan() -> Any:
        return plan_fields(core.fields.list_fields(acme), document, prune=prune, replaceable=keys)

    batch, refusals = plan()
    core.fields.apply_batch(acme, batch)
    again, refused_again = plan()
    assert again.operations == ()
    assert refused_again == refusals
    after = {each.key: each for each in core.fields.list_fields(acme).fields}
    for manual in (each for each in before.fields if each.origin.source is Source.MANUAL):
        assert after[manual.key] == manual
    refused = {each.path[-1] for each in refusals}
    for each in (each for each in document if each.key not in refused):
        stored_field = after[each.key]
        definition = each.define(by=API, at=stored_field.created_at)
        assert definition.with_id(stored_field.id, acme) == evolve(
            stored_field, version=1, updated_at=stored_field.created_at
        )


CLEARED = {"integration_id": 1, "names": {"a": None}}
SURROGATE = {"name": "\ud800", "custom": False}


def saved(plan: Plan) -> tuple[Batch, NamesToSet]:
    """Return the batch and the names of the plan, read from its document."""
    read = parse_plan(render_plan(plan))
    assert read is not None
    return read


def shown(plan: Plan) -> list[object]:
    """Return the changes without the ids and the times of new fields."""
    states = [(each, each.before, each.after) for each in changes(plan)]
    return [
        (each.key, each.operation, *(field and render_definition(field) for field in fields))
        for each, *fields in states
    ]


def changes(plan: Plan) -> list[Change[RecipientField]]:
    """Return the changes of fields, of which none is refused."""
    return [each for each in plan.fields if not isinstance(each, Violation)]


class TestAPlan:
    @pytest.fixture
    def stored(self, service, acme):
        for each in (draft("city"), draft("size"), draft("old"), draft("same")):
            service.create_field(acme, each)
        service.by(Author(ADMINISTRATOR)).create_field(acme, draft("manual"))

    DOCUMENT = (
        draft("tier"),
        FieldDraft(name="Town", key="city", data_type="text"),
        draft("size", "number"),
        draft("same"),
    )

    def test_a_plan_has_one_change_per_field_in_the_order_of_keys(self, plan, stored):
        planned = plan(*self.DOCUMENT, prune=True, replaceable=["size"])
        assert [(each.key, each.operation) for each in planned.fields] == [
            ("city", RecordedOperation.UPDATED),
            ("old", RecordedOperation.DELETED),
            ("size", RecordedOperation.UPDATED),
            ("tier", RecordedOperation.CREATED),
        ]
        change, deletion, replacement, creation = planned.fields
        assert change.before.id == change.after.id
        assert replacement.before.id != replacement.after.id
        assert (change.before.name, change.after.name) == ("city", "Town")
        assert (deletion.before.name, deletion.after) == ("old", None)
        assert replacement.before.data_type.value == "text"
        assert replacement.after.data_type.value == "number"
        assert (creation.before, creation.after.name) == (None, "tier")
        assert (planned.unchanged, planned.unplanned, planned.field_count) == (1, 0, 4)

    def test_fields_that_are_not_in_the_document_count_as_unchanged(self, plan, stored):
        planned = plan(draft("same"))
        assert (planned.fields, planned.unchanged, planned.unplanned) == ((), 4, 3)

    def test_a_refused_change_can_be_a_replacement_if_the_field_is_managed_through_the_api(
        self, plan, stored
    ):
        planned = plan(draft("size", "number"), draft("manual"))
        refusals = {each.path[-1]: each for each in planned.fields}
        assert "from text to number" in refusals["size"].message
        assert refusals["size"].rule is Rule.IMMUTABLE
        assert refusals["manual"].rule is not Rule.IMMUTABLE
        assert (planned.is_permitted, planned.batch.operations) == (False, ())

    def test_a_plan_exceeds_a_limit_only_if_it_creates_fields(self, plan, stored):
        assert plan(draft("new")).exceeds(4)
        assert not plan(draft("new")).exceeds(5)
        assert not plan(draft("new"), prune=True).exceeds(1)
        assert not plan(draft("size", "number"), replaceable=["size"]).exceeds(1)

    def test_a_plan_of_more_operations_than_a_batch_can_have_is_too_long(self, plan):
        drafts = [draft(f"field_{number}") for number in range(1_001)]
        assert not plan(*drafts[1:]).is_too_long
        assert plan(*drafts).is_too_long

    def test_a_saved_plan_has_the_changes_of_its_document(self, plan, stored, service, acme):
        planned = plan(*self.DOCUMENT, prune=True, replaceable=["size"])
        read = plan_saved(service.list_fields(acme), *saved(planned))
        assert shown(read) == shown(planned)
        assert (read.batch, read.unchanged, read.field_count) == (
            *(planned.batch, planned.unchanged, planned.field_count),
        )

    def test_a_saved_plan_can_be_empty(self, plan, service, acme):
        assert plan_saved(service.list_fields(acme), *saved(plan())).changes == ()

    @pytest.mark.parametrize("content", [b"fields: {}", b'{"fields": {}}', b"[]"])
    def test_a_document_of_fields_is_not_a_saved_plan(self, content):
        assert parse_plan(content) is None

    @pytest.mark.parametrize(
        ("content", "path"),
        [
            ({"if_revision": 'a"b'}, ("if_revision",)),
            ({"if_revision": 5}, ("if_revision",)),
            ({"additional": 5}, ("additional",)),
            ({"integrations": [CLEARED, CLEARED]}, ("integrations", 1, "integration_id")),
            (
                {"integrations": [{"integration_id": 1, "names": {"a": SURROGATE}}]},
                ("integrations", 0, "names", "a", "name"),
            ),
        ],
    )
    def test_a_plan_of_names_that_was_edited_wrongly_is_rejected(self, content, path):
        with pytest.raises(InvalidInput) as invalid:
            parse_plan(json.dumps({"operations": [], **content}).encode())
        assert [each.path for each in invalid.value.violations] == [path]

    def test_a_revision_can_have_quotes_as_in_requests(self):
        plan = {"operations": [], "if_revision": '"1-5"', "integrations": [CLEARED]}
        read = parse_plan(json.dumps(plan).encode())
        assert read is not None
        assert read[0] == Batch((), "1-5")

    def test_a_saved_plan_for_another_catalog_is_rejected(self, plan, stored, service, acme):
        planned = plan(*self.DOCUMENT)
        service.create_field(acme, draft("new"))
        with pytest.raises(CatalogChanged):
            plan_saved(service.list_fields(acme), *saved(planned))
