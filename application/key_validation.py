"""Validation of the presented API key, at every request."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from attrs import define, field, setters

from recipient_fields.domain import (
    Credential,
    FoundKey,
    KeyState,
    KeyValidationUnavailable,
    PlainKey,
    Rejection,
    RejectionReason,
    StorageUnavailable,
)

from .clock import system_clock
from .ports import ApiKeyRepository, Clock

USE_RECORDED_EVERY = timedelta(minutes=1)

_log = logging.getLogger(__name__)


@define(unsafe_hash=True)
class StoredKeyValidator:
    """The KeyValidator over the keys we store ourselves."""

    api_keys: ApiKeyRepository = field(on_setattr=setters.frozen)
    clock: Clock = field(default=system_clock, on_setattr=setters.frozen)
    _failed_to_record_at: datetime | None = field(default=None, init=False, eq=False, repr=False)

    def validate(self, presented: str, /) -> Credential | Rejection:
        """Return the credential of an active key. A mistyped key is rejected without a query."""
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
        state = found.state(now)
        if state is not KeyState.ACTIVE:
            return Rejection(RejectionReason(state.value), found.id)
        self._record_use(found, now)
        return found.credential

    def _record_use(self, key: FoundKey, now: datetime) -> None:
        if key.last_used_at is not None and now - key.last_used_at < USE_RECORDED_EVERY:
            return
        failed_at = self._failed_to_record_at
        # A clock that was set back to before the failure must not wait until it is there again.
        if failed_at is not None and timedelta() <= now - failed_at < USE_RECORDED_EVERY:
            return
        try:
            self.api_keys.record_use(key.organization_id, key.id, now)
        except StorageUnavailable as unavailable:
            # A storage that can still be read serves reads; only this note of the use is lost.
            # What can not be written may take a second to say so: no read waits for it again soon.
            self._failed_to_record_at = now
            _log.warning("the use of API key %d could not be recorded: %s", key.id, unavailable)
