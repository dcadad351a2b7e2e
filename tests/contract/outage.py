"""Cases for a storage whose technology fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pytest

from recipient_fields.application import Storage
from recipient_fields.domain import (
    ApiKeyId,
    FieldId,
    FieldKey,
    FieldQuery,
    IntegrationId,
    OrganizationId,
    StorageUnavailable,
)

from .examples import (
    LATER,
    NOW,
    a_definition,
    a_grant,
    an_esp_field,
    an_integration_draft,
    permit,
    permit_all,
    permit_any,
    renaming,
    reporting,
)

Call: TypeAlias = Callable[[Storage], object]

ID: Final = 1
"""The id of the organization, field, API key and integration in the calls."""

_OURS, _FIELD, _KEY = OrganizationId(ID), FieldId(ID), ApiKeyId(ID)
_INTEGRATION = IntegrationId(ID)

READS: Final[dict[str, Call]] = {
    "check": lambda storage: storage.check(),
    "fields.all": lambda storage: storage.fields.all(_OURS),
    "fields.publish": lambda storage: storage.fields.publish(_OURS),
    "fields.select": lambda storage: storage.fields.select(_OURS, FieldQuery()),
    "fields.get": lambda storage: storage.fields.get(_OURS, _FIELD),
    "fields.get by key": lambda storage: storage.fields.get(_OURS, FieldKey("city")),
    "api_keys.all": lambda storage: storage.api_keys.all(_OURS),
    "api_keys.get": lambda storage: storage.api_keys.get(_OURS, _KEY),
    "api_keys.find": lambda storage: storage.api_keys.find(bytes(32)),
    "integrations.all": lambda storage: storage.integrations.all(_OURS),
    "integrations.get": lambda storage: storage.integrations.get(_OURS, _INTEGRATION),
    "organizations.all": lambda storage: storage.organizations.all(),
    "organizations.get": lambda storage: storage.organizations.get(_OURS),
}
"""One call of every method that only reads."""

WRITES: Final[dict[str, Call]] = {
    "fields.add": lambda storage: storage.fields.add(_OURS, a_definition("town")),
    "fields.update": lambda storage: storage.fields.update(_OURS, _FIELD, renaming("Town")),
    "fields.delete": lambda storage: storage.fields.delete(_OURS, _FIELD, permit),
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
    "integrations.sync": lambda storage: storage.integrations.sync(
        _OURS, _INTEGRATION, reporting(an_esp_field())
    ),
    "integrations.delete": lambda storage: storage.integrations.delete(
        _OURS, _INTEGRATION, permit_all
    ),
    "organizations.add": lambda storage: storage.organizations.add("ACME", NOW),
    "organizations.rename": lambda storage: storage.organizations.rename(_OURS, "Globex"),
    "organizations.delete": lambda storage: storage.organizations.delete(_OURS, permit_any),
}
"""One call of every method that writes."""

CALLS: Final = {**READS, **WRITES}


class StorageOutageContract:
    """Tests that every method raises StorageUnavailable if the technology fails."""

    @pytest.fixture
    def broken_storage(self) -> Iterator[Storage]:
        """Return a storage that was opened successfully and whose technology has failed since."""
        raise NotImplementedError(f"{type(self).__name__} needs a fixture `broken_storage`")

    @pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
    def test_every_method_of_a_broken_storage_raises_storage_unavailable(
        self, broken_storage: Storage, call: Call
    ) -> None:
        for _ in range(2):
            with pytest.raises(StorageUnavailable):
                call(broken_storage)

    def test_a_broken_storage_can_be_closed_twice(self, broken_storage: Storage) -> None:
        broken_storage.close()
        broken_storage.close()
