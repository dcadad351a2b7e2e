"""Cases for a storage that outlives the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import Final

import pytest

from recipient_fields.application import (
    ConsoleStorage,
    HistoryStorage,
    IntegrationStorage,
    Storage,
)
from recipient_fields.domain import (
    Administrator,
    HistoryRecord,
    LinkNotValid,
    OrganizationId,
    SignedInAdministrator,
)
from recipient_fields.domain.integrations import Integration

from .assertions import retry_slow_call
from .concurrency import increment, race
from .examples import (
    LATER,
    NOW,
    a_definition,
    a_digest,
    a_grant,
    an_esp_field,
    an_integration_draft,
    an_invitation_draft,
    delete_integration,
    grant,
    permit_change,
    permit_organization,
    records_of,
    renaming,
    reporting,
    run_sync,
    set_password_hash,
    store_link,
)
from .field_changes import add_field, delete_field, update_field
from .groups import with_console_accounts, with_integrations
from .organizations import everything_of, ids_of_new_rows

HOUR: Final = timedelta(hours=1)


class StorageDurabilityContract:
    """Tests that a storage keeps its content when it is closed and opened again."""

    rounds = 50

    @pytest.fixture
    def opened(self) -> Iterator[Callable[[], AbstractContextManager[Storage]]]:
        """Return a function whose result, a context manager, opens the same storage each time."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `opened`")

    def test_everything_stored_is_read_after_reopening(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as storage:
            ours = storage.organizations.add("ACME", NOW).id
            field = add_field(storage.fields, ours, a_definition())
            update_field(storage.fields, ours, field.id, renaming("Town"))
            if isinstance(storage, IntegrationStorage):
                key = storage.api_keys.add(a_grant(ours))
                storage.api_keys.record_use(ours, key.id, LATER)
                integration = storage.integrations.add(ours, an_integration_draft())
                report = reporting(an_esp_field("TOWN"))
                run_sync(storage.integrations, integration, report)
                assert storage.integrations.get(ours, integration.id).last_synced_at == LATER
            if isinstance(storage, ConsoleStorage):
                grant(storage.administrators, ours)
                draft = an_invitation_draft("eve@acme.example")
                storage.administrators.invite(ours, draft)
            history = _history_of(storage, ours)
            stored = everything_of(storage, ours)
        with opened() as storage:
            assert everything_of(storage, ours) == stored
            assert _history_of(storage, ours) == history

    def test_sessions_links_and_passwords_are_read_after_reopening(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as opened_storage:
            storage = with_console_accounts(opened_storage)
            ours = storage.organizations.add("ACME", NOW).id
            dana = set_password_hash(
                storage.administrators, grant(storage.administrators, ours), "hash"
            )
            link = store_link(storage.administrators, dana)
            session = storage.sessions.add(dana, a_digest(), NOW, "Firefox")
            assert storage.sessions.use_form(session.id, session.digest)
        with opened() as opened_storage:
            storage = with_console_accounts(opened_storage)
            assert storage.administrators.all(ours) == (dana,)
            assert storage.administrators.find_link(link.digest, NOW) is not None
            assert storage.sessions.all(dana.id) == (session,)
            assert not storage.sessions.use_form(session.id, session.digest)

    def test_the_id_of_a_deleted_field_is_not_reused_after_reopening(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as storage:
            ours = storage.organizations.add("ACME", NOW).id
            field = add_field(storage.fields, ours, a_definition())
            delete_field(storage.fields, ours, field.id)
            revision = storage.fields.all(ours).revision
        with opened() as storage:
            assert add_field(storage.fields, ours, a_definition()).id > field.id
            assert storage.fields.all(ours).revision > revision

    def test_the_id_of_a_deleted_integration_is_not_reused_after_reopening(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as opened_storage:
            storage = with_integrations(opened_storage)
            ours = storage.organizations.add("ACME", NOW).id
            deleted = storage.integrations.add(ours, an_integration_draft())
            delete_integration(storage.integrations, deleted)
        with opened() as opened_storage:
            storage = with_integrations(opened_storage)
            assert storage.integrations.add(ours, an_integration_draft()).id > deleted.id

    def test_no_id_of_a_deleted_organization_is_assigned_again(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as storage:
            deleted = storage.organizations.add("ACME", NOW).id
            ids = ids_of_new_rows(storage, deleted)
            storage.organizations.delete(deleted, permit_organization)
        with opened() as storage:
            other = storage.organizations.add("ACME", NOW).id
            assert other > deleted
            pairs = zip(ids_of_new_rows(storage, other), ids, strict=True)
            assert all(new > old for new, old in pairs)

    def test_two_open_storages_see_each_others_changes(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as one, opened() as other:
            ours = one.organizations.add("ACME", NOW).id
            field = add_field(one.fields, ours, a_definition())
            changed = update_field(other.fields, ours, field.id, renaming("Town"))
            assert one.fields.get(ours, field.id) == changed
            delete_field(one.fields, ours, field.id)
            assert other.fields.all(ours) == one.fields.all(ours)

    def test_two_open_storages_share_sessions_links_and_attempts(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as first, opened() as second:
            one, other = with_console_accounts(first), with_console_accounts(second)
            ours = one.organizations.add("ACME", NOW).id
            dana = grant(one.administrators, ours)
            link = store_link(one.administrators, dana)
            session = one.sessions.add(dana, a_digest(), NOW, "")
            found = other.sessions.find(session.digest)
            assert found == SignedInAdministrator(session, dana)
            redeem = [
                partial(each.administrators.redeem_link, link.digest, link.purpose, NOW, None)
                for each in (one, other)
            ]
            assert {type(each) for each in race(*redeem)} == {Administrator, LinkNotValid}
            count = [
                partial(each.sessions.count_attempt, link.digest, NOW, limit=1, window=HOUR)
                for each in (one, other)
            ]
            assert sorted(map(str, race(*count))) == sorted([str(None), str(NOW + HOUR)])
            other.administrators.revoke(ours, dana.id, permit_change)
            assert one.sessions.find(session.digest) is None

    def test_two_open_storages_lose_none_of_each_others_changes(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as one, opened() as other:
            ours = one.organizations.add("ACME", NOW).id
            field = add_field(one.fields, ours, a_definition(name="0"))

            def count_up(storage: Storage) -> None:
                for _ in range(self.rounds):
                    retry_slow_call(update_field, storage.fields, ours, field.id, increment("name"))

            assert race(partial(count_up, one), partial(count_up, other)) == [None, None]
            assert one.fields.get(ours, field.id).name == str(2 * self.rounds)

    def test_two_open_storages_lose_nothing_to_each_others_sync_runs(
        self, opened: Callable[[], AbstractContextManager[Storage]]
    ) -> None:
        with opened() as here, opened() as there:
            one, other = with_integrations(here), with_integrations(there)
            ours = one.organizations.add("ACME", NOW).id
            first, second = (one.integrations.add(ours, an_integration_draft()) for _ in range(2))

            def sync(storage: IntegrationStorage, integration: Integration) -> None:
                for number in range(self.rounds):
                    report = reporting(an_esp_field("CITY"), an_esp_field(f"ZIP{number % 3}"))
                    retry_slow_call(run_sync, storage.integrations, integration, report)

            runs = partial(sync, one, first), partial(sync, other, second)
            assert race(*runs) == [None, None]
            stored = [(f.origin.integration_id, f.name) for f in one.fields.all(ours).fields]
            last = ("CITY", f"ZIP{(self.rounds - 1) % 3}")
            assert sorted(stored) == [(each.id, name) for each in (first, second) for name in last]


def _history_of(storage: Storage, ours: OrganizationId) -> tuple[HistoryRecord, ...]:
    """Return all records of the organization. A storage without a history has none."""
    return records_of(storage.history, ours) if isinstance(storage, HistoryStorage) else ()
