"""Cases for the names of fields at integrations."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain

import pytest
from attrs import evolve

from recipient_fields.application import (
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    NamesPlanner,
)
from recipient_fields.domain import (
    Catalog,
    CatalogChanges,
    FieldDefinition,
    FieldId,
    FieldNotFound,
    IntegrationId,
    OrganizationId,
    OrganizationNotFound,
    RecipientField,
)
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import (
    Integration,
    IntegrationNotFound,
    InvalidNames,
    NamesQuery,
    RefusedField,
    SetName,
    SyncPlan,
    plan_restorations,
)
from recipient_fields.domain.integrations.setting import set_names

from .assertions import attempt, exact, raises, raising, recording
from .concurrency import ConcurrentLoad, assert_one_succeeded, race, read_during
from .examples import (
    AUTHOR,
    EVERY_NAME,
    LATER,
    LINES,
    NEVER_ASSIGNED,
    NOW,
    a_definition,
    an_esp_field,
    an_integration_draft,
    delete_integration,
    must_not_be_called,
    naming,
    naming_created,
    records_of,
    renaming,
    reporting,
    run_sync,
)
from .field_changes import add_field, delete_field, restore_field, update_field
from .fields import REFUSALS
from .integrations import assert_only_revision_increased

_TIER, _OTHER_TIER = SetName("TIER"), SetName("TIER", custom=True)


class EspNameCases(ConcurrentLoad):
    """Cases for the names of fields at integrations: set names, and those that syncs refuse."""

    @pytest.fixture
    def connected(self, integrations: IntegrationRepository, ours: OrganizationId) -> Integration:
        """Return an integration of our organization, beside another one."""
        integrations.add(ours, an_integration_draft())
        return integrations.add(ours, an_integration_draft())

    @pytest.fixture
    def tier(self, fields: FieldRepository, ours: OrganizationId) -> RecipientField:
        """Return a field of our organization."""
        return add_field(fields, ours, a_definition("tier"))

    def test_names_are_stored_unchanged(
        self, integrations: IntegrationRepository, ours: OrganizationId, connected: Integration
    ) -> None:
        (other, _) = integrations.all(ours)
        expected = evolve(connected, names=EVERY_NAME)
        stored = integrations.change_names(ours, connected.id, naming(EVERY_NAME))
        assert exact(stored) == exact(expected)
        assert exact(integrations.get(ours, connected.id)) == exact(expected)
        assert exact(integrations.all(ours)) == exact((other, expected))
        cleared = integrations.change_names(ours, connected.id, naming(dict.fromkeys(EVERY_NAME)))
        assert cleared == integrations.get(ours, connected.id) == connected

    def test_a_query_of_names_selects_what_the_domain_defines(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        other, *_ = integrations.all(ours)
        names = ("TIER", "Ti er", "Tier 2", "CITY", "ØL", "Straße")
        for integration in (connected, other):
            reported = [an_esp_field(name) for name in names]
            run_sync(integrations, integration, reporting(*reported))
        braze = integrations.add(ours, an_integration_draft(Esp("braze")))
        city = add_field(fields, ours, a_definition("city_of_birth"))
        set_for = {city.id: SetName("tier", custom=True), tier.id: SetName("T_IER")}
        integrations.change_names(ours, connected.id, naming(set_for))
        add_field(fields, theirs, a_definition("tier"))
        integrations.add(theirs, an_integration_draft())

        catalog, stored = integrations.read_catalog(ours)
        every_target: list[Esp | IntegrationId] = [
            *(each.id for each in stored),
            *BUILT_IN.esps,
            *map(IntegrationId, NEVER_ASSIGNED),
        ]
        for targets in (None, [], *([each] for each in every_target), every_target):
            for field in (*catalog.fields, None):
                keys = ["missing"] if field is None else [field.key]
                ids = [*NEVER_ASSIGNED] if field is None else [field.id]
                for query in (
                    NamesQuery(keys=keys, targets=targets),
                    NamesQuery(field_ids=ids, targets=targets),
                ):
                    expected = query.select(catalog, stored)
                    assert exact(integrations.select(ours, query)) == exact(expected)
        selected, _ = integrations.select(ours, NamesQuery(keys=["tier"], targets=[connected.id]))
        found = {(each.origin.integration_id, each.key) for each in selected.fields}
        assert {(None, "tier"), (None, "city_of_birth")} < found
        assert (braze.id, "tier") not in found
        for never_assigned in NEVER_ASSIGNED:
            with pytest.raises(OrganizationNotFound):
                integrations.select(OrganizationId(never_assigned), NamesQuery(keys=["tier"]))

    def test_a_planner_of_names_receives_the_integration_and_all_fields_ordered_by_id(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        city = add_field(fields, ours, a_definition())
        connected = integrations.change_names(ours, connected.id, naming({city.id: _TIER}))
        received: list[tuple[object, ...]] = []
        integrations.change_names(ours, connected.id, recording(received, naming({})))
        assert set(map(exact, received)) == {exact((connected, (tier, city)))}

    def test_a_change_of_names_stores_nothing_else(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        before, their_catalog = fields.all(ours), fields.all(theirs)
        recorded = records_of(history, ours)

        def planner(found: Integration, catalog: tuple[RecipientField, ...]) -> Integration:
            named = naming({tier.id: _TIER})(found, catalog)
            return evolve(named, name="Other", last_synced_at=LATER, refused_names={"CITY"})

        expected = evolve(connected, names={tier.id: _TIER})
        assert integrations.change_names(ours, connected.id, planner) == expected
        assert integrations.get(ours, connected.id) == expected
        assert_only_revision_increased(before, fields.all(ours))
        assert records_of(history, ours) == recorded
        assert fields.all(theirs) == their_catalog

    def test_names_that_stay_keep_the_revision(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        named = integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        before = fields.all(ours)
        assert integrations.change_names(ours, connected.id, naming({tier.id: _TIER})) == named
        assert fields.all(ours) == before

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_a_planner_of_names_that_raises_stores_nothing(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        refusal: BaseException,
    ) -> None:
        before, others = fields.all(ours), integrations.all(ours)

        with raises(refusal):
            integrations.change_names(ours, connected.id, raising(refusal))
        assert (fields.all(ours), integrations.all(ours)) == (before, others)

    def test_names_are_those_of_one_organization_and_integration(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        their_integration = integrations.add(theirs, an_integration_draft())
        (other, _) = integrations.all(ours)
        named = integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        with pytest.raises(IntegrationNotFound):
            integrations.change_names(theirs, connected.id, naming({tier.id: _OTHER_TIER}))
        assert integrations.all(ours) == (other, named)
        assert integrations.all(theirs) == (their_integration,)

    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_a_catalog_is_read_with_all_integrations(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        connected: Integration,
        count: int,
    ) -> None:
        """There are fewer fields than integrations, or more."""
        integrations.add(theirs, an_integration_draft())
        add_field(fields, theirs, a_definition())
        for number in range(count):
            add_field(fields, ours, a_definition(f"city_{number}"))
        integrations.change_names(ours, connected.id, naming(EVERY_NAME))
        expected = fields.all(ours), integrations.all(ours)
        assert len(expected[1]) == 2
        assert exact(integrations.read_catalog(ours)) == exact(expected)

    def test_a_catalog_without_fields_and_integrations_is_read(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        assert integrations.read_catalog(ours) == (fields.all(ours), ())

    def test_fields_and_names_are_changed_together(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        theirs: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        """The names are for a field that the change creates. The deleted field keeps its name."""
        integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        add_field(fields, theirs, a_definition())
        before, their_catalog = fields.all(ours), fields.all(theirs)
        (other, named) = integrations.all(ours)
        received: list[object] = []

        def name(
            found: tuple[Integration, ...], catalog: tuple[RecipientField, ...]
        ) -> tuple[Integration, ...]:
            received.append((found, catalog))
            renamed = [evolve(each, name="Other", refused_names={"CITY"}) for each in found]
            return tuple(naming({catalog[-1].id: _OTHER_TIER})(each, catalog) for each in renamed)

        applied = integrations.change_with_names(
            ours,
            lambda _: CatalogChanges.of(deleted=(tier,), created=(a_definition("tier"),)),
            name,
            author=AUTHOR,
            at=LATER,
        )
        (created,) = applied.created
        assert fields.all(ours).fields == (created,)
        assert fields.all(ours).revision > before.revision
        assert set(map(exact, received)) == {exact(((other, named), (created,)))}
        assert integrations.all(ours) == (
            evolve(other, names={created.id: _OTHER_TIER}),
            evolve(named, names={tier.id: _TIER, created.id: _OTHER_TIER}),
        )
        *_, deletion, creation = records_of(history, ours)
        assert (deletion.field_id, creation.field_id) == (tier.id, created.id)
        assert fields.all(theirs) == their_catalog

    @pytest.mark.parametrize("refusal", REFUSALS, ids=repr)
    def test_neither_fields_nor_names_change_if_the_planner_of_names_raises(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        history: HistoryRepository,
        ours: OrganizationId,
        connected: Integration,
        refusal: BaseException,
    ) -> None:
        before, recorded = fields.all(ours), records_of(history, ours)

        def name(
            found: tuple[Integration, ...], catalog: tuple[RecipientField, ...]
        ) -> Iterator[Integration]:
            yield naming({catalog[-1].id: _TIER})(found[-1], catalog)
            raise refusal

        with raises(refusal):
            _create_with_names(integrations, ours, (a_definition("city"),), name)
        assert (fields.all(ours), records_of(history, ours)) == (before, recorded)
        assert integrations.get(ours, connected.id) == connected

    def test_no_name_changes_if_the_planner_of_fields_raises(
        self, integrations: IntegrationRepository, ours: OrganizationId
    ) -> None:
        refusal = FieldNotFound()
        with raises(refusal):
            integrations.change_with_names(
                ours, raising(refusal), must_not_be_called, author=AUTHOR, at=LATER
            )

    def test_equal_fields_and_names_keep_the_revision(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        before = fields.all(ours)
        _create_with_names(integrations, ours, (), naming_created({connected.id: _TIER}))
        assert fields.all(ours) == before

    @pytest.mark.parametrize("created", [(), (a_definition(),)])
    def test_fields_and_names_of_an_unknown_organization_are_not_found(
        self, integrations: IntegrationRepository, created: tuple[FieldDefinition, ...]
    ) -> None:
        for unknown in NEVER_ASSIGNED:
            organization_id = OrganizationId(unknown)
            with pytest.raises(OrganizationNotFound):
                _create_with_names(integrations, organization_id, created, must_not_be_called)

    def test_fields_and_names_of_one_change_fit_a_concurrent_change(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
    ) -> None:
        """The other call sets the same name, before or after."""
        city = add_field(fields, ours, a_definition("city"))
        other_call = self._other_call(
            integrations.change_names,
            ours,
            connected.id,
            partial(set_names, changes={"city": _TIER}),
        )

        def name(
            found: tuple[Integration, ...], catalog: tuple[RecipientField, ...]
        ) -> tuple[Integration, ...]:
            return (set_names(found[-1], catalog, {"tier": _TIER}),)

        tier = (a_definition("tier"),)
        create = partial(_create_with_names, integrations, ours, tier, other_call.before(name))
        outcome = attempt(create)
        results = sorted(type(each).__name__ for each in (outcome, other_call.result()))
        keys = [str(field.key) for field in fields.all(ours).fields]
        (named,) = integrations.get(ours, connected.id).names
        if isinstance(outcome, CatalogChanges):
            assert results == ["CatalogChanges", "InvalidNames"]
            assert (keys, named) == (["city", "tier"], outcome.created[0].id)
        else:
            assert results == ["Integration", "InvalidNames"]
            assert (keys, named) == (["city"], city.id)

    def test_each_sync_replaces_the_refused_names(
        self, integrations: IntegrationRepository, ours: OrganizationId, connected: Integration
    ) -> None:
        for refused in (set(LINES.values()), {"CITY", "AGE"}, {"CITY"}, set()):
            report = reporting(*(RefusedField(name, "It has no type.") for name in refused))
            plan = run_sync(integrations, connected, report)
            assert plan.integration.refused_names == refused
            expected = evolve(connected, last_synced_at=LATER, refused_names=refused)
            assert exact(integrations.get(ours, connected.id)) == exact(expected)

    def test_a_sync_and_a_rename_keep_the_names(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        refused = RefusedField("CITY", "It has no type.")
        run_sync(integrations, connected, reporting(refused))
        integrations.rename(ours, connected.id, "Other")
        named = integrations.change_names(ours, connected.id, naming({tier.id: _OTHER_TIER}))
        assert named == integrations.get(ours, connected.id)
        assert named == evolve(
            connected,
            name="Other",
            last_synced_at=LATER,
            refused_names={"CITY"},
            names={tier.id: _OTHER_TIER},
        )

    def test_a_first_sync_that_changes_only_states_increases_the_revision(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        before = fields.all(ours)
        plan = run_sync(integrations, connected, reporting(at=NOW))
        assert [change.field.field for change in plan.name_changes] == [tier]
        synced = fields.all(ours)
        assert_only_revision_increased(before, synced)
        run_sync(integrations, connected, reporting(at=LATER))
        assert fields.all(ours) == synced
        assert integrations.get(ours, connected.id).last_synced_at == LATER

    @pytest.mark.usefixtures("history")
    def test_a_restored_field_has_its_names_again(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        named = integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        delete_field(fields, ours, tier.id)
        assert integrations.get(ours, connected.id) == named
        restore_field(fields, ours, tier.id)
        catalog, (_, found) = integrations.read_catalog(ours)
        assert [field.id for field in catalog.fields] == [tier.id]
        assert found == named

    def test_a_field_that_a_sync_removes_keeps_its_names_at_other_integrations(
        self, integrations: IntegrationRepository, fields: FieldRepository, ours: OrganizationId
    ) -> None:
        first, second = (integrations.add(ours, an_integration_draft()) for _ in range(2))
        report = reporting(an_esp_field("TIER"), at=NOW)
        run_sync(integrations, first, report)
        (field,) = fields.all(ours).fields
        named = integrations.change_names(ours, second.id, naming({field.id: _OTHER_TIER}))
        run_sync(integrations, first, reporting())

        def planner(found: Integration, catalog: tuple[RecipientField, ...], _: object) -> SyncPlan:
            return plan_restorations(found, catalog, [field], at=LATER)

        run_sync(integrations, first, planner)
        assert fields.all(ours).fields[0].id == field.id
        assert integrations.get(ours, second.id) == named

    def test_the_names_of_a_deleted_integration_do_not_return(
        self,
        integrations: IntegrationRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        integrations.change_names(ours, connected.id, naming({tier.id: _TIER}))
        delete_integration(integrations, connected)
        added = integrations.add(ours, an_integration_draft())
        assert (dict(added.names), added.refused_names) == ({}, frozenset())
        assert integrations.get(ours, added.id) == added

    def test_names_of_two_fields_that_are_set_at_the_same_time_are_both_stored(
        self, integrations: IntegrationRepository, ours: OrganizationId, connected: Integration
    ) -> None:
        names = {FieldId(n): SetName(f"F{n}") for n in range(1, self.concurrent_calls // 2)}
        results = race(
            *(
                partial(integrations.change_names, ours, connected.id, naming({each: name}))
                for each, name in names.items()
            )
        )
        assert {type(each) for each in results} == {Integration}
        assert integrations.get(ours, connected.id).names == names

    def test_only_one_of_two_fields_gets_a_name_that_is_set_at_the_same_time(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        city = add_field(fields, ours, a_definition("city"))
        change = partial(integrations.change_names, ours, connected.id)
        other_call = self._other_call(change, partial(set_names, changes={"city": _TIER}))
        planner = other_call.before(partial(set_names, changes={"tier": _TIER}))
        outcomes = attempt(partial(change, planner)), other_call.result()
        assert_one_succeeded(outcomes, Integration, InvalidNames)
        (name,) = integrations.get(ours, connected.id).names.items()
        assert name in {(tier.id, _TIER), (city.id, _TIER)}

    def test_names_that_are_set_during_a_sync_are_not_lost(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        names = naming({tier.id: _TIER})
        other_call = self._other_call(integrations.change_names, ours, connected.id, names)
        before = fields.all(ours)
        planner = other_call.after(reporting(an_esp_field("CITY")))
        run_sync(integrations, connected, planner)
        assert isinstance(other_call.result(), Integration)
        expected = evolve(connected, names={tier.id: _TIER}, last_synced_at=LATER)
        assert integrations.get(ours, connected.id) == expected
        assert len(fields.all(ours).fields) == len(before.fields) + 1

    def test_a_reader_sees_fields_and_integrations_of_one_moment(
        self,
        integrations: IntegrationRepository,
        fields: FieldRepository,
        ours: OrganizationId,
        connected: Integration,
        tier: RecipientField,
    ) -> None:
        """A single writer records each state with its revision."""
        states: dict[int, tuple[Catalog, tuple[Integration, ...]]] = {}

        def keep() -> None:
            state = integrations.read_catalog(ours)
            assert states.setdefault(state[0].revision, state) == state

        def write() -> None:
            keep()
            for number in range(self.rounds // 5):
                name = SetName(f"T{number}")
                integrations.change_names(ours, connected.id, naming({tier.id: name}))
                keep()
                update_field(fields, ours, tier.id, renaming(name.name))
                keep()
                run_sync(integrations, connected, reporting(an_esp_field(label=name.name)))
                keep()

        read = partial(integrations.read_catalog, ours)
        for state in chain.from_iterable(read_during(write, read, self.threads // 2)):
            assert states[state[0].revision] == state


def _create_with_names(
    integrations: IntegrationRepository,
    organization_id: OrganizationId,
    created: tuple[FieldDefinition, ...],
    planner: NamesPlanner,
) -> CatalogChanges[RecipientField]:
    """Create fields, and change names together with them."""
    changes = CatalogChanges.of(created=created)
    return integrations.change_with_names(
        organization_id, lambda _: changes, planner, author=AUTHOR, at=LATER
    )
