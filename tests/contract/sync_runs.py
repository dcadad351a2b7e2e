"""Cases for `sync` of IntegrationRepository."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_SAFE_INTEGER,
    AllowedValues,
    CatalogChanges,
    DataType,
    FieldDefinition,
    FieldKey,
    FieldName,
    HistoryQuery,
    InsertionCode,
    KeyTaken,
    OrganizationId,
    RecipientField,
    RecordedOperation,
    ValueExpression,
    sync_channel,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, Integration, SyncPlan, plan_restorations

from .assertions import exact, raises, raising, recording
from .examples import (
    ACCEPTED_VALUES,
    AUTHOR,
    LATER,
    LINES,
    MAX_INTEGRATION_ID,
    NOW,
    a_definition,
    an_esp_field,
    an_integration_draft,
    reporting,
    run_sync,
)
from .field_changes import add_field, delete_field
from .fields import REFUSALS

Report: TypeAlias = tuple[EspField, ...]

MUCH_LATER = LATER + timedelta(hours=1)

CITY, AGE = an_esp_field("CITY"), an_esp_field("AGE", data_type=DataType.NUMBER)
CHANGES: dict[str, Report] = {
    "creates": (CITY, AGE, an_esp_field("ZIP")),
    "updates": (CITY, evolve(AGE, label="Age")),
    "removes": (CITY,),
    "removes all": (),
    "does all three": (evolve(CITY, label="Town"), an_esp_field("ZIP")),
}
"""Reports that change the fields of an integration which reported `CITY` and `AGE`."""


_MAX_READS = 100
"""No storage reads the changes as often."""


class Interrupted(tuple[Any, ...]):
    """A tuple of a plan that raises KeyboardInterrupt at the end of the iteration.

    `remaining` iterations are complete before.
    """

    remaining: int = 0

    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        if self.remaining == 0:
            raise KeyboardInterrupt
        self.remaining -= 1


def interrupted(
    changes: CatalogChanges[FieldDefinition], remaining: int
) -> CatalogChanges[FieldDefinition]:
    """Return the changes, which can be read completely so often."""
    parts = Interrupted(changes.changes)
    parts.remaining = remaining
    return evolve(changes, changes=parts)


class SyncCases:
    """Cases for a sync run of one integration, in an organization with other fields."""

    @pytest.fixture
    def our_integration(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> Integration:
        """Return an integration that reported `CITY` and `AGE`, next to fields of other origins."""
        other = integrations.add(ours, an_integration_draft())
        synced = integrations.add(ours, an_integration_draft())
        add_field(fields, ours, a_definition("town"))
        run_sync(integrations, other, reporting(CITY))
        run_sync(integrations, synced, reporting(CITY, AGE, at=NOW))
        add_field(fields, ours, a_definition("region", by=ADMINISTRATOR))
        add_field(fields, ours, a_definition("street", by=sync_channel(MAX_INTEGRATION_ID)))
        return integrations.get(ours, synced.id)

    @pytest.mark.parametrize("report", CHANGES.values(), ids=CHANGES)
    def test_a_sync_run_stores_its_plan_and_changes_nothing_else(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        our_integration: Integration,
        report: Report,
    ) -> None:
        add_field(fields, theirs, a_definition())
        before, their_catalog = fields.all(ours), fields.all(theirs)
        expected = reporting(*report)(our_integration, before.fields, integrations.all(ours))
        plan = run_sync(integrations, our_integration, reporting(*report))
        assert exact(plan) == exact(expected)
        after = fields.all(ours)
        assert_holds(after.fields, before.fields, plan)
        assert after.revision > before.revision
        assert fields.all(theirs) == their_catalog

    def test_a_sync_run_without_changes_stores_only_its_time(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        before, others = fields.all(ours), integrations.all(ours)
        plan = run_sync(integrations, our_integration, reporting(AGE, CITY))
        assert (plan.created, plan.updated, plan.removed, plan.unchanged) == ((), (), (), 2)
        assert fields.all(ours) == before
        synced = evolve(our_integration, last_synced_at=LATER)
        assert plan.integration == synced
        assert integrations.all(ours) == (*others[:-1], synced)

    def test_a_sync_run_can_change_every_member_but_the_key(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        """Braze has different codes for standard and custom fields of the same name."""
        braze = integrations.add(ours, an_integration_draft(Esp("braze")))
        report = an_esp_field("first_name", label="First", allowed_values=["b", "a"])
        run_sync(integrations, braze, reporting(report, at=NOW))
        (before,) = fields.all(ours).fields
        report = EspField(
            name="first_name",
            label="Number",
            data_type=DataType.NUMBER,
            allowed_values=[2, 1.5, 1],
            standard=True,
        )
        run_sync(integrations, braze, reporting(report))
        (after,) = fields.all(ours).fields
        assert exact(after) == exact(
            evolve(
                before,
                name=FieldName("Number"),
                data_type=DataType.NUMBER,
                allowed_values=AllowedValues(DataType.NUMBER, [2, 1.5, 1]),
                custom_insertion_code=InsertionCode("{{${first_name}}}"),
                custom_value_expression=ValueExpression("${first_name}"),
                updated_at=LATER,
                version=2,
            )
        )
        assert before.custom_value_expression == "custom_attribute.${first_name}"
        run_sync(integrations, braze, reporting(an_esp_field("first_name", label="First")))
        (back,) = fields.all(ours).fields
        assert exact(back) == exact(
            evolve(before, allowed_values=None, updated_at=back.updated_at, version=3)
        )

    @pytest.mark.parametrize("allowed", ACCEPTED_VALUES.values(), ids=ACCEPTED_VALUES)
    def test_fields_created_and_updated_by_a_sync_run_are_stored_unchanged(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        allowed: AllowedValues,
    ) -> None:
        klaviyo = integrations.add(ours, an_integration_draft(Esp("klaviyo")))
        plain = [
            an_esp_field(f"x {number}", label=label, data_type=allowed.data_type)
            for number, label in enumerate(LINES.values())
        ]
        restricted = [evolve(each, allowed_values=allowed.values) for each in plain]
        plans = []
        for report in (plain, restricted):
            before = fields.all(ours).fields
            plans.append(run_sync(integrations, klaviyo, reporting(*report)))
            assert_holds(fields.all(ours).fields, before, plans[-1])
        assert len(plans[0].created) == len(plans[1].updated) > 5

    def test_fields_created_by_a_sync_run_get_increasing_new_ids_in_order(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        deleted = add_field(fields, theirs, a_definition())
        delete_field(fields, theirs, deleted.id)
        assigned = [deleted.id]
        for report in (("ZIP", "CITY", "AGE"), ("AGE", "TOWN"), (), ("CITY",)):
            plan = run_sync(integrations, integration, reporting(*map(an_esp_field, report)))
            created = [fields.get(ours, each.key).id for each in plan.created]
            assert created == sorted(created)
            assert min(created, default=max(assigned) + 1) > max(assigned)
            assigned += created
        assert add_field(fields, theirs, a_definition()).id > max(assigned)

    def test_a_created_field_can_take_the_key_of_a_removed_one_in_the_same_run(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        run_sync(integrations, integration, reporting(CITY))
        (removed,) = fields.all(ours).fields
        run_sync(integrations, integration, reporting(an_esp_field("CITY_")))
        (field,) = fields.all(ours).fields
        assert (field.key, field.origin.esp_field_name) == (FieldKey("city"), "CITY_")
        assert field.id > removed.id
        assert fields.get(ours, FieldKey("city")) == field

    def test_a_taken_key_gets_the_id_of_the_integration_as_suffix_permanently(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft())
        holder = add_field(fields, ours, a_definition("city"))
        run_sync(integrations, integration, reporting(CITY))
        field = fields.get(ours, FieldKey(f"city_{integration.id}"))
        delete_field(fields, ours, holder.id)
        run_sync(integrations, integration, reporting(CITY))
        assert fields.all(ours).fields == (field,)

    def test_a_planner_receives_the_integration_and_all_fields_and_integrations_ordered_by_id(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        received: list[tuple[object, ...]] = []
        planner = recording(received, reporting(CITY, AGE))
        before, connected = fields.all(ours), integrations.all(ours)
        assert (len(before.fields), len(connected)) == (6, 2)
        run_sync(integrations, our_integration, planner)
        assert set(map(exact, received)) == {exact((our_integration, before.fields, connected))}

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_planner_that_raises_stores_nothing(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        our_integration: Integration,
        refusal: BaseException,
    ) -> None:
        before, others = fields.all(ours), integrations.all(ours)
        with raises(refusal):
            run_sync(integrations, our_integration, raising(refusal))
        assert fields.all(ours) == before
        assert integrations.all(ours) == others
        plan = run_sync(integrations, our_integration, reporting(*CHANGES["does all three"]))
        assert_holds(fields.all(ours).fields, before.fields, plan)

    def test_a_sync_run_that_is_interrupted_stores_nothing(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        """Each read of the changes is interrupted once, until none is."""
        before, others = fields.all(ours), integrations.all(ours)

        def planner(*arguments: Any) -> SyncPlan:
            plan = reporting(*CHANGES["does all three"])(*arguments)
            return evolve(plan, changes=interrupted(plan.changes, reads))

        reads = 0
        while reads < _MAX_READS:
            try:
                run_sync(integrations, our_integration, planner)
            except KeyboardInterrupt:
                assert fields.all(ours) == before
                assert integrations.all(ours) == others
                reads += 1
            else:
                break
        assert 1 < reads < _MAX_READS

    def test_fields_that_a_sync_run_has_removed_are_restored_with_their_ids(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        before = fields.all(ours)
        removed = our_integration.filter_fields(before.fields)
        run_sync(integrations, our_integration, reporting())
        synced, between = integrations.get(ours, our_integration.id), fields.all(ours)

        def planner(
            integration: Integration, catalog: tuple[RecipientField, ...], _: object
        ) -> SyncPlan:
            return plan_restorations(integration, catalog, removed, at=LATER)

        plan = run_sync(integrations, our_integration, planner)
        after = fields.all(ours)
        assert [each.id for each in plan.changes.restored] == [each.id for each in removed]
        assert exact(after.fields) == exact(
            tuple(sorted((*between.fields, *plan.changes.restored), key=lambda each: each.id))
        )
        assert after.revision > between.revision > before.revision
        assert integrations.get(ours, our_integration.id) == synced
        newest = history.select(ours, HistoryQuery(descending=True, limit=len(removed))).records
        assert [(each.operation, each.after, each.author) for each in reversed(newest)] == [
            (RecordedOperation.RESTORED, each, AUTHOR) for each in plan.changes.restored
        ]
        with pytest.raises(KeyTaken):
            run_sync(integrations, our_integration, planner)
        assert fields.all(ours) == after

    def test_a_sync_run_changes_only_the_time_of_the_integration(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        def planner(*arguments: Any) -> SyncPlan:
            plan = reporting(CITY, AGE)(*arguments)
            changed = evolve(plan.integration, name="Other", esp=Esp("brevo"), created_at=LATER)
            return evolve(plan, integration=changed)

        run_sync(integrations, our_integration, planner)
        assert integrations.get(ours, our_integration.id) == evolve(
            our_integration, last_synced_at=LATER
        )

    def test_a_rename_and_the_time_of_a_later_sync_run_are_both_stored(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        integrations.rename(ours, our_integration.id, "Other")
        run_sync(integrations, our_integration, reporting(CITY, AGE))
        integrations.rename(ours, our_integration.id, "Another")
        expected = evolve(our_integration, name="Another", last_synced_at=LATER)
        assert integrations.get(ours, our_integration.id) == expected

    def test_a_sync_run_never_reuses_a_revision(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        our_integration: Integration,
    ) -> None:
        revisions = [fields.all(ours).revision]
        for report in (*CHANGES.values(), (CITY, AGE)):
            run_sync(integrations, our_integration, reporting(*report, at=MUCH_LATER))
            revisions.append(fields.all(ours).revision)
        assert revisions == sorted(set(revisions))

    def test_the_largest_values_of_a_sync_run_are_stored_unchanged(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        integration = integrations.add(ours, an_integration_draft(Esp("sfmc")))
        report = an_esp_field(
            "x" * 255,
            label="😀" * 255,
            data_type=DataType.NUMBER,
            allowed_values=[MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER],
        )
        plan = run_sync(integrations, integration, reporting(report))
        assert plan.refused == ()
        assert_holds(fields.all(ours).fields, (), plan)

    def test_fields_of_a_sync_run_differ_from_those_of_the_api(
        self, fields: FieldRepository, ours: OrganizationId, our_integration: Integration
    ) -> None:
        stored = fields.all(ours).fields
        origins = [field.origin for field in stored if our_integration.channel.owns(field.origin)]
        assert origins == [our_integration.channel.origin(name) for name in ("AGE", "CITY")]
        assert [field.key for field in stored if API.owns(field.origin)] == ["town"]


def assert_holds(
    after: tuple[RecipientField, ...], before: tuple[RecipientField, ...], plan: SyncPlan
) -> None:
    """Assert that the fields after the run are those before it with the plan applied, by id."""
    updated = {each.id: each for each in plan.updated}
    removed = {each.id for each in plan.removed}
    kept = [updated.get(each.id, each) for each in before if each.id not in removed]
    new = after[len(kept) :]
    created = [
        each.with_id(field.id, field.organization_id)
        for each, field in zip(plan.created, new, strict=True)
    ]
    assert exact(after) == exact((*kept, *created))
    assert [each.id for each in new] == sorted({each.id for each in new} - {e.id for e in before})
