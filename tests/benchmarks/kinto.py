"""The data of the comparison in Kinto: a bucket, and the account that owns it, per organization."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from .traffic import request, send_once

_BATCH = 25
"""Kinto's default for the maximum number of requests of a batch."""
_PASSWORD = "secret"
_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "key", "data_type"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 255},
        "key": {"type": "string", "pattern": "^[a-z][a-z0-9]*(_[a-z0-9]+)*$", "maxLength": 63},
        "data_type": {"enum": ["text", "number", "boolean", "date", "datetime"]},
        "allowed_values": {
            "type": ["array", "null"],
            "items": {"type": ["string", "number"]},
            "minItems": 1,
            "maxItems": 1_000,
        },
        "insertable": {"type": "boolean"},
        "source": {"enum": ["api", "manual", "integration"]},
        "integration_id": {"type": ["integer", "null"]},
        "esp_field_name": {"type": ["string", "null"]},
        "custom_insertion_code": {"type": ["string", "null"], "minLength": 1, "maxLength": 10_000},
        "custom_value_expression": {"type": ["string", "null"], "minLength": 1, "maxLength": 2_000},
        "created_at": {"type": "string"},
        "updated_at": {"type": "string"},
    },
}
"""The schema of the records, with the limits of the models of the applications."""


@frozen
class Bucket:
    """A bucket with a collection of fields, and the account of the same name that owns it."""

    url: str
    name: str

    def add(self, fields: Sequence[Mapping[str, object]]) -> None:
        """Create the account, the bucket, and the collection with these fields."""
        bucket = f"/v1/buckets/{self.name}"
        account = {"data": {"password": _PASSWORD}}
        self._send(request("PUT", f"/v1/accounts/{self.name}", {}, account))
        self._send(request("PUT", bucket, self._headers))
        collection = {"data": {"schema": _SCHEMA}}
        self._send(request("PUT", f"{bucket}/collections/fields", self._headers, collection))
        creations = [
            {"method": "POST", "path": self._records, "body": {"data": field}} for field in fields
        ]
        for first in range(0, len(creations), _BATCH):
            batch = {"requests": creations[first : first + _BATCH]}
            created = self._send(request("POST", "/v1/batch", self._headers, batch))
            assert all(each["status"] == 201 for each in created["responses"]), created

    def remove_created(self) -> None:
        """Delete the fields that requests have created."""
        self._send(request("DELETE", f"{self._records}?like_key=created_*", self._headers))

    def read_list(self) -> str:
        """Return a request for all fields."""
        return request("GET", self._records, self._headers)

    def read_field(self, key: str) -> str:
        """Return a request for the field with this key by its id."""
        found = self._send(request("GET", f"{self._records}?key={key}", self._headers))
        [field] = found["data"]
        return request("GET", f"{self._records}/{field['id']}", self._headers)

    def create_field(self, members: Mapping[str, object]) -> str:
        """Return a request that creates a field."""
        return request("POST", self._records, self._headers, {"data": members})

    @property
    def _records(self) -> str:
        return f"/v1/buckets/{self.name}/collections/fields/records"

    @property
    def _headers(self) -> dict[str, str]:
        credentials = b64encode(f"{self.name}:{_PASSWORD}".encode()).decode()
        return {"Authorization": f"Basic {credentials}"}

    def _send(self, text: str) -> dict[str, Any]:
        response = send_once(self.url, text)
        assert response.status in {200, 201}, response
        document: dict[str, Any] = json.loads(response.body)
        return document
