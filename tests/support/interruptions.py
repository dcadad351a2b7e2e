"""Changes that another process makes between two steps of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import KeyTaken, OrganizationId


def delete_integrations_after_a_taken_key(
    patch: pytest.MonkeyPatch, core: Core, organization_id: OrganizationId
) -> None:
    """Let another process delete all integrations as soon as a change has found a taken key."""
    repository = type(core.storage.fields)

    def interrupted(call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **named: Any) -> Any:
            try:
                return call(*arguments, **named)
            except KeyTaken:
                for each in core.integrations.list_integrations(organization_id):
                    core.integrations.delete_integration(organization_id, each.id)
                raise

        return called

    for name in ("create", "change"):
        if hasattr(repository, name):
            patch.setattr(repository, name, interrupted(getattr(repository, name)))
