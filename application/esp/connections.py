"""The use cases of connections: credentials of integrations, and their scheduled syncs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from secrets import token_hex

from attrs import evolve, field, frozen

from recipient_fields.domain import (
    Author,
    IntegrationId,
    OrganizationId,
    RecipientFieldsError,
    Rule,
    Violation,
    format_instant,
    parse_instant,
)
from recipient_fields.domain.arguments import require_type
from recipient_fields.domain.integrations import (
    AccountNotConfirmed,
    CredentialUnreadable,
    EspConnection,
    EspRefused,
    EspUnavailable,
    Integration,
    IntegrationNotFound,
    Interval,
    InvalidConnection,
    LeaseLost,
    NoFieldSource,
    NotConnected,
    NotDue,
    SyncPlan,
)

from ..accounts.administration import OPERATOR_AUTHOR, audit
from ..clock import Clock
from ..documents.strict_json import parse_json, render_json
from ..environment import SECRETS_KEY, MissingCredentials
from ..ports.integrations import (
    EspAccounts,
    EspConnectionRepository,
    EspFieldSource,
    NamedAccount,
    SecretCipher,
)
from .integrations import IntegrationService

__all__ = [
    "DEFAULT_LEASE",
    "ConnectionService",
    "Credential",
    "ScheduledSync",
    "TestedAccount",
]

DEFAULT_LEASE = timedelta(minutes=15)
"""A sync reads its ESP for ten minutes at most, and stores the fields within one."""
_SAMPLE = 20
"""Fields that a test reads. The first response of each ESP has more, if the account has them."""
_SHOWN = 4
_MIN_LENGTH = 12
"""Of a shorter secret, the last characters would be too large a part."""


@frozen(kw_only=True)
class Credential:
    """The values that connect an integration to its account, and who stored them, and when.

    `account` is the name of the account, or empty if it is unknown.
    """

    values: Mapping[str, str] = field(repr=False)
    last_four: str
    by: str
    at: datetime
    account: str = ""

    @classmethod
    def parse(cls, text: str, integration: Integration) -> Credential:
        """Return the credential of a document. Raises: CredentialUnreadable if it is another's."""
        document = parse_json(text.encode("utf-8"))
        if not isinstance(document, dict) or document.pop("of") != _identity(integration):
            raise CredentialUnreadable
        return cls(**{**document, "at": parse_instant(document["at"])})

    def render(self, integration: Integration) -> str:
        """Return the document, which contains the integration to which it belongs."""
        document = {
            "of": _identity(integration),
            "values": dict(self.values),
            "last_four": self.last_four,
            "by": self.by,
            "at": format_instant(self.at),
            "account": self.account,
        }
        return render_json(document).decode("utf-8")


@frozen(kw_only=True)
class TestedAccount:
    """An account that accepts the credentials.

    `name` is empty if the API states none to these credentials. `sealed` are the encrypted values,
    for `connect`. `differs` says why it can be another account than before, or is empty.
    """

    name: str
    fields: tuple[str, ...]
    sealed: str = field(repr=False)
    differs: str

    __test__ = False
    """It is no class of tests."""


@frozen(kw_only=True)
class ScheduledSync:
    """A scheduled sync: its plan, or the error if it failed.

    `waiting` is the number of removals that a person has to confirm.
    """

    integration: Integration
    plan: SyncPlan | None
    error: str = ""
    waiting: int = 0


@frozen(kw_only=True)
class ConnectionService:
    """The use cases of connections, for one author.

    The audit log has a record of each change. Every method raises IntegrationNotFound if the
    organization has no such integration, and StorageUnavailable if the storage fails.
    """

    _connections: EspConnectionRepository = field(alias="connections")
    _integrations: IntegrationService = field(alias="integrations")
    _open_accounts: Callable[[], EspAccounts] = field(alias="open_accounts")
    _open_cipher: Callable[[], SecretCipher | None] = field(alias="open_cipher")
    _clock: Clock = field(alias="clock")
    author: Author = OPERATOR_AUTHOR

    def by(self, author: Author) -> ConnectionService:
        """Return this service for another author."""
        require_type(Author, author=author)
        return evolve(self, author=author)

    @property
    def accounts(self) -> EspAccounts:
        """The accounts that this installation can read. Raises: MissingExtra."""
        return self._open_accounts()

    @property
    def has_key(self) -> bool:
        """Whether credentials can be stored. Raises: UnusableCredentials, MissingExtra."""
        return self._open_cipher() is not None

    def get(self, organization_id: OrganizationId, integration_id: IntegrationId) -> EspConnection:
        """Return the connection of the integration."""
        return self._connections.get(organization_id, integration_id)

    def get_credential(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> Credential | None:
        """Return the stored credential, or None. Raises: CredentialUnreadable."""
        integration = self._integrations.get_integration(organization_id, integration_id)
        return self._read(integration, self.get(organization_id, integration_id))

    def test(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        values: Mapping[str, str],
        *,
        sealed: str = "",
    ) -> TestedAccount:
        """Read the first fields of the account with these values, and store nothing.

        Secrets that `values` does not have are those in `sealed`, or the stored ones.
        Raises: InvalidConnection if a value is missing or must be entered again; NoFieldSource;
        MissingCredentials without a key; CredentialUnreadable; EspUnavailable, EspRefused.
        """
        integration = self._integrations.get_integration(organization_id, integration_id)
        cipher = self._require_cipher()
        stored = self._find_stored(integration)
        base = self._unseal(integration, sealed) if sealed else stored
        complete = self._complete(integration, values, base)
        source = self.accounts.open(integration.esp, complete, is_test=True)
        names = tuple(each.name for each in islice(source.fields(), _SAMPLE))
        credential = self._credential(integration, complete, _account_name(source))
        return TestedAccount(
            name=credential.account,
            fields=names,
            sealed=cipher.encrypt(credential.render(integration)),
            differs=self._difference(integration, names, credential, stored),
        )

    def connect(
        self,
        organization_id: OrganizationId,
        integration_id: IntegrationId,
        values: Mapping[str, str],
        *,
        sealed: str = "",
        confirmed: bool = False,
    ) -> TestedAccount:
        """Test the values as `test` does, and store them in place of earlier ones.

        Raises: the errors of `test`; AccountNotConfirmed if it can be another account than before,
        unless that is `confirmed`.
        """
        tested = self.test(organization_id, integration_id, values, sealed=sealed)
        if tested.differs and not confirmed:
            raise AccountNotConfirmed(tested.differs, tested.sealed)
        at = self._clock()
        self._connections.change(
            organization_id, integration_id, lambda each: each.with_credential(tested.sealed, at=at)
        )
        self._audit(organization_id, integration_id, "connected")
        return tested

    def disconnect(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> EspConnection:
        """Delete the stored credential, and end the schedule. Raises: NotConnected."""
        at = self._clock()

        def plan(connection: EspConnection) -> EspConnection:
            if connection.credential is None:
                raise NotConnected
            return connection.with_credential(None, at=at)

        disconnected = self._connections.change(organization_id, integration_id, plan)
        self._audit(organization_id, integration_id, "disconnected")
        return disconnected

    def schedule(
        self, organization_id: OrganizationId, integration_id: IntegrationId, interval: Interval
    ) -> EspConnection:
        """Set how often the integration is synced. Raises: NotConnected."""
        at = self._clock()
        scheduled = self._connections.change(
            organization_id, integration_id, lambda each: each.scheduled(interval, at=at)
        )
        self._audit(organization_id, integration_id, "scheduled", interval=interval.value)
        return scheduled

    def open_source(
        self, organization_id: OrganizationId, integration_id: IntegrationId
    ) -> EspFieldSource:
        """Return the source of the fields of the connected account.

        Raises: NotConnected; MissingCredentials without a key; CredentialUnreadable; EspRefused.
        """
        integration = self._integrations.get_integration(organization_id, integration_id)
        connection = self.get(organization_id, integration_id)
        if connection.credential is None:
            raise NotConnected
        credential = self._unseal(integration, connection.credential)
        return self.accounts.open(integration.esp, credential.values)

    def note_sync(self, plan: SyncPlan) -> None:
        """Store what a sync that is no scheduled one did, if the integration is connected."""
        integration = plan.integration
        organization_id, integration_id = integration.organization_id, integration.id
        if self.get(organization_id, integration_id).credential is not None:
            result, at = _result(plan), self._clock()
            self._connections.change(
                organization_id, integration_id, lambda each: each.synced(result, at=at)
            )

    def sync_due(self, *, lease: timedelta = DEFAULT_LEASE) -> Iterator[ScheduledSync]:
        """Sync the integrations that are due, one after the other, and yield the results.

        A sync stores creations and updates. Removals wait until a person confirms them. For the
        time of the `lease`, no other process works on the integration. After an expired lease,
        the sync is due again.
        """
        for each in self._connections.all():
            if each.is_due(self._clock()):
                token, at = token_hex(8), self._clock()
                claim = partial(_claimed, token, at, at + lease)
                try:
                    self._connections.change(each.organization_id, each.id, claim)
                    yield self._sync(each.organization_id, each.id, token)
                except (IntegrationNotFound, LeaseLost, NotDue):
                    continue

    def rotate(self) -> tuple[int, tuple[EspConnection, ...]]:
        """Encrypt all stored credentials with the first key.

        Return their number, and the connections whose credential can't be decrypted.
        Raises: MissingCredentials without a key.
        """
        cipher = self._require_cipher()
        rotated, unreadable = 0, list[EspConnection]()
        for each in self._connections.all():
            if each.credential is not None:
                try:
                    self._connections.change(each.organization_id, each.id, reencryption(cipher))
                    rotated += 1
                except CredentialUnreadable:
                    unreadable.append(each)
                except IntegrationNotFound:  # It was deleted meanwhile.
                    continue
        audit("Stored credentials", "rotated", by=self.author.name, number=rotated)
        return rotated, tuple(unreadable)

    def list_unreadable(self) -> tuple[EspConnection, ...]:
        """Return the connections whose credential can't be decrypted: connect them again."""
        return tuple(each for each in self._connections.all() if not self._is_readable(each))

    def _is_readable(self, connection: EspConnection) -> bool:
        try:
            self.get_credential(connection.organization_id, connection.id)
        except (CredentialUnreadable, MissingCredentials):
            return False
        except IntegrationNotFound:  # It was deleted meanwhile.
            return True
        return True

    def _sync(
        self, organization_id: OrganizationId, integration_id: IntegrationId, lease: str
    ) -> ScheduledSync:
        """Sync, and store the result or the error. Raises: LeaseLost, IntegrationNotFound."""
        integration = self._integrations.get_integration(organization_id, integration_id)
        sync_fields = partial(self._integrations.sync_fields, organization_id, integration_id)
        began_at = self._clock()
        try:
            source = self.open_source(organization_id, integration_id)
            reported = tuple(source.fields())
            self.get(organization_id, integration_id).require_lease(lease)
            plan = sync_fields(reported, began_at=began_at, allow_empty=False, keep_missing=True)
            later = sync_fields(reported, began_at=began_at, dry_run=True)
        except (IntegrationNotFound, LeaseLost):
            raise
        except RecipientFieldsError as error:
            failure, at = str(error), self._clock()
            self._connections.change(
                organization_id, integration_id, lambda each: each.failed(lease, failure, at=at)
            )
            return ScheduledSync(integration=integration, plan=None, error=failure)
        at = self._clock()

        def finish(connection: EspConnection) -> EspConnection:
            connection.require_lease(lease)
            return connection.synced(
                _result(plan),
                at=at,
                waiting=later.digest if later.removed else "",
                waiting_fields=[each.id for each in later.removed],
            )

        self._connections.change(organization_id, integration_id, finish)
        return ScheduledSync(integration=integration, plan=plan, waiting=len(later.removed))

    def _require_cipher(self) -> SecretCipher:
        cipher = self._open_cipher()
        if cipher is None:
            raise MissingCredentials("store or read credentials", [SECRETS_KEY])
        return cipher

    def _unseal(self, integration: Integration, sealed: str) -> Credential:
        return Credential.parse(self._require_cipher().decrypt(sealed), integration)

    def _read(self, integration: Integration, connection: EspConnection) -> Credential | None:
        if connection.credential is None:
            return None
        return self._unseal(integration, connection.credential)

    def _find_stored(self, integration: Integration) -> Credential | None:
        """Return the stored credential. One that can't be decrypted counts as missing."""
        connection = self.get(integration.organization_id, integration.id)
        try:
            return self._read(integration, connection)
        except CredentialUnreadable:
            return None

    def _credential(
        self, integration: Integration, values: Mapping[str, str], account: str
    ) -> Credential:
        parameters = self.accounts.parameters(integration.esp)
        *_, secret = (values[each.name] for each in parameters if each.secret)
        last_four = secret[-_SHOWN:] if len(secret) >= _MIN_LENGTH else ""
        by = self.author.name or ""
        at = self._clock()
        return Credential(values=values, last_four=last_four, by=by, at=at, account=account)

    def _complete(
        self, integration: Integration, entered: Mapping[str, str], base: Credential | None
    ) -> Mapping[str, str]:
        """Return the entered values, with the earlier secrets if their host is the same.

        Raises: InvalidConnection, NoFieldSource.
        """
        parameters = self.accounts.parameters(integration.esp)
        if not parameters:
            raise NoFieldSource(integration.esp)
        earlier = {} if base is None else base.values
        values = {each.name: entered.get(each.name, "").strip() for each in parameters}
        address = [each.name for each in parameters if each.is_address]
        is_moved = any(values[name] != earlier.get(name, "") for name in address)
        violations = []
        for each in parameters:
            if each.secret and not is_moved:
                values[each.name] = values[each.name] or earlier.get(each.name, "")
            if not values[each.name].isprintable():
                message = "Remove line breaks and control characters."
                violations.append(Violation(Rule.INVALID_CHARACTERS, message, (each.name,)))
            elif each.required and not values[each.name]:
                message = f"Enter the {each.label}."
                if each.secret and earlier:
                    message = f"Enter the {each.label} again, because the host has changed."
                violations.append(Violation(Rule.REQUIRED, message, (each.name,)))
        if violations:
            raise InvalidConnection(violations)
        return {name: value for name, value in values.items() if value}

    def _difference(
        self,
        integration: Integration,
        names: tuple[str, ...],
        entered: Credential,
        stored: Credential | None,
    ) -> str:
        """Return why this can be another account than that of the last sync, or an empty text.

        If an API doesn't name the account, its fields identify it.
        """
        if integration.last_synced_at is None:
            return ""
        before = entered if stored is None else stored
        for each in self.accounts.parameters(integration.esp):
            if not each.secret and entered.values.get(each.name) != before.values.get(each.name):
                return f"The {each.label} is another one than before."
        if entered.account and stored is not None and stored.account:
            is_same = entered.account == stored.account
            named = f"The account is {entered.account}. Before, it was {stored.account}."
            return "" if is_same else named
        fields = self._integrations.list_fields(integration)
        known = {each.origin.esp_field_name for each in fields} | integration.refused_names
        new = [name for name in names if name not in known]
        if new or not names:
            shown = ", ".join(new[:3]) or "none"
            return f"The account has other fields than before: {shown}."
        return ""

    def _audit(
        self, organization_id: OrganizationId, integration_id: IntegrationId, act: str, **facts: str
    ) -> None:
        subject = f"Integration {integration_id} of organization {organization_id}"
        audit(subject, act, by=self.author.name, **facts)


def _account_name(source: EspFieldSource) -> str:
    """Return the name of the account, or an empty text if the credentials may not read it."""
    if isinstance(source, NamedAccount):
        with suppress(EspRefused, EspUnavailable):
            return source.account_name()
    return ""


def reencryption(cipher: SecretCipher) -> Callable[[EspConnection], EspConnection]:
    """Return a change that encrypts a credential with the first key.

    It raises CredentialUnreadable if no key decrypts the credential.
    """

    def change(connection: EspConnection) -> EspConnection:
        if connection.credential is None:
            return connection
        text = cipher.decrypt(connection.credential)
        return evolve(connection, credential=cipher.encrypt(text))

    return change


def _identity(integration: Integration) -> list[object]:
    """Return what a credential belongs to, so that a row that was moved can't be used."""
    return [integration.organization_id, integration.id, str(integration.esp)]


def _claimed(lease: str, at: datetime, until: datetime, connection: EspConnection) -> EspConnection:
    return connection.claimed(lease, at=at, until=until)


def _result(plan: SyncPlan) -> str:
    counts = {
        "created": plan.created,
        "updated": plan.updated,
        "removed": plan.removed,
        "refused": plan.refused,
    }
    done = ", ".join(f"{len(fields):,} {act}" for act, fields in counts.items() if fields)
    return done or "nothing changed"
