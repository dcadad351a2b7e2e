"""Validation of API keys that the storage contains."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from attrs import define, field, setters

from recipient_fields.domain import (
    Credential,
    FoundKey,
    KeyValidationUnavailable,
    PlainKey,
    Rejection,
    RejectionReason,
    StorageUnavailable,
)

from ..clock import Clock, system_clock
from ..ports.accounts import ApiKeyRepository

__all__ = ["StoredKeyValidator"]

USE_RECORDED_EVERY = timedelta(minutes=1)

_log = logging.getLogger(__name__)


@define(unsafe_hash=True)
class StoredKeyValidator:
    """A KeyValidator for the API keys in the storage. It records their last use."""

    api_keys: ApiKeyRepository = field(on_setattr=setters.frozen)
    clock: Clock = field(default=system_clock, on_setattr=setters.frozen)
    _failed_to_record_at: datetime | None = field(default=None, init=False, eq=False, repr=False)

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the credential of an active key. A malformed key is rejected without a query."""
        plain = PlainKey.parse(presented)
        if plain is None:
            return Rejection(RejectionReason.MALFORMED)
        try:
            found = self.api_keys.find(plain.digest)
        except StorageUnavailable as unavailable:
            raise KeyValidationUnavailable(str(unavailable)) from unavailable
        now = self.clock()
        if found is None:
            return Rejection(RejectionReason.UNKNOWN)
        rejection = found.reject(now)
        if rejection is not None:
            return rejection
        self._record_use(found, now)
        return found.to_credential(plain)

    def _record_use(self, key: FoundKey, now: datetime) -> None:
        if key.last_used_at is not None and now - key.last_used_at < USE_RECORDED_EVERY:
            return
        failed_at = self._failed_to_record_at
        # A negative difference means that the clock was set back: try again at once.
        if failed_at is not None and timedelta() <= now - failed_at < USE_RECORDED_EVERY:
            return
        try:
            self.api_keys.record_use(key.organization_id, key.id, now)
        except StorageUnavailable as unavailable:
            # A read-only storage can still serve reads, so only the time of use is lost. A write
            # can fail after a second: pause, so that few requests wait for it.
            self._failed_to_record_at = now
            _log.warning("Can't record the use of API key %d: %s", key.id, unavailable)
