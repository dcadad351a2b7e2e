"""Every refusal of the service becomes the error that caused it, with all that the wire carries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recipient_fields.adapters.client import RequestRefused
from recipient_fields.adapters.client.connections import Response
from recipient_fields.adapters.client.errors import Context, error_of
from recipient_fields.application import InvalidDocument
from recipient_fields.domain import (
    FieldId,
    FieldKey,
    FieldLimitReached,
    FieldNotFound,
    InsufficientAccess,
    InvalidField,
    KeyRefused,
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
            Violation(Rule.RESERVED, "This key is reserved. Send another key.", ("key",)),
            Violation(Rule.FORMAT, "So.", ("key",), "first_name"),
            Violation(Rule.TYPE, "No.", ("allowed_values", 12)),
            Violation(Rule.READ_ONLY, "No.", ("a/b~1", "c", 0)),
            Violation(Rule.READ_ONLY, "No.", ("7",)),
        ]
    ),
    InvalidField([Violation(rule, "No.") for rule in Rule]),
    FieldNotFound(),
    OrganizationNotFound(),
    OperationForbidden("Manual fields are changed by administrators, not through the API."),
    InsufficientAccess(),
    KeyTaken(FieldKey("city"), FieldId(2**53 - 1)),
    FieldLimitReached(1_000_000),
    VersionConflict("7-19c8a1f5b7b"),
    VersionConflict(None),
    VersionConflict("7-19c8a1f5b7b", "The field already exists."),
    StorageUnavailable("The service is temporarily unavailable. Retry shortly."),
    KeyValidationUnavailable(
        "Authentication is temporarily unavailable. Retry shortly with the same API key."
    ),
]
KINDS = {
    "unauthorized": KeyRefused,
    "internal_error": StorageUnavailable,
    "overloaded": StorageUnavailable,
    "request_timeout": StorageUnavailable,
}
"""What codes mean that no error of the core has."""


def answered(problem: Problem, request_id: str = "a-1") -> Response:
    headers = {"Content-Type": "application/json", **problem.headers}
    return Response(problem.status, headers, render_error(problem, request_id))


def told(status: int, error: Any, **headers: str) -> Response:
    body = json.dumps({"error": error}).encode()
    return Response(status, {"Content-Type": "application/json", **headers}, body)


def as_asked(error: RecipientFieldsError) -> Context:
    absent = type(error) if isinstance(error, OrganizationNotFound) else FieldNotFound
    return Context(absent, FieldKey("city"))


def test_there_is_an_example_of_every_error_that_the_service_answers():
    assert {type(error) for error in EXAMPLES} == CODES.keys() - {InvalidDocument}


@pytest.mark.parametrize("error", EXAMPLES, ids=repr)
def test_an_error_comes_back_as_it_was_raised(error):
    rebuilt = error_of(answered(problem_of(error)), as_asked(error))
    assert type(rebuilt) is type(error)
    assert {k: v for k, v in vars(rebuilt).items() if k != "__notes__"} == vars(error)
    assert str(rebuilt) == str(error)


@pytest.mark.parametrize("code", sorted(STATUSES.keys() - set(CODES.values())))
def test_every_other_code_has_its_meaning(code):
    rebuilt = error_of(answered(problem(code, "Sentence.")), Context(FieldNotFound))
    assert type(rebuilt) is KINDS.get(code, RequestRefused)
    if isinstance(rebuilt, RequestRefused):
        assert (rebuilt.code, str(rebuilt)) == (code, "Sentence.")


def test_a_code_of_a_later_service_is_a_refusal_or_an_outage():
    error = {"code": "quota_reached", "message": "Wait."}
    assert type(error_of(told(403, error), Context(FieldNotFound))) is RequestRefused
    assert type(error_of(told(500, error), Context(FieldNotFound))) is StorageUnavailable


def test_a_rule_of_a_later_service_is_a_matter_of_format():
    detail = {"pointer": "/recipient_field/name", "code": "rude", "message": "Be kind."}
    error = {"code": "validation_failed", "message": "No.", "details": [detail]}
    invalid = error_of(told(422, error), Context(FieldNotFound))
    assert isinstance(invalid, InvalidField)
    assert invalid.violations == (Violation(Rule.FORMAT, "Be kind.", ("name",)),)


def test_a_limit_that_is_not_told_is_0():
    error = {"code": "field_limit_reached", "message": "Enough."}
    reached = error_of(told(409, error), Context(OrganizationNotFound))
    assert isinstance(reached, FieldLimitReached)
    assert reached.limit == 0


def test_the_id_of_the_request_is_noted():
    refused = error_of(answered(problem("not_found"), "4f1e6c0a"), Context(FieldNotFound))
    assert refused.__notes__ == ["Request id: 4f1e6c0a"]


def test_what_is_no_request_id_is_not_noted():
    refused = error_of(answered(problem("not_found"), "\x1b[2J" * 9), Context(FieldNotFound))
    assert not hasattr(refused, "__notes__")


UNLIKE_THE_CONTRACT = {
    "no JSON": Response(404, {"Content-Type": "text/html"}, b'{"error": {"code": "not_found"}}'),
    "no media type": Response(404, {}, b'{"error": {"code": "not_found", "message": ""}}'),
    "cut off": Response(404, {"Content-Type": "application/json"}, b'{"error": {"code": "not_'),
    "not UTF-8": Response(404, {"Content-Type": "application/json"}, b'{"error": "\xff"}'),
    "deep": Response(404, {"Content-Type": "application/json"}, b"[" * 100_000),
    "no number": Response(404, {"Content-Type": "application/json"}, b'{"error": NaN}'),
    "an array": Response(404, {"Content-Type": "application/json"}, b"[]"),
    "an error that is no object": told(404, "not_found"),
    "no message": told(404, {"code": "not_found"}),
    "a code that is no string": told(404, {"code": 404, "message": "No."}),
    "forbidden without a reason": told(403, {"code": "forbidden", "message": "No."}),
    "a taken key without its holder": told(409, {"code": "key_already_exists", "message": "No."}),
    "a holder that is no id": told(
        409,
        {"code": "key_already_exists", "message": "No.", "details": [{"existing_id": True}]},
    ),
    "a taken key without details": told(
        409, {"code": "key_already_exists", "message": "No.", "details": []}
    ),
    "violations that are none": told(
        422, {"code": "validation_failed", "message": "No.", "details": [5]}
    ),
}


@pytest.mark.parametrize("answer", UNLIKE_THE_CONTRACT.values(), ids=UNLIKE_THE_CONTRACT)
def test_what_the_contract_does_not_know_is_an_outage(answer):
    error = error_of(answer, Context(FieldNotFound, FieldKey("city")))
    assert type(error) is StorageUnavailable
    assert str(answer.status) in str(error)


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
def test_whatever_is_told_is_an_error_of_ours(status, code, rest, details):
    error = {"message": "No.", "details": details, "reason": rest, "code": code}
    for told_error in (error, rest):
        refused = error_of(told(status, told_error), Context(FieldNotFound, FieldKey("city")))
        assert isinstance(refused, RecipientFieldsError)
