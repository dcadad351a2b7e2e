"""All application services, and their default clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import (
    Core,
    IntegrationService,
    MissingGroup,
    RecipientFieldService,
    StorageGroup,
    system_clock,
)
from recipient_fields.domain import (
    Credential,
    DataType,
    FieldDraft,
    FieldId,
    FieldLimitReached,
    FieldQuery,
    HistoryQuery,
    IntegrationId,
    Rejection,
    RejectionReason,
)
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, IntegrationNotFound

from ..support.catalog_storage import CatalogStorage, UnrecordedStorage
from .conftest import StandingClock

NOW = datetime(2026, 11, 20, tzinfo=UTC)
CITY = FieldDraft(name="City", data_type=DataType.TEXT)


def test_the_system_clock_returns_utc_in_whole_milliseconds() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    now = system_clock()
    assert before <= now <= datetime.now(UTC)
    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


@pytest.mark.parametrize("service", ["content", "integrations", "administrators"])
def test_a_service_is_built_once(service):
    # The page of fields uses `content` for each field.
    core = Core.over(MemoryStorage())
    assert getattr(core, service) is getattr(core, service)


def test_the_default_clock_is_the_system_clock() -> None:
    storage = MemoryStorage()
    core = Core.over(storage)
    organization = core.administration.create_organization("Acme")
    field = RecipientFieldService(fields=storage.fields, history=storage.history).create_field(
        organization.id, CITY
    )
    integration = IntegrationService(
        integrations=storage.integrations, fields=storage.fields, history=storage.history
    ).create_integration(organization.id, esp=Esp("mailchimp"), name="Main list")
    for at in (organization.created_at, field.created_at, integration.created_at):
        assert abs(at - system_clock()) < timedelta(minutes=1)


def test_every_service_uses_the_given_clock() -> None:
    clock = StandingClock()
    core = Core.over(MemoryStorage(), clock=clock)
    organization = core.administration.create_organization("Acme")
    field = core.fields.create_field(organization.id, CITY)
    issued = core.administration.issue_key(
        organization.id, name="Test", lifetime=timedelta(seconds=1)
    )
    integration = core.integrations.create_integration(
        organization.id, esp=Esp("mailchimp"), name="Main list"
    )
    for created in (organization, field, issued.api_key, integration):
        assert created.created_at == clock.now
    assert isinstance(core.validator.validate(issued.plain.reveal()), Credential)
    clock.move(timedelta(seconds=1))
    outcome = core.validator.validate(issued.plain.reveal())
    assert outcome == Rejection(RejectionReason.EXPIRED, issued.api_key.id)


class RejectingValidator:
    def validate(self, _presented: str, /) -> Rejection:
        return Rejection(RejectionReason.UNKNOWN)


@pytest.mark.parametrize("storage", [MemoryStorage(), CatalogStorage(MemoryStorage())])
def test_another_validator_can_be_passed_also_for_a_storage_without_keys(storage):
    validator = RejectingValidator()
    assert Core.over(storage, validator=validator).validator is validator


def test_all_services_use_the_storage_and_the_limit() -> None:
    storage = MemoryStorage()
    core = Core.over(storage, field_limit=1)
    organization = core.administration.create_organization("Acme")
    core.fields.create_field(organization.id, CITY)
    integration = core.integrations.create_integration(
        organization.id, esp=Esp("mailchimp"), name="Main list"
    )
    report = [EspField(name="PET", data_type=DataType.TEXT)]
    for dry_run in (True, False):
        core.integrations.sync_fields(organization.id, integration.id, report, dry_run=dry_run)
    assert core.storage is storage
    assert [field.name for field in storage.fields.all(organization.id).fields] == ["City", "PET"]
    with pytest.raises(FieldLimitReached):
        core.fields.create_field(organization.id, FieldDraft(name="Town", data_type=DataType.TEXT))


def test_the_default_limit_is_a_thousand_fields_per_organization() -> None:
    storage = MemoryStorage()
    service = RecipientFieldService(fields=storage.fields, history=storage.history)
    organization = storage.organizations.add("Acme", system_clock())
    for number in range(1_000):
        draft = FieldDraft(name=f"City {number}", data_type=DataType.TEXT)
        service.create_field(organization.id, draft)
    with pytest.raises(FieldLimitReached) as reached:
        service.create_field(organization.id, CITY)
    assert reached.value.limit == 1_000


def test_the_services_show_their_use_cases_and_not_their_parts() -> None:
    core = Core.over(MemoryStorage())

    for service in (
        core.fields,
        core.integrations,
        core.administration,
        core.administrators,
        core.content,
    ):
        shown = {name for name in dir(service) if not name.startswith("_")}
        assert {name for name in shown if not callable(getattr(service, name))} <= {
            "author",
            "profiles",
            "size_limit",
        }


def test_a_storage_without_optional_groups_serves_the_use_cases_of_fields() -> None:
    core = Core.over(CatalogStorage(MemoryStorage()))
    ours = core.administration.create_organization("Acme").id
    field = core.fields.create_field(ours, CITY)
    assert core.fields.list_fields(ours).fields == (field,)
    content = parse_content("{{recipient.city}}")
    assert core.content.export_content(ours, content, Esp("braze")).keys == ("city",)
    with pytest.raises(IntegrationNotFound):
        core.content.export_content(ours, content, IntegrationId(1))
    assert not core.has_history
    core.fields.delete_field(ours, field.id)
    assert core.administration.delete_organization(ours).fields == 0


def test_a_storage_without_a_history_serves_the_use_cases_of_integrations() -> None:
    core = Core.over(UnrecordedStorage(MemoryStorage()))
    ours = core.administration.create_organization("Acme").id
    integration = core.integrations.create_integration(ours, esp=Esp("braze"), name="App")
    report = [EspField(name="tier", data_type=DataType.TEXT)]
    core.integrations.sync_fields(ours, integration.id, report)
    core.integrations.sync_fields(ours, integration.id, [], allow_empty=True)
    assert core.fields.list_fields(ours).fields == ()
    for call in (
        lambda: core.integrations.list_removals(ours, integration.id),
        lambda: core.integrations.restore_fields(ours, integration.id, [FieldId(1)]),
    ):
        with pytest.raises(MissingGroup) as missing:
            call()
        assert missing.value.group is StorageGroup.HISTORY


@pytest.mark.parametrize(
    ("call", "group"),
    [
        (lambda core: core.fields.list_changes(1, HistoryQuery()), StorageGroup.HISTORY),
        (lambda core: core.fields.list_field_changes(1, 1, HistoryQuery()), StorageGroup.HISTORY),
        (lambda core: core.fields.list_fields_as_of(1, NOW), StorageGroup.HISTORY),
        (lambda core: core.fields.find_fields_as_of(1, NOW, FieldQuery()), StorageGroup.HISTORY),
        (lambda core: core.fields.restore_field(1, 1), StorageGroup.HISTORY),
        (
            lambda core: core.fields.prune_history(1, older_than=timedelta(days=1)),
            StorageGroup.HISTORY,
        ),
        (lambda core: core.integrations, StorageGroup.INTEGRATIONS),
        (lambda core: core.validator, StorageGroup.INTEGRATIONS),
        (lambda core: core.administration.list_keys(1), StorageGroup.INTEGRATIONS),
        (lambda core: core.administrators, StorageGroup.CONSOLE_ACCOUNTS),
    ],
)
def test_a_use_case_of_a_missing_group_is_rejected(call, group):
    core = Core.over(CatalogStorage(MemoryStorage()))
    with pytest.raises(MissingGroup, match=f"no {group.value}. Use another one") as missing:
        call(core)
    assert missing.value.group is group
