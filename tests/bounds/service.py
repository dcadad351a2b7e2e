"""A service with one organization, whose requests are measured in this thread."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from attrs import frozen
from falcon.testing import Result, TestClient

from recipient_fields import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.domain import API, Author, DataType, FieldDraft, IntegrationId, OrganizationId
from recipient_fields.domain.content import read_content
from recipient_fields.domain.errors import InvalidInput
from recipient_fields.domain.esp import Esp
from recipient_fields.entrypoints.http.app import create_app

from ..http.api import CONTENT_EXPORTS, CONTENT_PREVIEWS

VALUES = {"tier": "é <b> 'a' ${a} {{b}} " * 10, "visits": 3}
"""The values of a recipient."""


@frozen(slots=False)
class MeasuredService:
    """The HTTP application and the core over a storage in memory."""

    core: Core
    organization: OrganizationId
    key: str

    @classmethod
    def create(cls) -> MeasuredService:
        """Return the service with the fields tier, a text, and visits, a number."""
        core = Core.over(MemoryStorage())
        organization = core.administration.create_organization("Acme").id
        for name, data_type in (("Tier", DataType.TEXT), ("Visits", DataType.NUMBER)):
            core.fields.by(Author(API)).create_field(
                organization, FieldDraft(name=name, data_type=data_type)
            )
        key = core.administration.issue_key(organization, name="Test").plain.reveal()
        return cls(core, organization, key)

    @cached_property
    def _client(self) -> TestClient:
        return TestClient(create_app(self.core))

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Result:
        """Send a request with the key, or with other headers."""
        sent = {"Authorization": f"Bearer {self.key}", **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        return self._client.simulate_request(method, path, body=body, headers=sent, **options)

    def post(self, path: str, document: object) -> Result:
        """Send a document."""
        return self.send("POST", path, json.dumps(document).encode())

    def entries(self) -> Mapping[str, Callable[[str], object]]:
        """Return what reads content, by name: exports for each ESP, a preview and a check."""

        def export(content: str, **target: object) -> None:
            self.post(CONTENT_EXPORTS, {"content": content, "strict": False, **target})

        def preview(content: str) -> None:
            self.post(CONTENT_PREVIEWS, {"content": content, "recipient": VALUES})

        def check(content: str) -> None:
            try:
                self.core.content.check_content(
                    self.organization, read_content(content), strict=False
                )
            except InvalidInput:
                pass

        exports = {
            esp.value: lambda content, esp=esp: export(content, esp=esp.value)  # type: ignore[misc]
            for esp in Esp
        }
        return {**exports, "preview": preview, "check": check}

    def integrate(self, esp: Esp, number: int) -> list[IntegrationId]:
        """Create integrations with the ESP."""
        return [
            self.core.integrations.create_integration(
                self.organization, esp=esp, name=f"{esp.value} {index}"
            ).id
            for index in range(number)
        ]
