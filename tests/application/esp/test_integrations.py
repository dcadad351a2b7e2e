"""The use cases of integrations."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from attrs import evolve

from recipient_fields.application import IntegrationService
from recipient_fields.domain import (
    CatalogTooLarge,
    DataType,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldNotFound,
    HistoryRemoved,
    IntegrationId,
    KeyTaken,
    OrganizationId,
    OrganizationNotFound,
    StorageUnavailable,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import (
    EmptyReport,
    EspField,
    EspUnavailable,
    Integration,
    IntegrationChanged,
    IntegrationNotFound,
    InvalidIntegration,
    RefusedField,
    RemovalsNotConfirmed,
    SetName,
    SyncOvertaken,
    SyncPlanChanged,
)

UNKNOWN_ORGANIZATION, UNKNOWN_INTEGRATION = OrganizationId(404), IntegrationId(404)
HOUR = timedelta(hours=1)


def reported(*names, **members):
    return [EspField(name=name, data_type=DataType.TEXT, **members) for name in names]


@pytest.fixture
def catalog(storage, acme):
    return lambda: storage.fields.all(acme)


@pytest.fixture
def sync(integrations, mailchimp, acme):
    return partial(integrations.sync_fields, acme, mailchimp.id)


@pytest.fixture
def restore(integrations, mailchimp, acme):
    return partial(integrations.restore_fields, acme, mailchimp.id)


def keys(definitions):
    return [str(each.key) for each in definitions]


class TestIntegrations:
    def test_are_created_without_fields(self, mailchimp, acme, clock, catalog):
        assert mailchimp == Integration(
            id=mailchimp.id,
            organization_id=acme,
            esp=Esp("mailchimp"),
            name="Main list",
            created_at=clock.now,
        )
        assert catalog().fields == ()

    def test_can_be_renamed(self, integrations, mailchimp, acme, clock):
        clock.move(HOUR)
        renamed = integrations.rename_integration(acme, mailchimp.id, " Other\n")
        assert renamed == evolve(mailchimp, name="Other")
        assert integrations.list_integrations(acme) == (renamed,)

    @pytest.mark.parametrize("name", ["", "a\nb"])
    def test_with_an_invalid_name_are_neither_created_nor_renamed(
        self, name, integrations, mailchimp, acme
    ):
        with pytest.raises(InvalidIntegration):
            integrations.create_integration(acme, esp=Esp("braze"), name=name)
        with pytest.raises(InvalidIntegration):
            integrations.rename_integration(acme, mailchimp.id, name)
        assert integrations.list_integrations(acme) == (mailchimp,)

    def test_of_an_unknown_organization_are_neither_created_nor_listed(self, integrations):
        with pytest.raises(OrganizationNotFound):
            integrations.create_integration(UNKNOWN_ORGANIZATION, esp=Esp("braze"), name="Main")
        with pytest.raises(OrganizationNotFound):
            integrations.list_integrations(UNKNOWN_ORGANIZATION)

    @pytest.mark.parametrize(
        "call",
        [
            lambda service, organization, which: service.get_integration(organization, which),
            lambda service, organization, which: service.rename_integration(
                organization, which, "Other"
            ),
            lambda service, organization, which: service.delete_integration(organization, which),
            lambda service, organization, which: service.delete_integration(
                organization, which, expected=()
            ),
            lambda service, organization, which: service.sync_fields(organization, which, ()),
            lambda service, organization, which: service.sync_fields(
                organization, which, (), dry_run=True
            ),
        ],
        ids=["get", "rename", "delete", "delete expecting", "sync", "dry run"],
    )
    def test_of_other_and_unknown_organizations_are_not_found(
        self, call, integrations, mailchimp, acme, rival
    ):
        for organization, which in (
            (rival, mailchimp.id),
            (acme, UNKNOWN_INTEGRATION),
            (UNKNOWN_ORGANIZATION, mailchimp.id),
        ):
            with pytest.raises(IntegrationNotFound):
                call(integrations, organization, which)
        assert integrations.list_integrations(acme) == (mailchimp,)


class TestDeletingAnIntegration:
    @pytest.fixture
    def fields(self, sync, integrations, mailchimp, acme, catalog, service):
        """Return the integration's fields. The API and another integration have fields, too."""
        service.create_field(acme, FieldDraft(name="Town", data_type=DataType.TEXT))
        other = integrations.create_integration(acme, esp=Esp("mailchimp"), name="Other")
        integrations.sync_fields(acme, other.id, reported("ZIP"))
        sync(reported("CITY", "ZIP"))
        return catalog().fields[2:]

    def test_deletes_and_returns_its_fields(self, integrations, mailchimp, acme, fields, catalog):
        before = catalog().fields
        assert integrations.delete_integration(acme, mailchimp.id) == fields
        assert catalog().fields == before[:2]
        assert [each.name for each in integrations.list_integrations(acme)] == ["Other"]

    @pytest.mark.parametrize("collection", [tuple, list, frozenset, lambda ids: [*ids, *ids]])
    def test_succeeds_if_the_fields_are_the_expected_ones(
        self, collection, integrations, mailchimp, acme, fields
    ):
        expected = collection([field.id for field in reversed(fields)])
        assert integrations.delete_integration(acme, mailchimp.id, expected=expected) == fields

    @pytest.mark.parametrize(
        "expected",
        [
            lambda ids: (),
            lambda ids: ids[:1],
            lambda ids: (*ids, FieldId(404)),
            lambda ids: (ids[0], FieldId(404)),
        ],
        ids=["none", "fewer", "more", "others"],
    )
    def test_is_rejected_if_other_fields_are_expected(
        self, expected, integrations, mailchimp, acme, fields, catalog
    ):
        before = catalog()
        with pytest.raises(IntegrationChanged):
            integrations.delete_integration(
                acme, mailchimp.id, expected=expected([field.id for field in fields])
            )
        assert catalog() == before
        assert integrations.get_integration(acme, mailchimp.id).last_synced_at is not None


class TestASyncRun:
    def test_makes_the_fields_equal_to_the_report(self, sync, clock, catalog):
        first = sync(reported("CITY", "AGE", "ZIP"))
        assert keys(first.created) == ["age", "city", "zip"]
        age, city, zip_code = catalog().fields
        later = clock.move(HOUR)
        report = [*reported("CITY"), *reported("AGE", label="Age"), *reported("TOWN")]
        second = sync(report)
        assert keys(second.created) == ["town"]
        assert second.updated == (evolve(age, name="Age", version=2, updated_at=later),)
        assert second.removed == (zip_code,)
        assert (second.unchanged, second.refused) == (1, ())
        assert catalog().fields[:2] == (*second.updated, city)
        assert keys(catalog().fields[2:]) == ["town"]

    def test_is_recorded_with_its_start_time(self, sync, integrations, mailchimp, acme, clock):
        began = clock.now

        def report():
            yield from reported("CITY")
            clock.move(HOUR)

        plan = sync(report())
        assert plan.integration.last_synced_at == began
        assert integrations.get_integration(acme, mailchimp.id) == plan.integration

    def test_reports_fields_that_it_rejects_and_stores_the_others(self, sync, catalog):
        birthday = RefusedField("BIRTHDAY", "A day without a year is no date.")
        plan = sync([*reported("CITY", "lower"), birthday, *reported("AGE")])
        assert {each.name for each in plan.refused} == {"lower", "BIRTHDAY"}
        assert birthday in plan.refused
        assert keys(catalog().fields) == ["age", "city"]

    def test_is_not_subject_to_the_limit_of_the_api(self, sync, catalog):
        sync(reported(*(f"FIELD_{number}" for number in range(1_200))))
        assert len(catalog().fields) == 1_200

    def test_iterates_over_the_report_once(self, sync):
        report = iter(reported("CITY"))
        assert keys(sync(report).created) == ["city"]
        assert next(report, None) is None

    @pytest.mark.parametrize("dry_run", [False, True])
    @pytest.mark.parametrize("error", [EspUnavailable("429"), ValueError("a defect")], ids=repr)
    def test_with_a_report_that_fails_changes_nothing(
        self, sync, dry_run, error, integrations, mailchimp, acme, catalog
    ):
        sync(reported("CITY"))
        before, as_it_was = catalog(), integrations.get_integration(acme, mailchimp.id)

        def report():
            yield from reported("AGE")
            raise error

        with pytest.raises(type(error)) as raised:
            sync(report(), dry_run=dry_run)
        assert raised.value is error
        assert catalog() == before
        assert integrations.get_integration(acme, mailchimp.id) == as_it_was

    def test_of_an_unknown_integration_does_not_read_the_report(self, integrations, acme):
        def report():
            raise AssertionError("The report was read.")
            yield

        with pytest.raises(IntegrationNotFound):
            integrations.sync_fields(acme, UNKNOWN_INTEGRATION, report())

    def test_of_an_integration_that_is_deleted_during_the_run_changes_nothing(
        self, sync, integrations, mailchimp, acme, catalog
    ):
        def report():
            yield from reported("CITY")
            integrations.delete_integration(acme, mailchimp.id)

        with pytest.raises(IntegrationNotFound):
            sync(report())
        assert catalog().fields == ()

    def test_uses_the_fields_after_the_report_was_read(
        self, sync, mailchimp, acme, service, catalog
    ):
        def report():
            yield from reported("CITY")
            service.create_field(acme, FieldDraft(name="City", data_type=DataType.TEXT))

        sync(report())
        assert keys(catalog().fields) == ["city", f"city_{mailchimp.id}"]

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_that_a_later_run_overtakes_changes_nothing(
        self, sync, integrations, mailchimp, acme, clock, catalog, dry_run
    ):
        def slow_report():
            yield from reported("FNAME")
            clock.move(HOUR)
            sync(reported("FNAME", "LNAME"))

        with pytest.raises(SyncOvertaken):
            sync(slow_report(), dry_run=dry_run)
        assert keys(catalog().fields) == ["fname", "lname"]
        assert integrations.get_integration(acme, mailchimp.id).last_synced_at == clock.now

    def test_keeps_a_name_that_changes_during_the_run(self, sync, integrations, mailchimp, acme):
        def report():
            yield from reported("CITY")
            integrations.rename_integration(acme, mailchimp.id, "Other")

        assert sync(report()).integration.name == "Other"
        assert integrations.get_integration(acme, mailchimp.id).name == "Other"


class TestADryRun:
    @pytest.fixture
    def report(self, sync, acme, service):
        """Return a report that creates, updates, removes, keeps and rejects fields."""
        service.create_field(acme, FieldDraft(name="Town", data_type=DataType.TEXT))
        sync(reported("CITY", "AGE", "ZIP"))
        return [*reported("CITY", "lower", "TOWN"), *reported("AGE", label="Age")]

    def test_changes_nothing(self, sync, integrations, mailchimp, acme, report, catalog, clock):
        clock.move(HOUR)
        before, as_it_was = catalog(), integrations.get_integration(acme, mailchimp.id)
        sync(report, dry_run=True)
        assert catalog() == before
        assert integrations.get_integration(acme, mailchimp.id) == as_it_was

    def test_returns_what_a_run_would_change(self, sync, report, clock):
        clock.move(HOUR)
        plan = sync(report, dry_run=True)
        assert plan.created
        assert plan.updated
        assert plan.removed
        assert plan.refused
        assert plan.unchanged
        assert sync(report) == plan


def test_a_storage_that_fails_is_reported(storage, clock):
    class Closed:
        def __getattr__(self, name):
            raise StorageUnavailable("closed")

    service = IntegrationService(
        integrations=Closed(), fields=storage.fields, history=storage.history, clock=clock
    )
    with pytest.raises(StorageUnavailable):
        service.sync_fields(OrganizationId(1), IntegrationId(1), reported("CITY"))


def test_a_text_is_no_name_to_set(integrations, mailchimp, acme, service):
    service.create_field(acme, FieldDraft(name="City", data_type=DataType.TEXT))
    with pytest.raises(TypeError, match=r"changes\['city'\] must be a SetName or None, not str"):
        integrations.set_names(acme, mailchimp.id, {"city": "TOWN"})
    assert integrations.get_integration(acme, mailchimp.id).names == {}


def test_a_synced_field_is_read_like_any_other(sync, acme, service):
    sync(reported("CITY"))
    assert service.get_field(acme, FieldKey("city")).custom_insertion_code == "*|CITY|*"


class TestAConfirmation:
    def test_is_required_for_more_removals_than_the_caller_permits(self, sync, catalog):
        sync(reported("CITY", "AGE"))
        before = catalog()
        with pytest.raises(RemovalsNotConfirmed) as refused:
            sync(reported("CITY"), max_removals=0)
        assert keys(refused.value.plan.removed) == ["age"]
        assert catalog() == before
        plan = sync(reported("CITY"), confirmed=refused.value.plan.digest)
        assert plan.removed == refused.value.plan.removed
        assert keys(catalog().fields) == ["city"]

    def test_is_valid_for_the_plan_that_was_shown(self, sync, mailchimp, acme, service, catalog):
        shown = sync(reported("CITY"), dry_run=True)
        service.create_field(acme, FieldDraft(name="City", data_type=DataType.TEXT))
        before = catalog()
        with pytest.raises(SyncPlanChanged) as changed:
            sync(reported("CITY"), confirmed=shown.digest)
        assert keys(changed.value.plan.created) == [f"city_{mailchimp.id}"]
        assert catalog() == before

    def test_is_not_valid_if_names_change_in_another_way(
        self, sync, integrations, mailchimp, acme, service
    ):
        service.create_field(acme, FieldDraft(name="City", data_type=DataType.TEXT))
        shown = sync(reported("CITY"), dry_run=True)
        assert [each.field.key for each in shown.name_changes] == ["city"]
        integrations.set_names(acme, mailchimp.id, {"city": SetName("TOWN")})
        with pytest.raises(SyncPlanChanged):
            sync(reported("CITY"), confirmed=shown.digest)

    @pytest.mark.parametrize("dry_run", [False, True])
    def test_can_be_required_for_an_empty_report(self, sync, dry_run, catalog):
        sync(reported("CITY"))
        before = catalog()
        with pytest.raises(EmptyReport):
            sync((), dry_run=dry_run, allow_empty=False)
        assert catalog() == before

    def test_of_an_older_report_is_overtaken(self, sync, clock):
        """While a person reads the plan, another sync reads a newer report."""
        began = clock.now
        clock.move(HOUR)
        sync(reported("CITY"))
        with pytest.raises(SyncOvertaken):
            sync(reported("CITY"), began_at=began)


class TestRestoringRemovedFields:
    def test_undoes_the_removals_of_each_sync(
        self, sync, restore, integrations, mailchimp, acme, clock, catalog
    ):
        before = sync(reported("CITY", "AGE", "ZIP"))
        ids = [field.id for field in catalog().fields]
        for report in (("CITY", "AGE"), ()):
            clock.move(HOUR)
            sync(reported(*report))
        newest, oldest = integrations.list_removals(acme, mailchimp.id)
        assert [record.field_id for record in newest] == ids[:2]
        assert [record.field_id for record in oldest] == ids[2:]

        restored = restore(ids[:2])
        assert [field.id for field in restored] == ids[:2]
        assert integrations.list_removals(acme, mailchimp.id) == (oldest,)
        restore(ids[2:])
        assert keys(catalog().fields) == keys(before.created)
        assert integrations.list_removals(acme, mailchimp.id) == ()

    def test_uses_the_last_removal_of_each_field(self, sync, restore, clock, catalog):
        for label in ("City", "Town"):
            clock.move(HOUR)
            sync(reported("CITY", label=label))
            (field,) = catalog().fields
            clock.move(HOUR)
            sync(())
            (restored,) = restore([field.id])
            assert (restored.name, restored.id) == (label, field.id)

    def test_restores_all_of_them_or_none(self, sync, restore, acme, service, catalog):
        sync(reported("CITY", "AGE"))
        ids = [field.id for field in catalog().fields]
        sync(())
        service.create_field(acme, FieldDraft(name="Age", data_type=DataType.TEXT))
        before = catalog()
        with pytest.raises(KeyTaken):
            restore(ids)
        with pytest.raises(FieldNotFound):
            restore([ids[0], FieldId(404)])
        assert catalog() == before

    def test_reads_more_than_one_page_of_the_history(
        self, sync, restore, integrations, mailchimp, acme, catalog
    ):
        names = [f"F{number}" for number in range(1_500)]
        sync(reported(*names))
        before = catalog().fields
        sync(())
        (removal,) = integrations.list_removals(acme, mailchimp.id)
        ids = [record.field_id for record in removal]
        restore(ids)
        assert keys(catalog().fields) == keys(before)

    def test_says_that_a_removal_can_have_been_removed_from_the_history(
        self, sync, restore, acme, catalog, storage, clock
    ):
        sync(reported("CITY"))
        (field,) = catalog().fields
        sync(())
        storage.history.prune(acme, clock() + HOUR)
        with pytest.raises(HistoryRemoved):
            restore([field.id])

    def test_keeps_the_limit_of_the_list(
        self, sync, integrations, mailchimp, acme, service, catalog
    ):
        sync(reported("CITY"))
        (field,) = catalog().fields
        sync(())
        limited = evolve(integrations, size_limit=field.size)
        with pytest.raises(CatalogTooLarge):
            limited.restore_fields(acme, mailchimp.id, [field.id])
        assert catalog().fields == ()

    def test_concerns_one_integration_of_one_organization(
        self, restore, integrations, mailchimp, acme, rival, catalog
    ):
        other = integrations.create_integration(acme, esp=Esp("mailchimp"), name="Other")
        integrations.sync_fields(acme, other.id, reported("CITY"))
        (field,) = catalog().fields
        integrations.sync_fields(acme, other.id, ())
        assert integrations.list_removals(acme, mailchimp.id) == ()
        with pytest.raises(FieldNotFound):
            restore([field.id])
        with pytest.raises(IntegrationNotFound):
            integrations.list_removals(rival, other.id)
        with pytest.raises(IntegrationNotFound):
            integrations.restore_fields(rival, other.id, [field.id])
        integrations.delete_integration(acme, other.id)
        with pytest.raises(IntegrationNotFound):
            integrations.restore_fields(acme, other.id, [field.id])
