"""Cases for a storage whose technology fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final, TypeAlias

import pytest

from recipient_fields.application import (
    CompleteStorage,
    ConsoleStorage,
    IntegrationStorage,
    Storage,
)
from recipient_fields.domain import (
    MILLISECOND,
    Administrator,
    AdministratorId,
    ApiKeyId,
    CatalogChanges,
    EmailAddress,
    FieldId,
    FieldKey,
    FieldQuery,
    HistoryQuery,
    IntegrationId,
    InvitationId,
    LinkPurpose,
    Membership,
    OrganizationId,
    Role,
    SecretToken,
    SessionId,
    StorageUnavailable,
)
from recipient_fields.domain.integrations import NamesQuery, SetName

from .examples import (
    AUTHOR,
    LATER,
    NOW,
    a_definition,
    a_digest,
    a_grant,
    a_link,
    an_esp_field,
    an_integration_draft,
    an_invitation_draft,
    grant,
    naming,
    naming_created,
    permit_change,
    permit_integration,
    permit_organization,
    renaming,
    reporting,
    set_password_hash,
)
from .field_changes import add_field, delete_field, restore_field, update_field
from .groups import require_repository

Call: TypeAlias = Callable[[CompleteStorage], object]

ID: Final = 1
"""The id of the organization and of the record of each kind in the calls."""

_OURS, _FIELD, _KEY = OrganizationId(ID), FieldId(ID), ApiKeyId(ID)
_DELETED_FIELD = FieldId(ID + 1)
_INTEGRATION = IntegrationId(ID)
_DANA, _SESSION = AdministratorId(ID), SessionId(ID)
_EMAIL, _DIGEST = EmailAddress("dana@acme.example"), bytes(32)
_USED_FORM = bytes([1]) * 32
_ADMINISTRATOR = Administrator(
    id=_DANA,
    email=_EMAIL,
    password_hash="hash",  # noqa: S106 (no password)
    created_at=NOW,
    memberships=(Membership(_OURS, Role.ADMIN),),
)
_INVITATION = an_invitation_draft("eve@acme.example")
_LINK = a_link(_ADMINISTRATOR, digest=SecretToken("x" * 43).digest)

READS: Final[dict[str, Call]] = {
    "check": lambda storage: storage.check(),
    "fields.all": lambda storage: storage.fields.all(_OURS),
    "fields.publish": lambda storage: storage.fields.publish(_OURS),
    "fields.select": lambda storage: storage.fields.select(_OURS, FieldQuery()),
    "fields.get": lambda storage: storage.fields.get(_OURS, _FIELD),
    "history.select": lambda storage: storage.history.select(_OURS, HistoryQuery()),
    "history.publish": lambda storage: storage.history.publish(_OURS, HistoryQuery()),
    "history.catalog_at": lambda storage: storage.history.catalog_at(_OURS, LATER),
    "history.select_at": lambda storage: storage.history.select_at(
        _OURS, LATER, FieldQuery(limit=1)
    ),
    "history.size": lambda storage: storage.history.size(_OURS),
    "fields.get by key": lambda storage: storage.fields.get(_OURS, FieldKey("city")),
    "api_keys.all": lambda storage: storage.api_keys.all(_OURS),
    "api_keys.get": lambda storage: storage.api_keys.get(_OURS, _KEY),
    "api_keys.find": lambda storage: storage.api_keys.find(bytes(32)),
    "integrations.all": lambda storage: storage.integrations.all(_OURS),
    "integrations.count_fields": lambda storage: storage.integrations.count_fields(_OURS),
    "integrations.read_catalog": lambda storage: storage.integrations.read_catalog(_OURS),
    "integrations.select": lambda storage: storage.integrations.select(
        _OURS, NamesQuery(keys=["city"])
    ),
    "integrations.get": lambda storage: storage.integrations.get(_OURS, _INTEGRATION),
    "administrators.all": lambda storage: storage.administrators.all(_OURS),
    "administrators.get": lambda storage: storage.administrators.get(_OURS, _DANA),
    "administrators.find": lambda storage: storage.administrators.find(_EMAIL),
    "administrators.invitations": lambda storage: storage.administrators.invitations(_OURS),
    "administrators.find_invitation": (
        lambda storage: storage.administrators.find_invitation(_DIGEST, NOW)
    ),
    "administrators.find_link": lambda storage: storage.administrators.find_link(_DIGEST, NOW),
    "sessions.find": lambda storage: storage.sessions.find(_DIGEST),
    "sessions.all": lambda storage: storage.sessions.all(_DANA),
    "organizations.all": lambda storage: storage.organizations.all(),
    "organizations.get": lambda storage: storage.organizations.get(_OURS),
}
"""One call of every method that only reads. The part before the dot is the repository."""

WRITES: Final[dict[str, Call]] = {
    "fields.change creating": lambda storage: add_field(
        storage.fields, _OURS, a_definition("town")
    ),
    "fields.change updating": lambda storage: update_field(
        storage.fields, _OURS, _FIELD, renaming("Town")
    ),
    "fields.change deleting": lambda storage: delete_field(storage.fields, _OURS, _FIELD),
    "fields.change restoring": lambda storage: restore_field(storage.fields, _OURS, _DELETED_FIELD),
    "fields.change at once": lambda storage: storage.fields.change(
        _OURS,
        lambda _: CatalogChanges.of(created=(a_definition("village"),)),
        author=AUTHOR,
        at=LATER,
    ),
    "api_keys.add": lambda storage: storage.api_keys.add(a_grant(_OURS)),
    "api_keys.update": lambda storage: storage.api_keys.update(
        _OURS, _KEY, lambda key: key.revoked(NOW)
    ),
    "api_keys.rotate": lambda storage: storage.api_keys.rotate(
        _OURS, _KEY, lambda key: (key.revoked(NOW), a_grant(key.organization_id))
    ),
    "api_keys.record_use": lambda storage: storage.api_keys.record_use(_OURS, _KEY, LATER),
    "integrations.add": lambda storage: storage.integrations.add(_OURS, an_integration_draft()),
    "integrations.rename": lambda storage: storage.integrations.rename(
        _OURS, _INTEGRATION, "Other list"
    ),
    "integrations.change_names": lambda storage: storage.integrations.change_names(
        _OURS, _INTEGRATION, naming({_FIELD: SetName("TOWN")})
    ),
    "integrations.change_with_names": lambda storage: storage.integrations.change_with_names(
        _OURS,
        lambda _: CatalogChanges.of(created=(a_definition("hamlet"),)),
        naming_created({_INTEGRATION: SetName("HAMLET")}),
        author=AUTHOR,
        at=LATER,
    ),
    "integrations.sync": lambda storage: storage.integrations.sync(
        _OURS, _INTEGRATION, reporting(an_esp_field()), author=AUTHOR, at=LATER
    ),
    "integrations.delete": lambda storage: storage.integrations.delete(
        _OURS, _INTEGRATION, permit_integration, author=AUTHOR, at=LATER
    ),
    "administrators.invite": lambda storage: storage.administrators.invite(
        _OURS, an_invitation_draft("alex@acme.example")
    ),
    "administrators.accept_invitation": lambda storage: storage.administrators.accept_invitation(
        _OURS, _INVITATION.digest, NOW, "hash"
    ),
    "administrators.withdraw_invitation": (
        lambda storage: storage.administrators.withdraw_invitation(_OURS, InvitationId(ID + 1))
    ),
    "administrators.change_role": lambda storage: storage.administrators.change_role(
        _OURS, _DANA, Role.VIEWER, permit_change
    ),
    "administrators.add_link": lambda storage: storage.administrators.add_link(_LINK),
    "administrators.redeem_link": lambda storage: storage.administrators.redeem_link(
        _LINK.digest, LinkPurpose.SET_PASSWORD, NOW, "hash"
    ),
    "sessions.add": lambda storage: storage.sessions.add(_ADMINISTRATOR, _DIGEST, NOW, ""),
    "administrators.replace_password_hash": (
        lambda storage: storage.administrators.replace_password_hash(_DANA, "hash", "new")
    ),
    "sessions.record_use": lambda storage: storage.sessions.record_use(_SESSION, LATER),
    "sessions.use_form": lambda storage: storage.sessions.use_form(_SESSION, _DIGEST),
    "sessions.release_form": lambda storage: storage.sessions.release_form(_SESSION, _USED_FORM),
    "sessions.count_attempt": lambda storage: storage.sessions.count_attempt(
        _DIGEST, NOW, limit=1_000, window=timedelta(minutes=1)
    ),
    "sessions.uncount_attempt": lambda storage: storage.sessions.uncount_attempt(
        _DIGEST, NOW, window=timedelta(minutes=1)
    ),
    "sessions.forget_attempts": lambda storage: storage.sessions.forget_attempts(_DIGEST),
    "sessions.purge": lambda storage: storage.sessions.purge(NOW + timedelta(days=1)),
    "sessions.delete": lambda storage: storage.sessions.delete(_DANA, _SESSION),
    "sessions.delete_all": lambda storage: storage.sessions.delete_all(_DANA),
    "administrators.revoke": lambda storage: storage.administrators.revoke(
        _OURS, _DANA, permit_change
    ),
    "history.prune_to_size": lambda storage: storage.history.prune_to_size(_OURS, 0),
    "history.prune": lambda storage: storage.history.prune(_OURS, NOW + MILLISECOND),
    "organizations.add": lambda storage: storage.organizations.add("ACME", NOW),
    "organizations.rename": lambda storage: storage.organizations.rename(_OURS, "Globex"),
    "organizations.delete": lambda storage: storage.organizations.delete(
        _OURS, permit_organization
    ),
}
"""One call of every method that writes."""

CALLS: Final = {**READS, **WRITES}


def fill_for_calls(storage: Storage) -> None:
    """Store the records of the calls in an empty storage, so that every write changes something."""
    storage.organizations.add("ACME", NOW)
    add_field(storage.fields, _OURS, a_definition())
    add_field(storage.fields, _OURS, a_definition("deleted"))
    delete_field(storage.fields, _OURS, _DELETED_FIELD)
    if isinstance(storage, IntegrationStorage):
        storage.api_keys.add(a_grant(_OURS))
        storage.integrations.add(_OURS, an_integration_draft())
    if isinstance(storage, ConsoleStorage):
        dana = grant(storage.administrators, _OURS, _EMAIL.text)
        dana = set_password_hash(storage.administrators, dana, "hash")
        storage.administrators.add_link(_LINK)
        withdrawn = an_invitation_draft("withdrawn@acme.example")
        storage.administrators.invite(_OURS, withdrawn)
        storage.administrators.invite(_OURS, _INVITATION)
        storage.sessions.add(dana, a_digest(), NOW, "")
        storage.sessions.use_form(_SESSION, _USED_FORM)
        storage.sessions.count_attempt(_DIGEST, NOW, limit=1_000, window=timedelta(minutes=1))


class StorageOutageContract:
    """Tests that every method raises StorageUnavailable if the technology fails."""

    @pytest.fixture
    def broken_storage(self) -> Iterator[Storage]:
        """Return a storage that was opened successfully and whose technology has failed since."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `broken_storage`")

    @pytest.mark.parametrize("name", CALLS)
    def test_every_method_of_a_broken_storage_raises_storage_unavailable(
        self, broken_storage: CompleteStorage, name: str
    ) -> None:
        require_repository(broken_storage, name.partition(".")[0])
        for _ in range(2):
            with pytest.raises(StorageUnavailable):
                CALLS[name](broken_storage)

    def test_a_broken_storage_can_be_closed_twice(self, broken_storage: Storage) -> None:
        broken_storage.close()
        broken_storage.close()
