"""Connections of integrations: their credential, and the schedule of their syncs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum

from attrs import evolve, field, frozen
from attrs.converters import optional

from ..errors import InvalidInput, RecipientFieldsError
from ..identity import FieldId, IntegrationId, OrganizationId
from ..instants import whole_milliseconds
from ..text import replace_unstorable, to_line

__all__ = [
    "AccountNotConfirmed",
    "CredentialUnreadable",
    "EspConnection",
    "Interval",
    "InvalidConnection",
    "LeaseLost",
    "NotConnected",
    "NotDue",
]

_FIRST_BACKOFF = timedelta(minutes=5)
_MAX_BACKOFF = timedelta(days=1)
_MAX_ERROR = 1_000


class InvalidConnection(InvalidInput):
    """The values for a connection break a rule. The paths are the names of the values."""


class AccountNotConfirmed(RecipientFieldsError):
    """The credentials can be those of another account than before, which nobody has confirmed.

    `sealed` are the encrypted credentials, which can be confirmed.
    """

    def __init__(self, reason: str, sealed: str) -> None:
        self.sealed = sealed
        super().__init__(reason)


class CredentialUnreadable(RecipientFieldsError):
    """A stored credential can't be decrypted, or it was stored for another integration."""

    _message = (
        "The stored credentials can't be decrypted with the keys in"
        " RECIPIENT_FIELDS_SECRETS_KEY. Connect the integration again."
    )


class NotConnected(RecipientFieldsError):
    """The integration has no stored credentials."""

    _message = "The integration is not connected. Connect it to its account first."


class NotDue(RecipientFieldsError):
    """No sync of the integration is due, or another process works on it."""

    _message = "No sync of this integration is due."


class LeaseLost(RecipientFieldsError):
    """The lease of a sync has expired, and another process has continued it."""

    _message = "Another process has continued this sync."


class Interval(StrEnum):
    """How often an integration is synced."""

    NEVER = "never"
    HOURLY = "hourly"
    DAILY = "daily"

    @property
    def length(self) -> timedelta:
        """The time between two syncs. It is not used for NEVER."""
        return timedelta(hours=1) if self is Interval.HOURLY else timedelta(days=1)


def _to_error(text: str) -> str:
    return replace_unstorable(to_line(text, max_length=_MAX_ERROR))


def _to_fields(ids: Iterable[FieldId]) -> tuple[FieldId, ...]:
    return tuple(ids)


@frozen(kw_only=True)
class EspConnection:
    """The connection of the integration with this id: its credential, and its syncs.

    `credential` is encrypted. `due_at` is the time of the next sync, or the end of the `lease` of
    the process that works on it; None if none is scheduled. `failures` is the number of scheduled
    syncs that have failed since the last one that succeeded, and `last_error` the message of the
    last one. `last_result` says what the sync at `last_run_at` did. `waiting` is the digest of the
    plan that removes `waiting_fields` once a person confirms it.
    """

    id: IntegrationId
    organization_id: OrganizationId
    credential: str | None = field(default=None, repr=False)
    interval: Interval = field(default=Interval.NEVER, converter=Interval)
    due_at: datetime | None = field(default=None, converter=optional(whole_milliseconds))
    lease: str = ""
    failures: int = 0
    last_error: str = field(default="", converter=_to_error)
    last_run_at: datetime | None = field(default=None, converter=optional(whole_milliseconds))
    last_result: str = ""
    waiting: str = ""
    waiting_fields: tuple[FieldId, ...] = field(default=(), converter=_to_fields)

    def is_due(self, at: datetime) -> bool:
        """Return whether a sync is due, also one whose process has ended without a result."""
        return self.due_at is not None and self.due_at <= at

    def with_credential(self, credential: str | None, *, at: datetime) -> EspConnection:
        """Return this connection with another credential, or without one.

        The backoff ends, because the credential can have been its cause.
        """
        changed = evolve(self, credential=credential, lease="", failures=0, last_error="")
        return changed.scheduled(Interval.NEVER if credential is None else self.interval, at=at)

    def scheduled(self, interval: Interval, *, at: datetime) -> EspConnection:
        """Return this connection with this interval. A sync is due at once, unless it is never.

        Raises: NotConnected if there is no credential.
        """
        if interval is Interval.NEVER:
            return evolve(self, interval=interval, due_at=None, lease="")
        if self.credential is None:
            raise NotConnected
        return evolve(self, interval=interval, due_at=at, lease="")

    def claimed(self, lease: str, *, at: datetime, until: datetime) -> EspConnection:
        """Return this connection for the only process that syncs it until then.

        Raises: NotDue if no sync is due.
        """
        if not self.is_due(at):
            raise NotDue
        return evolve(self, lease=lease, due_at=until)

    def require_lease(self, lease: str) -> None:
        """Raise LeaseLost unless the process with this lease works on the sync."""
        if self.lease != lease:
            raise LeaseLost

    def failed(self, lease: str, error: str, *, at: datetime) -> EspConnection:
        """Return this connection after a scheduled sync that failed.

        The wait before the next one doubles with each failure: from five minutes to one day.
        Raises: LeaseLost if another process has continued the sync.
        """
        self.require_lease(lease)
        backoff = min(_FIRST_BACKOFF * 2 ** min(self.failures, 10), _MAX_BACKOFF)
        return evolve(
            self,
            lease="",
            due_at=at + backoff,
            failures=self.failures + 1,
            last_error=error,
        )

    def synced(
        self,
        result: str,
        *,
        at: datetime,
        waiting: str = "",
        waiting_fields: Iterable[FieldId] = (),
    ) -> EspConnection:
        """Return this connection after a sync. The next one is due after its interval."""
        is_scheduled = self.interval is not Interval.NEVER
        return evolve(
            self,
            lease="",
            due_at=at + self.interval.length if is_scheduled else None,
            failures=0,
            last_error="",
            last_run_at=at,
            last_result=result,
            waiting=waiting,
            waiting_fields=waiting_fields,
        )
