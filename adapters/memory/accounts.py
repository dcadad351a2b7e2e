"""Organizations, API keys and sessions in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from threading import RLock

from attrs import evolve

from recipient_fields.application import (
    ApiKeyRepository,
    KeyChange,
    KeySuccession,
    OrganizationCheck,
    OrganizationRepository,
    Records,
    SessionRepository,
)
from recipient_fields.domain import (
    Administrator,
    AdministratorId,
    AdministratorNotFound,
    ApiKey,
    ApiKeyId,
    ApiKeyNotFound,
    DigestTaken,
    FoundKey,
    KeyGrant,
    Organization,
    OrganizationContents,
    OrganizationId,
    Session,
    SessionId,
    SignedInAdministrator,
    list_size,
    parse_organization_name,
)

from .administrators import MemoryAdministratorRepository
from .fields import MemoryFieldRepository
from .integrations import MemoryIntegrationRepository
from .records import Ids, Organizations


class MemoryApiKeyRepository(ApiKeyRepository):
    """The API keys in memory, by ascending id and by digest."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._ids = Ids()
        self._keys: dict[ApiKeyId, ApiKey] = {}
        self._ids_by_digest: dict[bytes, ApiKeyId] = {}

    def all(self, organization_id: OrganizationId, /) -> tuple[ApiKey, ...]:
        with self._lock:
            self._organizations.get(organization_id)
            return tuple(k for k in self._keys.values() if k.organization_id == organization_id)

    def get(self, organization_id: OrganizationId, key_id: ApiKeyId, /) -> ApiKey:
        with self._lock:
            key = self._keys.get(key_id)
        if key is None or key.organization_id != organization_id:
            raise ApiKeyNotFound
        return key

    def find(self, digest: bytes, /) -> FoundKey | None:
        with self._lock:
            key_id = self._ids_by_digest.get(digest)
            if key_id is None:
                return None
            key = self._keys[key_id]
            catalog = self._fields.catalog(key.organization_id)
            return key.to_found_key(catalog.revision, list_size(catalog.fields_size))

    def add(self, grant: KeyGrant, /) -> ApiKey:
        with self._lock:
            self._organizations.get(grant.organization_id)
            if grant.digest in self._ids_by_digest:
                raise DigestTaken
            key = grant.with_id(ApiKeyId(self._ids.assign()))
            self._keys[key.id] = key
            self._ids_by_digest[key.digest] = key.id
            return key

    def update(
        self, organization_id: OrganizationId, key_id: ApiKeyId, change: KeyChange, /
    ) -> ApiKey:
        with self._lock:
            key = self.get(organization_id, key_id)
            changed = change(key)
            key = key.with_validity_of(changed)
            self._keys[key_id] = key
            return key

    def rotate(
        self, organization_id: OrganizationId, key_id: ApiKeyId, succession: KeySuccession, /
    ) -> tuple[ApiKey, ApiKey]:
        with self._lock:
            key = self.get(organization_id, key_id)
            replaced, grant = succession(key)
            replaced = key.with_validity_of(replaced)
            successor = self.add(grant)
            self._keys[key_id] = replaced
            return replaced, successor

    def record_use(
        self, organization_id: OrganizationId, key_id: ApiKeyId, at: datetime, /
    ) -> None:
        with self._lock, suppress(ApiKeyNotFound):
            key = self.get(organization_id, key_id)
            if key.last_used_at is None or key.last_used_at < at:
                self._keys[key_id] = evolve(key, last_used_at=at)

    def delete_all(self, organization_id: OrganizationId) -> None:
        """Delete all API keys of the organization."""
        for key in self.all(organization_id):
            del self._ids_by_digest[key.digest], self._keys[key.id]

    def records(self) -> Records[ApiKey]:
        """Return the API keys of all organizations."""
        return self._ids.records(self._keys.values())

    def load(self, keys: Iterable[ApiKey], last_id: int) -> None:
        """Replace all API keys by these."""
        self._ids.skip_to(last_id)
        self._keys = {key.id: key for key in sorted(keys, key=lambda key: key.id)}
        self._ids_by_digest = {key.digest: key.id for key in self._keys.values()}


class MemorySessionRepository(SessionRepository):
    """The sessions in memory, by ascending id."""

    def __init__(self, lock: RLock, accounts: Mapping[AdministratorId, Administrator]) -> None:
        self._lock = lock
        self._accounts = accounts
        self._ids = Ids()
        self._sessions: dict[SessionId, Session] = {}
        self._forms: set[tuple[SessionId, bytes]] = set()
        self._attempts: dict[bytes, tuple[datetime, int]] = {}
        """The end of the window and the number of attempts, by subject."""

    def add(
        self, administrator: Administrator, digest: bytes, at: datetime, user_agent: str, /
    ) -> Session:
        with self._lock:
            account = self._accounts.get(administrator.id)
            if account is None or account.password_hash != administrator.password_hash:
                raise AdministratorNotFound
            session = Session(
                id=SessionId(self._ids.assign()),
                administrator_id=administrator.id,
                digest=digest,
                created_at=at,
                last_used_at=at,
                user_agent=user_agent,
            )
            self._sessions[session.id] = session
            return session

    def find(self, digest: bytes, /) -> SignedInAdministrator | None:
        with self._lock:
            for session in self._sessions.values():
                if session.digest == digest:
                    return SignedInAdministrator(session, self._accounts[session.administrator_id])
            return None

    def all(self, administrator_id: AdministratorId, /) -> tuple[Session, ...]:
        with self._lock:
            sessions = self._sessions.values()
            return tuple(each for each in sessions if each.administrator_id == administrator_id)

    def record_use(self, session_id: SessionId, at: datetime, /) -> None:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is not None and session.last_used_at < at:
                self._sessions[session_id] = evolve(session, last_used_at=at)

    def delete(self, administrator_id: AdministratorId, session_id: SessionId, /) -> bool:
        with self._lock:
            session = self._sessions.get(session_id)
            if session is None or session.administrator_id != administrator_id:
                return False
            del self._sessions[session_id]
            self._forms = {form for form in self._forms if form[0] != session_id}
            return True

    def delete_all(self, administrator_id: AdministratorId, /) -> int:
        with self._lock:
            ended = self.all(administrator_id)
            return sum(self.delete(administrator_id, session.id) for session in ended)

    def purge(self, at: datetime, /) -> None:
        with self._lock:
            for session in tuple(self._sessions.values()):
                if not session.is_active(at):
                    self.delete(session.administrator_id, session.id)

    def use_form(self, session_id: SessionId, digest: bytes, /) -> bool:
        with self._lock:
            form = session_id, digest
            if session_id not in self._sessions or form in self._forms:
                return False
            self._forms.add(form)
            return True

    def release_form(self, session_id: SessionId, digest: bytes, /) -> None:
        with self._lock:
            self._forms.discard((session_id, digest))

    def count_attempt(
        self, subject: bytes, at: datetime, /, *, limit: int, window: timedelta
    ) -> datetime | None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if end <= at:
                self._attempts = {s: a for s, a in self._attempts.items() if a[0] > at}
                end, attempts = at + window, 0
            if attempts >= limit:
                return end
            self._attempts[subject] = end, attempts + 1
            return None

    def uncount_attempt(self, subject: bytes, at: datetime, /, *, window: timedelta) -> None:
        with self._lock:
            end, attempts = self._attempts.get(subject, (at, 0))
            if attempts > 0 and end <= at + window:
                self._attempts[subject] = end, attempts - 1

    def forget_attempts(self, subject: bytes, /) -> None:
        with self._lock:
            self._attempts.pop(subject, None)


class MemoryOrganizationRepository(OrganizationRepository):
    """The organizations in memory. Deleting one deletes its records in the other repositories."""

    def __init__(
        self,
        lock: RLock,
        organizations: Organizations,
        fields: MemoryFieldRepository,
        integrations: MemoryIntegrationRepository,
        api_keys: MemoryApiKeyRepository,
        administrators: MemoryAdministratorRepository,
    ) -> None:
        self._lock = lock
        self._organizations = organizations
        self._fields = fields
        self._integrations = integrations
        self._api_keys = api_keys
        self._administrators = administrators

    def all(self) -> tuple[Organization, ...]:
        with self._lock:
            return self._organizations.all()

    def get(self, organization_id: OrganizationId, /) -> Organization:
        with self._lock:
            return self._organizations.get(organization_id)

    def add(self, name: str, created_at: datetime, /) -> Organization:
        with self._lock:
            return self._organizations.add(name, created_at)

    def rename(self, organization_id: OrganizationId, name: str, /) -> Organization:
        parsed = parse_organization_name(name)
        with self._lock:
            renamed = evolve(self._organizations.get(organization_id), name=parsed)
            self._organizations.replace(renamed)
            return renamed

    def delete(
        self, organization_id: OrganizationId, check: OrganizationCheck, /
    ) -> OrganizationContents:
        with self._lock:
            contents = OrganizationContents(
                fields=len(self._fields.all(organization_id).fields),
                api_keys=len(self._api_keys.all(organization_id)),
                integrations=len(self._integrations.all(organization_id)),
                administrators=len(self._administrators.all(organization_id)),
            )
            check(contents)
            for owned in (
                self._api_keys,
                self._integrations,
                self._fields,
                self._administrators,
            ):
                owned.delete_all(organization_id)
            self._organizations.remove(organization_id)
            return contents
