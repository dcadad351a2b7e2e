"""The use cases of the history: changes, past fields, restoration and pruning."""

from __future__ import annotations

from datetime import timedelta

import pytest

from recipient_fields.application import AUDIT, OPERATOR_AUTHOR
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    Author,
    DataType,
    FieldChanges,
    FieldDraft,
    HistoryQuery,
    OperationForbidden,
    OrganizationId,
    OrganizationNotFound,
    sync_channel,
)
from recipient_fields.domain.integrations import EspField

KEY = Author(API, id=5, name="rfk_0123…AuoE", request_id="4f1c")
DANA = Author(ADMINISTRATOR, id=3, name="dana@acme.example")
CITY = FieldDraft(name="City", data_type=DataType.TEXT)
HOUR = timedelta(hours=1)
ALL = HistoryQuery()


@pytest.fixture
def backend(service):
    return service.by(KEY)


def changes_of(page):
    return [(r.operation.value, r.key, r.author) for r in page.records]


class TestListingChanges:
    def test_returns_the_author_and_the_time_of_every_change(self, service, backend, clock, acme):
        dana = service.by(DANA)
        noon = clock.now
        city = backend.create_field(acme, CITY)
        clock.move(HOUR)
        backend.update_field(acme, city.id, FieldChanges(name="Town"))
        shop = dana.create_field(acme, FieldDraft(name="Shop", data_type=DataType.TEXT))
        clock.move(HOUR)
        dana.delete_field(acme, shop.key)
        page = service.list_changes(acme, ALL)
        assert changes_of(page) == [
            ("created", "city", KEY),
            ("updated", "city", KEY),
            ("created", "shop", DANA),
            ("deleted", "shop", DANA),
        ]
        hours = [(r.occurred_at - noon) // HOUR for r in page.records]
        assert hours == [0, 1, 1, 2]

    def test_returns_the_integration_as_the_author_of_a_sync(
        self, integrations, mailchimp, service, clock, acme
    ):
        began = clock.now

        def report():
            clock.move(HOUR)
            yield EspField(name="AGE", data_type=DataType.NUMBER)

        integrations.sync_fields(acme, mailchimp.id, report(), request_id="4f1c")
        integrations.by(DANA).delete_integration(acme, mailchimp.id)
        created, deleted = service.list_changes(acme, ALL).records
        assert created.author == Author(
            sync_channel(mailchimp.id), name="Main list", request_id="4f1c"
        )
        assert created.after.created_at == began
        assert created.occurred_at == began + HOUR
        assert deleted.author == DANA

    def test_returns_the_operator_as_the_author_of_a_deletion_without_another(
        self, integrations, mailchimp, service, acme
    ):
        report = [EspField(name="AGE", data_type=DataType.NUMBER)]
        integrations.sync_fields(acme, mailchimp.id, report)
        integrations.delete_integration(acme, mailchimp.id)
        assert service.list_changes(acme, ALL).records[-1].author == OPERATOR_AUTHOR

    def test_of_one_field_may_be_empty_if_the_field_or_a_record_exists(self, backend, clock, acme):
        city = backend.create_field(acme, CITY)
        after = HistoryQuery(after=1)
        assert backend.list_field_changes(acme, city.id, after).records == ()
        backend.delete_field(acme, city.id)
        after = HistoryQuery(after=2)
        assert backend.list_field_changes(acme, city.id, after).records == ()
        restored = backend.restore_field(acme, city.id)
        clock.move(HOUR)
        backend.prune_history(acme, older_than=timedelta())
        assert backend.list_field_changes(acme, restored.key, ALL).records == ()


def test_a_time_is_compared_in_whole_milliseconds(backend, clock, acme):
    city = backend.create_field(acme, CITY)
    clock.move(HOUR)
    backend.delete_field(acme, city.id)
    between = clock.now - timedelta(microseconds=1)
    assert backend.list_fields_as_of(acme, between).fields == (city,)
    assert backend.list_fields_as_of(acme, clock.now).fields == ()


def test_a_restoration_has_an_author_and_needs_the_channel_of_the_field(service, backend, acme):
    city = backend.create_field(acme, CITY)
    backend.delete_field(acme, city.id)
    with pytest.raises(OperationForbidden):
        service.by(DANA).restore_field(acme, city.id)
    assert backend.restore_field(acme, city.id).version == 2
    assert changes_of(service.list_changes(acme, ALL))[-1] == ("restored", "city", KEY)


class TestPruning:
    def test_deletes_records_that_are_older(self, backend, clock, acme):
        city = backend.create_field(acme, CITY)
        clock.move(400 * 24 * HOUR)
        backend.update_field(acme, city.id, FieldChanges(name="Town"))
        assert backend.prune_history(acme, older_than=timedelta(days=400)) == 0
        clock.move(timedelta(milliseconds=1))
        assert backend.prune_history(acme, older_than=timedelta(days=400)) == 1
        assert [r.sequence for r in backend.list_changes(acme, ALL).records] == [2]

    def test_is_in_the_audit_log_with_its_author(self, service, clock, acme, caplog):
        caplog.set_level("INFO", logger=AUDIT)
        for pruning in (service, service.by(DANA)):
            service.create_field(acme, CITY)
            service.delete_field(acme, "city")
            clock.move(HOUR)
            pruning.prune_history(acme, older_than=timedelta())
        assert [record.facts["by"] for record in caplog.records] == ["operator", DANA.name]


def test_the_history_of_an_unknown_organization_is_not_pruned(service):
    with pytest.raises(OrganizationNotFound):
        service.prune_history(OrganizationId(99), older_than=HOUR)
