"""The examples in the document are the responses of the service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from falcon.testing import Result

from recipient_fields.application import HistoryStorage
from recipient_fields.domain import (
    DataType,
    FieldChanges,
    FieldDraft,
    FieldId,
    KeyValidationUnavailable,
    Rejection,
    StorageUnavailable,
)
from recipient_fields.entrypoints.http.app import create_app
from recipient_fields.entrypoints.http.problem_examples import EXAMPLES
from recipient_fields.entrypoints.http.resource import EXAMPLE_REQUEST_ID as REQUEST_ID

from .conftest import BATCHES, CONDITIONS, FIELDS, HISTORY, ApiClient, Service

RENAMED = {"name": "Loyalty level", "allowed_values": ["platinum", "gold", "silver"]}
BRAZE = {
    "custom_insertion_code": "{{custom_attribute.${loyalty_tier}}}",
    "custom_value_expression": "custom_attribute.${loyalty_tier}",
}
EARLIER_REQUESTS: dict[str, tuple[str, str, object]] = {
    "restore_recipient_field": ("DELETE", f"{FIELDS}/1", None),
    "list_recipient_field_changes": ("PATCH", f"{FIELDS}/1", {"recipient_field": RENAMED}),
    "compile_condition": ("PATCH", f"{FIELDS}/1", {"recipient_field": BRAZE}),
    "export_content": ("PATCH", f"{FIELDS}/1", {"recipient_field": BRAZE}),
    "convert_content": ("PATCH", f"{FIELDS}/1", {"recipient_field": BRAZE}),
}
"""Requests that the examples of these operations require."""

REQUESTS = {
    "check_recipients": ("POST", "/api/v1/recipient_checks"),
    "compile_condition": ("POST", CONDITIONS),
    "export_content": ("POST", "/api/v1/content_exports"),
    "convert_content": ("POST", "/api/v1/content_conversions"),
    "preview_content": ("POST", "/api/v1/content_previews"),
    "apply_recipient_field_batch": ("POST", BATCHES),
    "restore_recipient_field": ("POST", f"{FIELDS}/1/restore"),
    "list_recipient_field_changes": ("GET", f"{HISTORY}?operation=updated"),
    "list_recipient_fields": ("GET", FIELDS),
    "list_codes_of_recipient_field": ("GET", f"{FIELDS}/first_name/codes"),
    "list_merge_tags": ("GET", "/api/v1/merge_tags?integration_id=1"),
    "list_integrations": ("GET", "/api/v1/integrations"),
    "get_recipient_field": ("GET", f"{FIELDS}/loyalty_tier"),
    "create_recipient_field": ("POST", FIELDS),
    "update_recipient_field": ("PATCH", f"{FIELDS}/loyalty_tier"),
    "replace_recipient_field": ("PUT", f"{FIELDS}/newsletter"),
    "get_healthz": ("GET", "/healthz"),
    "get_readyz": ("GET", "/readyz"),
}

NUMBER_OF_CODES = 2

SERVER_ERRORS = {
    "malformed_request",
    "request_timeout",
    "uri_too_long",
    "headers_too_large",
    "not_implemented",
    "overloaded",
}
"""Errors that the server sends, not the application. The tests of the server cover them."""


def test_the_examples_of_operations_are_the_real_responses(contract, new_service):
    examples = {
        (operation["operationId"], int(status), name): example["value"]
        for item in contract["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
        for status, response in operation["responses"].items()
        for name, example in _examples(response).items()
    }
    sent = {
        (operation["operationId"], name): example["value"]
        for item in contract["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict) and "requestBody" in operation
        for name, example in _examples(operation["requestBody"]).items()
    }
    assert len(examples) >= len(sent) >= 5
    assert {(operation, name) for operation, _, name in examples} >= sent.keys()

    for (operation, status, name), expected in examples.items():
        method, path = REQUESTS[operation]
        client = new_service().client
        if operation in EARLIER_REQUESTS:
            client.request(*EARLIER_REQUESTS[operation], headers={"X-Request-Id": REQUEST_ID})
        response = client.request(method, path, sent.get((operation, name)))
        assert response.status_code == status
        assert _comparable(response.json) == _comparable(expected)


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - SERVER_ERRORS))
def test_the_examples_of_errors_are_the_real_responses(contract, new_service, name):
    problem = EXAMPLES[name]
    described = next(
        item
        for item in contract["components"]["responses"].values()
        if name in item["content"]["application/json"]["examples"]
    )
    response = ERRORS[name](new_service(), {"X-Request-Id": REQUEST_ID})

    assert response.status_code == problem.status
    assert response.headers["content-type"] == "application/json"
    assert response.json == described["content"]["application/json"]["examples"][name]["value"]


def _examples(described: dict[str, Any]) -> dict[str, Any]:
    content = described.get("content", {})
    examples: dict[str, Any] = content.get("application/json", {}).get("examples", {})
    return examples


def _comparable(document: Any) -> Any:
    """Return the document without the time of a field's last change and the display of a key.

    The examples of the codes and of the merge tags have only some of them.
    """
    match document:
        case {"codes": list(codes)}:
            return codes[:NUMBER_OF_CODES]
        case {"merge_tags": list(tags)}:
            return [each for each in tags if each["key"] in {"first_name", "link.unsubscribe"}]
        case {"recipient_field_changes": [dict(record)]}:
            return {**record, "actor": {**record["actor"], "name": None}}
        case {"recipient_field": dict(field)}:
            return {"recipient_field": {**field, "updated_at": None}}
        case {"results": list(results)}:
            return [_comparable(result) for result in results]
        case _:
            return document


def _sending(
    method: str, path: str, document: object = None, **request: Any
) -> Callable[[Service, dict[str, str]], Result]:
    def send(service: Service, headers: dict[str, str]) -> Result:
        more = {**request, "headers": {**headers, **request.get("headers", {})}}
        return service.client.request(method, path, document, **more)

    return send


def _without_key(service: Service, headers: dict[str, str]) -> Result:
    return evolve(service.client, key=None).request("GET", FIELDS, headers=headers)


def _with_read_only_key(service: Service, headers: dict[str, str]) -> Result:
    return service.reader().request("DELETE", f"{FIELDS}/1", headers=headers)


def _at_the_field_limit(service: Service, headers: dict[str, str]) -> Result:
    for number in range(2, 1_001):
        draft = FieldDraft(name=f"Field {number}", data_type=DataType.TEXT)
        service.core.fields.create_field(service.organization, draft)
    return service.client.request("POST", FIELDS, {"recipient_field": _SHOP}, headers=headers)


def _at_the_catalog_limit(service: Service, headers: dict[str, str]) -> Result:
    """Fill the list to the size of the example."""
    fields, organization = service.core.fields, service.organization
    large = [f"{number:03}{'x' * 250}" for number in range(250)]
    used = EXAMPLES["catalog_too_large"].used
    assert used is not None
    missing = used - fields.list_fields(organization).size

    def create(code_length: int, allowed_values: list[str] | None) -> int:
        draft = FieldDraft(
            name=f"Field {missing}",
            data_type=DataType.TEXT,
            allowed_values=allowed_values,
            custom_insertion_code="x" * code_length,
        )
        return fields.create_field(organization, draft).size

    while missing > 80_000:
        missing -= create(1, large)
    while missing > 10_000:
        missing -= create(9_000, None)
    missing -= create(1, None)
    last = fields.list_fields(organization).fields[-1]
    fields.update_field(
        organization, last.id, FieldChanges(custom_insertion_code="x" * (1 + missing))
    )
    return service.client.request("POST", FIELDS, {"recipient_field": _SHOP}, headers=headers)


def _with_a_removed_deletion(service: Service, headers: dict[str, str]) -> Result:
    service.core.fields.delete_field(service.organization, FieldId(1))
    storage = service.core.storage
    assert isinstance(storage, HistoryStorage)
    storage.history.prune_to_size(service.organization, 0)
    return service.client.request("POST", f"{FIELDS}/1/restore", headers=headers)


def _without_key_validator(service: Service, headers: dict[str, str]) -> Result:
    class Unavailable:
        def validate(self, _presented: str, /) -> Rejection:
            raise KeyValidationUnavailable

    broken = evolve(service, core=evolve(service.core, validator=Unavailable()))
    return broken.client.request("GET", FIELDS, headers=headers)


def _without_storage(service: Service, headers: dict[str, str]) -> Result:
    return _readiness(service, StorageUnavailable(), headers)


def _with_a_defect(service: Service, headers: dict[str, str]) -> Result:
    return _readiness(service, ZeroDivisionError(), headers)


def _readiness(service: Service, error: Exception, headers: dict[str, str]) -> Result:
    """Return the response of `/readyz` if the check of the storage raises this error."""

    def check() -> None:
        raise error

    client = ApiClient(create_app(service.core, check=check))
    return client.request("GET", "/readyz", headers=headers)


_SHOP = {"name": "Shop", "data_type": "text"}
_JSON = {"Content-Type": "application/json"}
_MISTAKES = {"name": "Loyalty tier", "datatype": "text", "key": "Loyalty-Tier"}
_TAKEN = {"name": "Loyalty tier", "data_type": "text"}

ERRORS: dict[str, Callable[[Service, dict[str, str]], Result]] = {
    "invalid_json": _sending("POST", FIELDS, None, body=b'{"recipient_field": }', headers=_JSON),
    "invalid_parameter": _sending("GET", FIELDS, params={"limit": "0"}),
    "unauthorized": _without_key,
    "field_not_api_managed": _sending(
        "PATCH", f"{FIELDS}/preferred_shop", {"recipient_field": {"name": "Shop"}}
    ),
    "insufficient_scope": _with_read_only_key,
    "not_found": _sending("GET", f"{FIELDS}/shoe_size"),
    "before_history": _sending("GET", FIELDS, params={"as_of": "2026-11-20T09:15:00.122Z"}),
    "method_not_allowed": _sending("POST", f"{FIELDS}/1"),
    "not_acceptable": _sending("GET", FIELDS, headers={"Accept": "text/html"}),
    "key_already_exists": _sending("POST", FIELDS, {"recipient_field": _TAKEN}),
    "operations_failed": _sending(
        "POST",
        BATCHES,
        {
            "operations": [
                {"operation": "create", "recipient_field": _SHOP},
                {"operation": "create", "recipient_field": _TAKEN},
                {"operation": "delete", "reference": "shoe_size"},
            ]
        },
    ),
    "field_limit_reached": _at_the_field_limit,
    "catalog_too_large": _at_the_catalog_limit,
    "history_removed": _with_a_removed_deletion,
    "precondition_failed": _sending("DELETE", f"{FIELDS}/1", headers={"If-Match": '"old"'}),
    "payload_too_large": _sending("POST", FIELDS, None, body=b" " * 1_048_577, headers=_JSON),
    "unsupported_media_type": _sending(
        "POST", FIELDS, None, body=b"{}", headers={"Content-Type": "text/plain"}
    ),
    "validation_failed": _sending("POST", FIELDS, {"recipient_field": _MISTAKES}),
    "not_expressible": _sending(
        "POST",
        CONDITIONS,
        {"condition": 'first_name contains "x"', "esp": "mailchimp", "then": "A"},
    ),
    "internal_error": _with_a_defect,
    "api_key_validation_unavailable": _without_key_validator,
    "service_unavailable": _without_storage,
}
