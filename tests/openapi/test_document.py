"""The published document is valid and describes the service."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest
from click.testing import CliRunner
from falcon.inspect import inspect_routes
from jsonschema_rs import Draft202012Validator

from recipient_fields.domain import (
    MAX_ALLOWED_VALUES,
    MAX_ESP_FIELD_NAME_LENGTH,
    MAX_KEY_LENGTH,
    MAX_SAFE_INTEGER,
    DataType,
    Rule,
    Source,
)
from recipient_fields.entrypoints.cli import main
from recipient_fields.entrypoints.http.fields.list_parameters import LIST_PARAMETERS
from recipient_fields.entrypoints.http.problem_examples import EXAMPLES
from recipient_fields.entrypoints.http.problems import MEANINGS, STATUSES

from .conftest import FIELDS

FIELD = f"{FIELDS}/{{id_or_key}}"
METHODS = {"get", "head", "post", "patch", "put", "delete", "options"}


def _values(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_it_is_valid_openapi_3_1(contract):
    # Its import takes three seconds, which each worker that collects the tests would spend.
    from openapi_spec_validator import OpenAPIV31SpecValidator

    OpenAPIV31SpecValidator(contract).validate()

    assert contract["openapi"].startswith("3.1.")


def test_it_has_every_route_and_method_except_head_options_and_the_files_of_the_page(
    contract, service
):
    served = {
        (_without_names(route.path), method.method.lower())
        for route in inspect_routes(service.client.app)
        for method in route.methods
        if not method.internal
    }
    documented = {(_without_names(path), method) for path, method, _ in operations(contract)}

    assert documented <= served
    assert served - documented == {
        *((path, method) for path, method in served if method in {"head", "options"}),
        ("/docs/{}", "get"),
    }


def test_no_schema_has_a_default(contract):
    assert [part for part in _parts(contract) if "default" in part] == []


def test_enumerations_are_shared(contract):
    enumerations = [tuple(part["enum"]) for part in _parts(contract) if "enum" in part]
    shared = [
        tuple(member.value for member in DataType),
        tuple(member.value for member in Source),
        tuple(STATUSES),
    ]

    assert [enumerations.count(values) for values in shared] == [1, 1, 1]


def test_errors_are_shared(contract):
    for _, _, operation in operations(contract):
        for status, response in operation["responses"].items():
            assert ("$ref" in response) is (int(status) >= 400)


def test_it_has_every_error_code_under_its_status(contract):
    codes = {
        (code, status)
        for status, response in _errors(contract).items()
        for code in response["application/json"]["schema"]["properties"]["error"]["properties"][
            "code"
        ]["enum"]
    }

    assert codes == {(code, status.value) for code, status in STATUSES.items()}
    assert MEANINGS.keys() == STATUSES.keys()


def test_it_has_an_example_of_every_error_code_every_reason_and_a_failed_batch() -> None:
    assert {problem.code for problem in EXAMPLES.values()} == STATUSES.keys()
    assert sorted(EXAMPLES.keys() - STATUSES.keys()) == [
        "before_history",
        "field_not_api_managed",
        "insufficient_scope",
        "operations_failed",
    ]


def test_every_status_except_405_belongs_to_an_operation(contract):
    documented = {int(status) for _, _, o in operations(contract) for status in o["responses"]}
    refused = {status.value for status in STATUSES.values()}

    assert refused - documented == {HTTPStatus.METHOD_NOT_ALLOWED}


def test_every_response_lists_the_common_headers(contract):
    for _, _, operation in operations(contract):
        for response in operation["responses"].values():
            assert {"X-Request-Id", "Cache-Control"} <= _resolved(contract, response)[
                "headers"
            ].keys()


def test_responses_without_a_body_have_no_content(contract):
    for _, _, operation in operations(contract):
        for status, response in operation["responses"].items():
            bodiless = status in {"204", "304"}
            assert ("content" in _resolved(contract, response)) is not bodiless


def test_requests_under_api_need_a_key_and_no_others(contract):
    for path, _, operation in operations(contract):
        needs_key = operation.get("security", contract["security"]) == [{"api_key": []}]
        assert needs_key is path.startswith("/api/")
        assert ("401" in operation["responses"]) is needs_key


@pytest.mark.parametrize(
    ("method", "path", "statuses"),
    [
        ("get", "/healthz", []),
        ("get", FIELDS, [401, 404]),
        ("get", FIELD, [401, 404]),
        ("post", FIELDS, [401, 403, 409, 415, 422]),
        ("patch", FIELD, [401, 403, 404, 409, 412, 415, 422]),
        ("put", FIELD, [401, 403, 404, 409, 412, 415, 422]),
        ("delete", FIELD, [401, 403, 404, 412]),
        ("post", f"{FIELDS}/{{id}}/restore", [401, 403, 404, 409]),
        ("post", "/api/v1/recipient_checks", [401, 415, 422]),
    ],
)
def test_an_operation_has_the_errors_that_follow_from_its_declaration(
    contract, method, path, statuses
):
    of_all = contract["paths"]["/readyz"]["get"]["responses"].keys() - {"200"}
    responses = contract["paths"][path][method]["responses"].keys() - of_all

    assert sorted(int(each) for each in responses if each >= "400") == statuses


def test_its_parameters_that_take_several_values_are_those_of_the_service(contract):
    parameters = _parameters(contract, FIELDS, "get")
    arrays = {name: p for (_, name), p in parameters.items() if p["schema"].get("type") == "array"}

    assert arrays.keys() == {n for n, each in LIST_PARAMETERS.items() if each.is_multiple}
    for parameter in arrays.values():  # The default of generators: one parameter per value.
        assert parameter.get("style", "form") == "form"
        assert parameter.get("explode", True) is True


def test_its_enumerations_are_those_of_the_core(contract):
    schemas = contract["components"]["schemas"]

    assert schemas["DataType"]["enum"] == [data_type.value for data_type in DataType]
    assert schemas["Source"]["enum"] == [source.value for source in Source]
    assert set(schemas["ErrorDetail"]["properties"]["code"]["enum"]) == {
        *(rule.value for rule in Rule),
        *("key_already_exists", "not_found", "forbidden"),
        *("field_limit_reached", "catalog_too_large", "precondition_failed"),
    }


def test_every_example_fits_its_schema(contract):
    seen = list(_examples(contract, contract))

    assert len(seen) > len(EXAMPLES)
    for schema, example in seen:
        _validator(contract, schema).validate(example)


@pytest.mark.parametrize(
    ("member", "fits", "breaks"),
    [
        ("name", "é" * 255, "é" * 256),
        ("name", " Padded\t\n", " \u3000\x1f "),
        ("name", "White \xa0\u3000 space", "Line\u2028separator"),
        ("name", "\U0001f600", "a\x9fb"),
        ("key", "k" * MAX_KEY_LENGTH, "k" * (MAX_KEY_LENGTH + 1)),
        ("key", "a_1b_2", "a__b"),
        ("key", "system", "sys_tem"),
        ("key", "ids", "id"),
        ("key", "city", "city\n"),
        ("insertable", False, "false"),
        ("data_type", "text", "Text"),
        ("allowed_values", None, []),
        ("allowed_values", _values(MAX_ALLOWED_VALUES), _values(MAX_ALLOWED_VALUES + 1)),
        ("allowed_values", ["v" * 255], ["v" * 256]),
        ("allowed_values", ["in side"], ["outside "]),
        ("allowed_values", ["a", "b"], ["a", "a"]),
        ("allowed_values", ["1"], [1]),
        ("custom_insertion_code", "c" * 10_000, "c" * 10_001),
        ("custom_insertion_code", " {{ x }}\n", " \n\u2003"),
        ("custom_value_expression", "c" * 2_000, "c" * 2_001),
        ("custom_value_expression", "a\x01", "a\x00"),
        ("source", "api", "manual"),
        ("esp_field_name", None, "FNAME"),
    ],
)  # fmt: skip
def test_its_rules_for_members_are_those_of_the_service(contract, service, member, fits, breaks):
    field = {"name": "Shop", "key": "shop", "data_type": "text"}
    draft = _validator(contract, {"$ref": "#/components/schemas/RecipientFieldDraft"})
    for value, status in ((fits, 201), (breaks, 422)):
        body = {**field, member: value}
        assert draft.is_valid(body) is (status == 201)
        response = service.client.request("POST", FIELDS, {"recipient_field": body})
        assert response.status_code == status


@pytest.mark.parametrize(
    ("data_type", "fits", "breaks"),
    [
        ("number", MAX_SAFE_INTEGER, MAX_SAFE_INTEGER + 1),
        ("number", -0.5, "1"),
        ("date", "2024-02-29", "2024-2-29"),
        ("datetime", "2026-11-20t09:15:00.1+05:30", "2026-11-20T09:15:00"),
        ("datetime", "2026-11-20T09:15:00Z", "2026-11-20T09:15:00.1234Z"),
        ("datetime", "2026-11-20T23:59:59-23:59", "2026-11-20T24:00:00Z"),
    ],
)
def test_its_rules_for_allowed_values_are_those_of_the_service(
    contract, service, data_type, fits, breaks
):
    draft = _validator(contract, {"$ref": "#/components/schemas/RecipientFieldDraft"})
    for value, status in ((fits, 201), (breaks, 422)):
        body = {"name": "Shop", "data_type": data_type, "allowed_values": [value]}
        assert draft.is_valid(body) is (status == 201)
        response = service.client.request("POST", FIELDS, {"recipient_field": body})
        assert response.status_code == status


def test_a_boolean_field_has_no_allowed_values(contract):
    draft = _validator(contract, {"$ref": "#/components/schemas/RecipientFieldDraft"})
    body = {"name": "Newsletter", "data_type": "boolean"}

    assert draft.is_valid({**body, "allowed_values": None})
    assert not draft.is_valid({**body, "allowed_values": [True]})


def test_an_esp_field_name_is_as_long_as_the_core_allows(contract):
    member = contract["components"]["schemas"]["RecipientField"]["properties"]["esp_field_name"]

    assert member["maxLength"] == MAX_ESP_FIELD_NAME_LENGTH


@pytest.mark.parametrize(
    ("name", "fits", "breaks"),
    [
        ("limit", 1_000, 1_001),
        ("limit", 1, 0),
        ("q", "q" * 100, "q" * 101),
        ("sort", "-updated_at", "-color"),
        ("as_of", "9999-11-20T09:15:00.123-01:00", "9999-11-20T09:15:00.1234Z"),
        ("source", "api,manual", "api,"),
        ("source", ["api", "manual"], ["api", "other"]),
        ("data_type", "datetime", "time"),
        ("key", "no_such_field", "No-such-field"),
        ("integration_id", "1,9999999999999999", "01"),
        ("integration_id", ["1", "2"], ["1", "x"]),
        ("insertable", "true", "yes"),
    ],
)
def test_its_rules_for_parameters_are_those_of_the_service(contract, service, name, fits, breaks):
    schema = _parameters(contract, FIELDS, "get")["query", name]["schema"]
    for value, status in ((fits, 200), (breaks, 400)):
        assert _validator(contract, schema).is_valid(_read(schema, value)) is (status == 200)
        assert service.client.request("GET", FIELDS, params={name: value}).status_code == status


@pytest.mark.parametrize(
    ("fits", "breaks"),
    [("*", "**"), ('"a"', "a"), (' W/"a" ,, "b",', '"a" "b"'), ('""', ""), ('"\xe9"', '"a')],
)
def test_its_rules_for_preconditions_are_those_of_the_service(contract, service, fits, breaks):
    schema = _parameters(contract, FIELD, "delete")["header", "If-Match"]["schema"]
    for value, malformed in ((fits, False), (breaks, True)):
        assert _validator(contract, schema).is_valid(value) is not malformed
        response = service.client.request("DELETE", f"{FIELDS}/2", headers={"If-Match": value})
        assert (response.status_code == 400) is malformed


def test_the_command_line_prints_it(contract):
    printed = CliRunner().invoke(main, ["openapi"], catch_exceptions=False)

    assert json.loads(printed.output) == contract


def operations(contract: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return the path, the method and the object of each operation."""
    for path, item in contract["paths"].items():
        for method in METHODS & item.keys():
            yield path, method, item[method]


def _parts(document: object) -> Iterator[dict[str, Any]]:
    """Return every object in the document."""
    if isinstance(document, dict):
        yield document
        document = list(document.values())
    if isinstance(document, list):
        for part in document:
            yield from _parts(part)


def _parameters(
    contract: dict[str, Any], path: str, method: str
) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the parameters of the operation by place and name."""
    shared = contract["components"]["parameters"]
    listed = [
        shared[parameter["$ref"].rpartition("/")[2]] if "$ref" in parameter else parameter
        for parameter in contract["paths"][path][method]["parameters"]
    ]
    return {(parameter["in"], parameter["name"]): parameter for parameter in listed}


def _without_names(path: str) -> str:
    return re.sub(r"{\w+}", "{}", path)


def _errors(contract: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the bodies of the error responses by status."""
    return {
        int(status): contract["components"]["responses"][response["$ref"].rpartition("/")[2]][
            "content"
        ]
        for _, _, operation in [
            *operations(contract),
            ("", "", {"responses": {"405": {"$ref": "#/components/responses/MethodNotAllowed"}}}),
        ]
        for status, response in operation["responses"].items()
        if "$ref" in response
    }


def _resolved(contract: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in response:
        return response
    found: dict[str, Any] = contract["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return found


def _examples(contract: dict[str, Any], part: Any) -> Iterator[tuple[Any, Any]]:
    """Return each example of a body with its schema."""
    if isinstance(part, dict):
        if "schema" in part and "examples" in part and "in" not in part:
            for example in part["examples"].values():
                yield part["schema"], example["value"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from _examples(contract, inner)


def _validator(contract: dict[str, Any], schema: Any) -> Draft202012Validator:
    return Draft202012Validator(
        {**schema, "components": contract["components"]}, validate_formats=True
    )


def _read(schema: dict[str, Any], value: Any) -> Any:
    """Return the value of a parameter converted to the type of the schema."""
    match schema:
        case {"type": "array", "items": items}:
            sent = value if isinstance(value, list) else value.split(",")
            return [_read(items, item) for item in sent]
        case {"type": "integer"} if str(value).isdigit() and not str(value).startswith("0"):
            return int(value)
        case {"type": "boolean"}:
            return {"true": True, "false": False}.get(value, value)
        case _:
            return value
