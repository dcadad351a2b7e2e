"""The client converts an error response to the error that the service raised."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.client import RequestRefused
from recipient_fields.adapters.client.errors import NotFound, error_of
from recipient_fields.adapters.network import Response
from recipient_fields.application import InvalidDocument, MissingGroup, StorageGroup
from recipient_fields.domain import (
    Batch,
    BatchRejected,
    BeforeHistory,
    CatalogChanged,
    CatalogTooLarge,
    CreateField,
    DeleteField,
    FieldDraft,
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    HistoryRemoved,
    InsufficientAccess,
    InvalidField,
    KeyRefused,
    KeyRepeated,
    KeyTaken,
    KeyValidationUnavailable,
    OperationForbidden,
    OrganizationNotFound,
    RecipientFieldsError,
    Rule,
    StorageUnavailable,
    VersionConflict,
    Violation,
)
from recipient_fields.domain.conditions import InvalidCondition, InvalidRecipient, TextPosition
from recipient_fields.domain.content import InvalidContent
from recipient_fields.domain.esp import MissingProfile, NotExpressible
from recipient_fields.domain.integrations import IntegrationNotFound, IntegrationRequired
from recipient_fields.entrypoints.http.problems import (
    CODES,
    STATUSES,
    Problem,
    problem,
    problem_of,
    render_error,
)

EXAMPLES: list[RecipientFieldsError] = [
    InvalidField(
        [
            Violation(Rule.RESERVED, "This key is reserved. Choose another key.", ("key",)),
            Violation(Rule.FORMAT, "So.", ("key",), "first_name"),
            Violation(Rule.TYPE, "No.", ("allowed_values", 12)),
            Violation(Rule.READ_ONLY, "No.", ("a/b~1", "c", 0)),
            Violation(Rule.READ_ONLY, "No.", ("7",)),
        ]
    ),
    InvalidField([Violation(rule, "No.") for rule in Rule]),
    FieldNotFound(),
    OrganizationNotFound(),
    BeforeHistory(),
    BeforeHistory("The records up to 2 were removed."),
    HistoryRemoved(),
    OperationForbidden("Manual fields are changed by administrators, not through the API."),
    InsufficientAccess(),
    KeyTaken(FieldKey("city"), FieldId(2**53 - 1)),
    FieldLimitReached(1_000_000),
    CatalogTooLarge(8_388_608, 8_388_500),
    VersionConflict("7-19c8a1f5b7b"),
    VersionConflict(None),
    VersionConflict("7-19c8a1f5b7b", "The field already exists."),
    StorageUnavailable("The service is temporarily unavailable. Retry shortly."),
    KeyValidationUnavailable(
        "Authentication is temporarily unavailable. Retry shortly with the same API key."
    ),
    InvalidContent(
        [
            TextPosition(2, 3).locate(Violation(Rule.UNKNOWN_FIELD, "No.", suggestion="city")),
            TextPosition(1, 1).locate(Violation(Rule.NOT_APPLICABLE, "A mistake.")),
        ]
    ),
    InvalidCondition([Violation(Rule.TYPE, "No.", ("all", 0, "value"), "gold")]),
    InvalidRecipient([Violation(Rule.TYPE, "No.", ("born",)), Violation(Rule.TYPE, "A.", ("7",))]),
    NotExpressible("Mailchimp has no test for a part of a text."),
    NotExpressible("Braze would read a part of the text for else as code.", "else"),
    IntegrationNotFound(),
    MissingProfile("The profile of the ESP mailjet is not installed. Install it."),
    IntegrationRequired("The organization has several integrations with Braze. Choose one."),
]
ERRORS_BY_CODE = {
    "unauthorized": KeyRefused,
    "internal_error": StorageUnavailable,
    "overloaded": StorageUnavailable,
    "request_timeout": StorageUnavailable,
}
"""The errors for the codes that no error of the core has."""


def response_with(problem: Problem, request_id: str = "a-1") -> Response:
    headers = {"Content-Type": "application/json", **problem.headers}
    return Response(problem.status, headers, render_error(problem, request_id))


def error_response(status: int, error: Any) -> Response:
    return json_response(status, json.dumps({"error": error}).encode())


def json_response(status: int, body: bytes) -> Response:
    return Response(status, {"Content-Type": "application/json"}, body)


def refused(status: int, code: object, **members: object) -> Response:
    """Return a response with an error that has this code."""
    return error_response(status, {"code": code, "message": "No.", **members})


def not_found_of(error: RecipientFieldsError) -> NotFound:
    return OrganizationNotFound if isinstance(error, OrganizationNotFound) else FieldNotFound


BATCH = Batch((CreateField(FieldDraft(name="City", data_type="text")), DeleteField(FieldId(7))))
BATCH_EXAMPLES: list[RecipientFieldsError] = [
    OrganizationNotFound(),
    InsufficientAccess(),
    CatalogChanged("1-19c8a1f5b7b"),
    BatchRejected({0: KeyRepeated(FieldKey("city")), 1: FieldNotFound()}),
    BatchRejected({0: KeyTaken(FieldKey("city"), FieldId(7)), 1: VersionConflict(None)}),
    BatchRejected({1: CatalogTooLarge(8_388_608, 8_388_500)}),
    BatchRejected({1: OperationForbidden("Manual fields are changed by administrators.")}),
    BatchRejected(
        {
            0: InvalidField(
                [
                    Violation(Rule.TYPE, "No.", ("allowed_values", 12)),
                    Violation(Rule.FORMAT, "So.", ("key",), "first_name"),
                ]
            ),
            1: FieldLimitReached(1_000_000),
        }
    ),
    StorageUnavailable("The service is temporarily unavailable. Retry shortly."),
]


@pytest.mark.parametrize("sentence", ["The API key expired on 2026-10-01.", "It was lost."])
def test_a_refused_key_has_the_explanation_of_the_service(sentence):
    challenge = f'Bearer realm="a", error="invalid_token", error_description="{sentence}"'
    unauthorized = problem("unauthorized", headers={"WWW-Authenticate": challenge})
    error = error_of(response_with(unauthorized), FieldNotFound)
    assert (type(error), str(error)) == (KeyRefused, f"{sentence} Use a valid key.")


def test_the_examples_contain_every_error_with_a_response():
    only_of_batches = {CatalogChanged, KeyRepeated, InvalidDocument}
    not_implemented = {MissingGroup}  # It is RequestRefused, like other responses with 501.
    assert {type(error) for error in EXAMPLES} == CODES.keys() - only_of_batches - not_implemented


def test_a_service_without_a_history_refuses_the_request():
    response = response_with(problem_of(MissingGroup(StorageGroup.HISTORY)))
    error = error_of(response, OrganizationNotFound)
    assert isinstance(error, RequestRefused)
    assert (error.code, str(error)) == ("not_implemented", "This service has no history of fields.")


@pytest.mark.parametrize("error", BATCH_EXAMPLES, ids=repr)
def test_the_client_raises_the_same_error_of_a_batch_as_the_service(error):
    rebuilt = error_of(response_with(problem_of(error)), OrganizationNotFound, BATCH)
    assert contents(rebuilt) == contents(error)


def contents(error: RecipientFieldsError) -> object:
    """Return the class, the attributes and the message of an error and of the errors in it."""
    if isinstance(error, BatchRejected):
        return {index: contents(each) for index, each in error.failures.items()}
    attributes = {name: each for name, each in vars(error).items() if name != "__notes__"}
    return type(error), attributes, str(error)


@pytest.mark.parametrize("pointer", ["/operations", "/if_revision", ""])
def test_an_invalid_batch_raises_request_refused(pointer):
    detail = {"pointer": pointer, "code": "empty", "message": "Send at least one operation."}
    response = refused(422, "validation_failed", details=[detail])
    error = error_of(response, OrganizationNotFound, BATCH)
    assert (type(error), str(error)) == (RequestRefused, "Send at least one operation.")


ABSENT_OPERATION = {"pointer": "/operations/2", "code": "not_found", "message": "No."}


@pytest.mark.parametrize(
    "response",
    [refused(412, "precondition_failed"), refused(412, "not_found", details=[ABSENT_OPERATION])],
    ids=["no entity tag", "an operation that the batch does not have"],
)
def test_an_invalid_error_of_a_batch_raises_storage_unavailable(response):
    assert type(error_of(response, OrganizationNotFound, BATCH)) is StorageUnavailable


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_the_client_raises_the_same_error_as_the_service(error):
    rebuilt = error_of(response_with(problem_of(error)), not_found_of(error))
    assert contents(rebuilt) == contents(error)


@pytest.mark.parametrize("code", sorted(STATUSES.keys() - set(CODES.values())))
def test_every_other_code_has_an_error(code):
    rebuilt = error_of(response_with(problem(code, "Sentence.")), FieldNotFound)
    assert type(rebuilt) is ERRORS_BY_CODE.get(code, RequestRefused)
    if isinstance(rebuilt, RequestRefused):
        assert (rebuilt.code, str(rebuilt)) == (code, "Sentence.")


def test_an_unknown_code_is_an_error_by_its_status():
    assert type(error_of(refused(403, "quota_reached"), FieldNotFound)) is RequestRefused
    assert type(error_of(refused(500, "quota_reached"), FieldNotFound)) is StorageUnavailable


@pytest.mark.parametrize("pointers", [["/literals/0"], ["/content", "/surface"]])
def test_violations_of_no_value_or_of_several_values_raise_request_refused(pointers):
    details = [{"pointer": each, "code": "blank", "message": f"No {each}."} for each in pointers]
    error = error_of(refused(422, "validation_failed", details=details), OrganizationNotFound)
    assert isinstance(error, RequestRefused)
    assert error.code == "validation_failed"
    assert all(f"No {each}." in str(error) for each in pointers)


def test_an_unknown_rule_is_reported_as_format():
    detail = {"pointer": "/recipient_field/name", "code": "rude", "message": "Be kind."}
    invalid = error_of(refused(422, "validation_failed", details=[detail]), FieldNotFound)
    assert isinstance(invalid, InvalidField)
    assert invalid.violations == (Violation(Rule.FORMAT, "Be kind.", ("name",)),)


@pytest.mark.parametrize(("sent", "limit"), [({"limit": 7}, 7), ({}, 0), ({"limit": None}, 0)])
def test_the_limit_of_fields_is_a_member_or_0_if_an_older_service_does_not_send_it(sent, limit):
    reached = error_of(refused(409, "field_limit_reached", **sent), OrganizationNotFound)
    assert isinstance(reached, FieldLimitReached)
    assert reached.limit == limit


def test_an_error_has_a_note_with_the_request_id():
    error = error_of(response_with(problem("not_found"), "4f1e6c0a"), FieldNotFound)
    assert error.__notes__ == ["Request id: 4f1e6c0a"]


def test_an_invalid_request_id_is_not_in_a_note():
    error = error_of(response_with(problem("not_found"), "\x1b[2J" * 9), FieldNotFound)
    assert not hasattr(error, "__notes__")


INVALID_RESPONSES = {
    "not JSON": Response(404, {"Content-Type": "text/html"}, b'{"error": {"code": "not_found"}}'),
    "no media type": Response(404, {}, b'{"error": {"code": "not_found", "message": ""}}'),
    "truncated": json_response(404, b'{"error": {"code": "not_'),
    "not UTF-8": json_response(404, b'{"error": "\xff"}'),
    "nested too deep": json_response(404, b"[" * 100_000),
    "NaN": json_response(404, b'{"error": NaN}'),
    "an array": json_response(404, b"[]"),
    "an error that is not an object": error_response(404, "not_found"),
    "no message": error_response(404, {"code": "not_found"}),
    "a code that is not a string": refused(404, 404),
    "forbidden without a reason": refused(403, "forbidden"),
    "a taken key without details": refused(409, "key_already_exists"),
    "an existing id that is not an integer": refused(
        409, "key_already_exists", details=[{"existing_id": True, "existing_key": "city"}]
    ),
    "a refused condition without details": refused(422, "not_expressible", details=[]),
    "a taken key with empty details": refused(409, "key_already_exists", details=[]),
    "details that are not objects": refused(422, "validation_failed", details=[5]),
}


@pytest.mark.parametrize("response", INVALID_RESPONSES.values(), ids=INVALID_RESPONSES)
def test_an_invalid_response_raises_storage_unavailable(response):
    error = error_of(response, FieldNotFound)
    assert type(error) is StorageUnavailable
    assert str(response.status) in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["code", "message", "details", "reason", "pointer", "request_id"]),
            inner,
            max_size=4,
        )
    ),
)


@given(
    status=st.sampled_from([400, 401, 403, 404, 409, 412, 422, 500, 503]),
    code=st.sampled_from([*STATUSES, "other"]),
    rest=JSON,
    details=JSON,
)
def test_any_error_response_is_converted_to_an_error_of_the_library(status, code, rest, details):
    error = {"message": "No.", "details": details, "reason": rest, "code": code}
    for document, batch in product((error, rest), (None, BATCH)):
        converted = error_of(error_response(status, document), FieldNotFound, batch)
        assert isinstance(converted, RecipientFieldsError)
