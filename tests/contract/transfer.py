"""Cases for copies of a whole storage to another one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import cycle
from typing import Any, Final, TypeVar

import pytest
from attrs import evolve

from recipient_fields.application import (
    ConsoleStorage,
    IntegrationStorage,
    Records,
    Snapshot,
    Storage,
    StorageGroup,
    Transferable,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MILLISECOND,
    Access,
    Channel,
    FieldKey,
    OrganizationId,
    RecipientField,
    Role,
    StorageNotEmpty,
    sync_channel,
)
from recipient_fields.domain.integrations import RefusedField

from .assertions import assert_found, exact
from .concurrency import race
from .examples import (
    ALLOWED_VALUES,
    EVERY_NAME,
    INSERTION_CODES,
    INSTANTS,
    LATER,
    LINES,
    NOW,
    a_definition,
    a_digest,
    a_grant,
    an_esp_field,
    an_integration_draft,
    an_invitation_draft,
    delete_integration,
    grant,
    naming,
    permit_organization,
    records_of,
    renaming,
    reporting,
    run_sync,
    set_password_hash,
    store_link,
)
from .field_changes import add_field, delete_field, update_field
from .groups import with_console_accounts, with_history, with_integrations

T = TypeVar("T")

_KINDS: Final = (
    *("organizations", "integrations", "api_keys", "fields", "history", "administrators"),
    "esp_connections",
)
"""The members of a snapshot."""


class StorageTransferContract:
    """Tests that a copy between Transferable storages is complete and unchanged, or not stored.

    The fixtures of a subclass return the two storages, which must be empty.
    """

    @pytest.fixture
    def source(self) -> Iterator[Storage]:
        """Return the empty storage to copy from."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `source`")

    @pytest.fixture
    def target(self) -> Iterator[Storage]:
        """Return the empty storage to copy to, which is not the source."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `target`")

    def test_a_copy_has_the_whole_content_of_the_source(
        self, source: Storage, target: Storage
    ) -> None:
        _fill_with_everything(source, target)
        _transfer(source, target)
        assert _content(target, source) == _content(source, target)

    def test_a_copy_of_an_empty_storage_is_empty(self, source: Storage, target: Storage) -> None:
        _transfer(source, target)
        assert _content(target) == []

    def test_copied_api_keys_are_found_by_their_digests(
        self, source: Storage, target: Storage
    ) -> None:
        keyed, copied = with_integrations(source), with_integrations(target)
        ours = _fill(source, target)
        _transfer(source, target)
        for key in keyed.api_keys.all(ours):
            assert_found(copied.api_keys, key)

    def test_sessions_links_and_invitations_are_not_copied(
        self, source: Storage, target: Storage
    ) -> None:
        here, there = with_console_accounts(source), with_console_accounts(target)
        ours = _fill(source, target)
        dana, *_ = here.administrators.all(ours)
        link = store_link(here.administrators, dana)
        invited = an_invitation_draft("invited@acme.example")
        here.administrators.invite(ours, invited)
        session = here.sessions.add(dana, a_digest(), NOW, "")
        _transfer(source, target)
        assert there.administrators.get(ours, dana.id) == dana
        assert there.administrators.find_link(link.digest, NOW) is None
        assert there.administrators.find_invitation(invited.digest, NOW) is None
        assert there.administrators.invitations(ours) == ()
        assert there.sessions.find(session.digest) is None
        assert there.sessions.all(dana.id) == ()

    def test_a_snapshot_counts_its_records_and_includes_deleted_ones_in_the_last_id(
        self, source: Storage
    ) -> None:
        ours = _fill(source)
        last = add_field(source.fields, ours, a_definition("last"))
        delete_field(source.fields, ours, last.id)
        with _transferable(source).snapshot() as snapshot:
            assert snapshot.fields.last_id == last.id
            counts = [kind.count for kind in _kinds(snapshot)]
            accounts = 3 if isinstance(source, ConsoleStorage) else 0
            keyed = [2, 2, 2, 4] if isinstance(source, IntegrationStorage) else [2, 0, 0, 2]
            changes = keyed[-1] + 2 if StorageGroup.HISTORY.is_in(source) else 0
            connections = 2 if isinstance(source, IntegrationStorage) else 0
            assert counts == [*keyed, changes, accounts, connections]
            assert counts == [len(tuple(kind)) for kind in _kinds(snapshot)]

    def test_an_empty_storage_has_a_snapshot_without_records(self, source: Storage) -> None:
        with _transferable(source).snapshot() as snapshot:
            assert [(kind.count, kind.last_id, tuple(kind)) for kind in _kinds(snapshot)] == [
                (0, 0, ())
            ] * 7

    def test_the_ids_of_deleted_records_are_not_assigned_again_by_the_target(
        self, source: Storage, target: Storage
    ) -> None:
        ours = _fill(source, target)
        field = add_field(source.fields, ours, a_definition("last"))
        delete_field(source.fields, ours, field.id)
        deleted = source.organizations.add("Deleted", NOW).id
        if keyed := _integrations_of(source, target):
            keyed.api_keys.add(a_grant(deleted))
            integration = keyed.integrations.add(ours, an_integration_draft())
            delete_integration(keyed.integrations, integration)
        if console := _console_of(source, target):
            grant(console.administrators, deleted)
        source.organizations.delete(deleted, permit_organization)
        _transfer(source, target)
        with _transferable(source).snapshot() as snapshot:
            assert snapshot.organizations.last_id == deleted
            _assert_new_ids_are_greater(target, source, ours, snapshot)

    def test_new_ids_in_the_target_are_greater_than_all_of_the_source(
        self, source: Storage, target: Storage
    ) -> None:
        ours = _fill(source, target)
        _transfer(source, target)
        with _transferable(source).snapshot() as snapshot:
            _assert_new_ids_are_greater(target, source, ours, snapshot)

    def test_the_target_does_not_reuse_ids_even_if_all_records_of_a_kind_were_deleted(
        self, source: Storage, target: Storage
    ) -> None:
        keyed, copied = with_integrations(source), with_integrations(target)
        ours = source.organizations.add("Ours", NOW).id
        integration = keyed.integrations.add(ours, an_integration_draft())
        delete_integration(keyed.integrations, integration)
        _transfer(source, target)
        assert copied.integrations.add(ours, an_integration_draft()).id > integration.id

    def test_ids_that_the_target_has_assigned_before_are_not_assigned_again(
        self, source: Storage, target: Storage
    ) -> None:
        ours = _fill(source, target)
        for _ in range(3):
            _fill(target, source)
        with _transferable(target).snapshot() as before:
            pass
        for organization in target.organizations.all():
            target.organizations.delete(organization.id, permit_organization)
        _transfer(source, target)
        _assert_new_ids_are_greater(target, source, ours, before)

    def test_the_revision_of_a_copied_catalog_continues_after_that_of_the_source(
        self, source: Storage, target: Storage
    ) -> None:
        ours = _fill(source, target)
        _transfer(source, target)
        before = source.fields.all(ours).revision
        assert target.fields.all(ours).revision == before
        add_field(target.fields, ours, a_definition("new"))
        assert target.fields.all(ours).revision > before

    def test_the_history_of_a_copied_catalog_continues_after_pruned_records_of_the_source(
        self, source: Storage, target: Storage
    ) -> None:
        recorded, copied = with_history(source), with_history(target)
        ours = _fill(source, target)
        last = records_of(recorded.history, ours)[-1]
        recorded.history.prune(ours, last.occurred_at + MILLISECOND)
        _transfer(source, target)
        add_field(target.fields, ours, a_definition("new"))
        new = records_of(copied.history, ours)[-1]
        assert new.sequence == last.sequence + 1
        assert new.occurred_at > last.occurred_at

    def test_a_copy_has_the_same_snapshot_as_its_source(
        self, source: Storage, target: Storage
    ) -> None:
        _fill(source, target)
        with _snapshot(source, target) as snapshot:
            held = Snapshot(**{each: _held(getattr(snapshot, each)) for each in _KINDS})
        _transferable(target).store_snapshot(held)
        with _transferable(target).snapshot() as snapshot:
            for copied, original in zip(_kinds(snapshot), _kinds(held), strict=True):
                assert (copied.count, copied.last_id) == (original.count, original.last_id)
                assert sorted(map(repr, copied)) == sorted(map(repr, original))

    def test_a_storage_that_has_an_organization_is_not_changed(
        self, source: Storage, target: Storage
    ) -> None:
        _fill(source, target)
        theirs = target.organizations.add("Theirs", NOW).id
        add_field(target.fields, theirs, a_definition())
        before = _content(target)
        with pytest.raises(StorageNotEmpty):
            _transfer(source, target)
        assert _content(target) == before

    def test_a_second_copy_is_rejected(self, source: Storage, target: Storage) -> None:
        _fill(source, target)
        _transfer(source, target)
        before = _content(target)
        with pytest.raises(StorageNotEmpty):
            _transfer(source, target)
        assert _content(target) == before

    def test_exactly_one_of_two_concurrent_copies_is_stored(
        self, source: Storage, target: Storage
    ) -> None:
        _fill(source, target)
        outcomes = race(*(partial(_transfer, source, target) for _ in range(2)))
        assert sorted(map(type, outcomes), key=str) == sorted(
            (type(None), StorageNotEmpty), key=str
        )
        assert _content(target, source) == _content(source, target)

    def test_a_copy_whose_source_fails_stores_nothing(
        self, source: Storage, target: Storage
    ) -> None:
        _fill(source, target)
        for error in (KeyboardInterrupt, RuntimeError):
            with _snapshot(source, target) as snapshot:
                broken = evolve(snapshot, fields=_failing(snapshot.fields, error()))
                with pytest.raises(error):
                    _transferable(target).store_snapshot(broken)
            assert _content(target) == []
        _transfer(source, target)
        assert _content(target, source) == _content(source, target)

    def test_a_snapshot_does_not_contain_later_changes(
        self, source: Storage, target: Storage
    ) -> None:
        ours = _fill(source, target)
        before = _content(source, target)
        with _snapshot(source, target) as snapshot:
            field = source.fields.all(ours).fields[0]
            update_field(source.fields, ours, field.id, renaming("Renamed"))
            add_field(source.fields, ours, a_definition("new"))
            source.organizations.add("New", NOW)
            if keyed := _integrations_of(source, target):
                keyed.api_keys.add(a_grant(ours))
                keyed.integrations.add(ours, an_integration_draft())
            if console := _console_of(source, target):
                grant(console.administrators, ours, "new@acme.example")
            _transferable(target).store_snapshot(snapshot)
        assert _content(target, source) == before

    def test_a_storage_is_identical_only_to_itself(self, source: Storage, target: Storage) -> None:
        assert _transferable(source).identity() == _transferable(source).identity()
        assert _transferable(source).identity() != _transferable(target).identity()


def _transferable(storage: Storage) -> Transferable:
    assert isinstance(storage, Transferable)
    return storage


@contextmanager
def _snapshot(source: Storage, target: Storage) -> Iterator[Snapshot]:
    """Yield the content of the source, without a history if the target can't have one."""
    with _transferable(source).snapshot() as snapshot:
        if not StorageGroup.HISTORY.is_in(target):
            snapshot = evolve(snapshot, history=Records(0, 0, ()))
        yield snapshot


def _transfer(source: Storage, target: Storage) -> None:
    with _snapshot(source, target) as snapshot:
        _transferable(target).store_snapshot(snapshot)


def _integrations_of(storage: Storage, other: Storage) -> IntegrationStorage | None:
    """Return the storage if both storages have API keys and integrations."""
    if isinstance(storage, IntegrationStorage) and isinstance(other, IntegrationStorage):
        return storage
    return None


def _console_of(storage: Storage, other: Storage) -> ConsoleStorage | None:
    """Return the storage if both storages have console accounts."""
    if isinstance(storage, ConsoleStorage) and isinstance(other, ConsoleStorage):
        return storage
    return None


def _assert_new_ids_are_greater(
    target: Storage, source: Storage, ours: OrganizationId, snapshot: Snapshot
) -> None:
    """Add a record of each kind, and compare its id with the last one of the snapshot."""
    assert target.organizations.add("New", NOW).id > snapshot.organizations.last_id
    assert add_field(target.fields, ours, a_definition("new")).id > snapshot.fields.last_id
    if keyed := _integrations_of(target, source):
        assert keyed.api_keys.add(a_grant(ours)).id > snapshot.api_keys.last_id
        integration = keyed.integrations.add(ours, an_integration_draft())
        assert integration.id > snapshot.integrations.last_id
    if console := _console_of(target, source):
        administrator = grant(console.administrators, ours, "new@acme.example")
        assert administrator.id > snapshot.administrators.last_id


def _kinds(snapshot: Snapshot) -> tuple[Records[Any], ...]:
    return tuple(getattr(snapshot, each) for each in _KINDS)


def _held(records: Records[T]) -> Records[T]:
    """Return the same records, which can be iterated over repeatedly."""
    return evolve(records, records=tuple(records))


def _fill(storage: Storage, other: Storage | None = None) -> OrganizationId:
    """Store two organizations with a record of each kind; return the first one's id.

    These are the kinds that both storages have.
    """
    keyed = _integrations_of(storage, other or storage)
    console = _console_of(storage, other or storage)
    ours, theirs = (storage.organizations.add(name, NOW).id for name in ("Ours", "Theirs"))
    for organization_id in (theirs, ours):
        if keyed:
            integration = keyed.integrations.add(organization_id, an_integration_draft())
            report = reporting(an_esp_field("ZIP", label="Zip"))
            run_sync(keyed.integrations, integration, report)
            keyed.esp_connections.change(
                organization_id, integration.id, lambda each: evolve(each, credential="encrypted")
            )
            keyed.api_keys.add(a_grant(organization_id))
        add_field(storage.fields, organization_id, a_definition())
        if console:
            grant(console.administrators, organization_id)
            grant(console.administrators, organization_id, f"both@{ours}.example", Role.VIEWER)
    return ours


def _fill_with_everything(storage: Storage, other: Storage) -> None:
    """Store records of every kind that both storages have, with every kind of value."""
    _fill(storage, other)
    for name, created_at in zip(LINES.values(), INSTANTS * 2, strict=True):
        ours = storage.organizations.add(name, created_at).id
    channels = [API, ADMINISTRATOR]
    if keyed := _integrations_of(storage, other):
        channels.append(_add_integrations(keyed, ours))
        _add_keys(keyed, ours)
    by_number = enumerate(zip(cycle(channels), INSERTION_CODES.values(), strict=False))
    for number, (by, code) in by_number:
        definition = a_definition(f"field_{number}", by=by, custom_insertion_code=code)
        add_field(storage.fields, ours, definition)
    update_field(storage.fields, ours, FieldKey("field_0"), renaming("Renamed"))
    for number, allowed in enumerate(ALLOWED_VALUES.values()):
        definition = a_definition(
            f"allowed_{number}",
            data_type=allowed.data_type,
            allowed_values=allowed,
            insertable=False,
            custom_value_expression="{{ value }}",
        )
        add_field(storage.fields, ours, definition)
    if console := _console_of(storage, other):
        for number, (line, role) in enumerate(
            zip(INSERTION_CODES.values(), cycle(Role), strict=False)
        ):
            invited = grant(console.administrators, ours, f"{number}@straße.example", role)
            set_password_hash(console.administrators, invited, line)


def _add_integrations(storage: IntegrationStorage, ours: OrganizationId) -> Channel:
    """Add two integrations, and return the channel of the first."""
    first, second = (storage.integrations.add(ours, an_integration_draft()) for _ in range(2))
    report = [an_esp_field(name, label=label) for name, label in LINES.items()]
    run_sync(storage.integrations, second, reporting(*report))
    storage.integrations.rename(ours, first.id, "Renamed")
    refused = [RefusedField(name, "no type") for name in LINES.values()]
    run_sync(storage.integrations, first, reporting(*refused))
    storage.integrations.change_names(ours, first.id, naming(EVERY_NAME))
    return sync_channel(first.id)


def _add_keys(storage: IntegrationStorage, ours: OrganizationId) -> None:
    used, revoked, _endless = (
        storage.api_keys.add(a_grant(ours, lifetime=lifetime, access=access))
        for lifetime, access in (
            (timedelta(days=1), Access.READ_WRITE),
            (timedelta(days=2), Access.READ_ONLY),
            (None, Access.READ_WRITE),
        )
    )
    storage.api_keys.record_use(ours, used.id, LATER)
    storage.api_keys.update(ours, revoked.id, lambda key: key.revoked(LATER))
    storage.api_keys.add(a_grant(ours, by="dana@acme.example"))


def _content(storage: Storage, other: Storage | None = None) -> list[object]:
    """Return the whole content of the storage in exact form, without groups that have no rows.

    The history is left out unless the other storage has one, too.
    """
    history = None
    if all(StorageGroup.HISTORY.is_in(each) for each in (storage, other or storage)):
        history = with_history(storage).history
    content: list[object] = []
    for organization in storage.organizations.all():
        ours = organization.id
        content += [organization, storage.fields.all(ours)]
        if history is not None:
            content.append(records_of(history, ours))
        if isinstance(storage, IntegrationStorage):
            content += storage.integrations.all(ours)
            content += storage.api_keys.all(ours)
        if isinstance(storage, ConsoleStorage):
            content += storage.administrators.all(ours)
    return [exact(each) for each in content]


def _failing(records: Records[RecipientField], error: BaseException) -> Records[RecipientField]:
    """Return the records; reading the second one fails."""

    def read() -> Iterator[RecipientField]:
        yield next(iter(records))
        raise error

    return evolve(records, records=read())
