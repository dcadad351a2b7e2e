"""The violations of every member, and all of them at once.

The tests of the domain check which values are valid. These check that a request reports violations.
"""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import Rule

from ..api import FIELDS, Api, ApiResponse

STORAGES = ("memory",)  # These requests do not reach the storage.

CITY = {"name": "City", "data_type": "text"}
METHODS = ("POST", "PATCH", "PUT")
CODES = """
    required type unknown_value out_of_range blank too_long format reserved immutable read_only
    unknown_field empty too_many_items too_large duplicate_item not_applicable
    invalid_characters mismatch
"""


def at(member: str, code: str) -> list[str]:
    return [f"/recipient_field/{member}: {code}"]


def send(api: Api, method: str, members: object) -> ApiResponse:
    """Create a field, or change or replace `city`."""
    match method:
        case "POST":
            return api.post(members)
        case "PATCH":
            return api.patch("city", members)
    return api.put("city", members)


def with_values(data_type: str, values: object) -> dict[str, object]:
    return {"name": "City", "data_type": data_type, "allowed_values": values}


def test_the_codes_are_those_of_the_contract():
    assert {rule.value for rule in Rule} == set(CODES.split())


# One member.


ESP_OUTPUT = ("custom_insertion_code", "custom_value_expression")
NOT_BOOLEAN: list[object] = [None, 0, 1, "true", [], {}]
INVALID: list[tuple[str, object, str]] = [
    ("name", None, "type"),
    ("name", " \t\u3000", "blank"),
    ("name", "n" * 256, "too_long"),
    ("name", "a\ud800b", "invalid_characters"),
    ("allowed_values", "abc", "type"),
    ("allowed_values", {}, "type"),
    ("allowed_values", [], "empty"),
    ("allowed_values", ["a"] * 1_001, "too_many_items"),
    *(("insertable", value, "type") for value in NOT_BOOLEAN),
    *((member, 5, "type") for member in ESP_OUTPUT),
    *((member, "", "blank") for member in ESP_OUTPUT),
    *((member, "c" * 10_001, "too_long") for member in ESP_OUTPUT),
    *((member, "a\0", "invalid_characters") for member in ESP_OUTPUT),
]


@pytest.mark.parametrize(("member", "value", "code"), INVALID)
@pytest.mark.parametrize("method", METHODS)
def test_an_invalid_value_is_rejected(
    api: Api, city, method: str, member: str, value: object, code: str
):
    before = api.state()
    assert send(api, method, {**CITY, member: value}).violations == at(member, code)
    assert api.state() == before


@pytest.mark.parametrize(
    ("member", "value", "code"),
    [
        ("key", None, "type"),
        ("key", 5, "type"),
        ("key", " ", "blank"),
        ("key", "k" * 64, "too_long"),
        ("key", "City", "format"),
        ("key", "null", "reserved"),
        ("key", "a\0", "invalid_characters"),
        ("data_type", None, "type"),
        ("data_type", "string", "unknown_value"),
    ],
)
def test_an_invalid_value_of_a_new_field_is_rejected(
    api: Api, member: str, value: object, code: str
):
    assert api.post({**CITY, member: value}).violations == at(member, code)
    assert api.list().fields == []


@pytest.mark.parametrize("member", ["name", "data_type"])
def test_name_and_data_type_are_required(api: Api, member: str):
    members = {name: value for name, value in CITY.items() if name != member}
    assert api.post({**members, "key": "k"}).violations == at(member, "required")
    assert api.put("k", members).violations == at(member, "required")


def test_esp_output_is_stored_unchanged(api: Api):
    text = '  {{ contact.FNAME\u0301 }}\r\n\t\u2028</script> \\ " \U0010ffff\x01'
    members = {"custom_insertion_code": text, "custom_value_expression": text}
    stored = api.post({**CITY, **members}).field
    assert {**stored, **members} == stored == api.get("city").field


# Allowed values.


@pytest.mark.parametrize(
    ("data_type", "values", "violations"),
    [
        ("text", ["b", " a"], ["/1: format"]),
        (
            "number",
            [1, "2", 1, None, 2**53, 2],
            ["/1: type", "/2: duplicate_item", "/3: type", "/4: out_of_range"],
        ),
        ("boolean", [True], [": not_applicable"]),
        ("date", ["2026-11-20", "2026-02-30"], ["/1: format"]),
        ("datetime", ["2026-11-20T00:00:00Z", "2026-11-20"], ["/1: format"]),
    ],
)
def test_every_wrong_value_is_reported(api: Api, data_type: str, values, violations: list[str]):
    response = api.post(with_values(data_type, values))
    assert response.violations == [
        f"/recipient_field/allowed_values{violation}" for violation in violations
    ]


@pytest.mark.parametrize(
    ("data_type", "values", "stored"),
    [
        ("text", ["b", "B", "Gro\u0308ße"], ["b", "B", "Gr\u00f6ße"]),
        ("number", [2, 1.0, -0.0, 1.5, 5e-324], [2, 1, 0, 1.5, 5e-324]),
        ("date", ["2026-11-20", "0001-01-01"], ["2026-11-20", "0001-01-01"]),
        ("datetime", ["2026-11-20T10:15:00.1+01:00"], ["2026-11-20T09:15:00.100Z"]),
        ("boolean", None, None),
    ],
)
def test_allowed_values_are_stored_in_order_and_normalized(
    api: Api, data_type: str, values: list[object], stored: list[object]
):
    assert repr(api.post(with_values(data_type, values)).field["allowed_values"]) == repr(stored)
    assert repr(api.get("city").field["allowed_values"]) == repr(stored)


# The document.


@pytest.mark.parametrize(
    ("body", "violations"),
    [
        *[(body, [": type"]) for body in ("[]", "null", "5", '"recipient_field"')],
        ("{}", ["/recipient_field: required"]),
        *[
            (f'{{"recipient_field": {value}}}', ["/recipient_field: type"])
            for value in ("[]", "null", "5", '"a"', "[{}]")
        ],
        (
            '{"recipient_fields": [], "recipient_field": {"name": "a", "data_type": "text"}}',
            ["/recipient_fields: unknown_field"],
        ),
        (
            '{"recipient_field": {"name": "a", "data_type": "text", "a/b~c": 1, "": 2}}',
            [*at("", "unknown_field"), *at("a~1b~0c", "unknown_field")],
        ),
        (
            '{"recipient_field": {"name": "a", "data_type": "text", "a\\u0000": 1}}',
            ["/recipient_field: invalid_characters"],
        ),
    ],
)
@pytest.mark.parametrize("method", METHODS)
def test_a_document_has_an_envelope_and_known_members(
    api: Api, city, method: str, body: str, violations: list[str]
):
    path = FIELDS if method == "POST" else f"{FIELDS}/city"
    assert api.send(method, path, body).violations == violations


def test_forbidden_characters_are_reported_at_any_depth(api: Api):
    body = (
        '{"\\ud800": 1, "recipient_field": {"name": "a", "data_type": "text",'
        ' "allowed_values": ["a", "\\udc00", {"b\\u0000": [["\\ud800"]]}, [["\\u0000"]]]}}'
    )
    violations = api.send("POST", FIELDS, body).violations
    assert [each for each in violations if "_characters" in each] == [
        *at("allowed_values/1", "invalid_characters"),
        *at("allowed_values/2", "invalid_characters"),
        *at("allowed_values/3/0/0", "invalid_characters"),
        ": invalid_characters",
    ]


def test_surrogate_pairs_are_accepted(api: Api):
    body = '{"recipient_field": {"name": "\\ud83d\\ude00", "key": "city", "data_type": "text"}}'
    assert api.send("POST", FIELDS, body).field["name"] == "😀"


# Several violations.

WRONG: dict[str, Any] = {
    "name": " ",
    "key": "City",
    "data_type": "string",
    "allowed_values": [],
    "insertable": "true",
    "custom_insertion_code": 5,
    "custom_value_expression": "",
    "id": 1,
    "source": "manual",
    "integration_id": 7,
    "esp_field_name": "CITY",
    "created_at": "2026-11-20T09:15:00.123Z",
    "updated_at": "2026-11-20T09:15:00.123Z",
    "label": "a",
}


OF_ANY_CHANGE = [
    *at("name", "blank"),
    *at("allowed_values", "empty"),
    *at("insertable", "type"),
    *at("custom_insertion_code", "type"),
    *at("custom_value_expression", "blank"),
    *at("label", "unknown_field"),
]
"""The violations of `WRONG` that do not depend on the stored field."""
READ_ONLY = ("id", "source", "integration_id", "esp_field_name", "created_at", "updated_at")


@pytest.mark.parametrize(
    ("method", "others"),
    [
        (
            "POST",
            [
                *at("key", "format"),
                *at("data_type", "unknown_value"),
                *(f"/recipient_field/{member}: read_only" for member in READ_ONLY),
            ],
        ),
        ("PATCH", []),
        ("PUT", [*at("key", "mismatch"), *at("data_type", "unknown_value")]),
    ],
)
def test_all_violations_of_a_document_are_reported_at_once(
    api: Api, city, method: str, others: list[str]
):
    assert send(api, method, WRONG).violations == sorted([*OF_ANY_CHANGE, *others])


def test_all_violations_against_the_stored_field_are_reported_at_once(api: Api, city):
    read_only_members = {
        name: WRONG[name] for name in ("key", "data_type", "source", "updated_at", "id")
    }
    response = api.patch(
        "city", {**read_only_members, "id": 999, "updated_at": None, "allowed_values": [1]}
    )
    assert response.violations == sorted(
        [
            *at("key", "immutable"),
            *at("data_type", "immutable"),
            *at("source", "read_only"),
            *at("updated_at", "read_only"),
            *at("id", "read_only"),
            *at("allowed_values/0", "type"),
        ]
    )


def test_violations_of_known_members_are_reported_before_unknown_members(api: Api):
    response = api.post({**{f"x{n}": 1 for n in range(1_000)}, "name": " ", "data_type": "texx"})
    violations = [(detail["pointer"], detail["code"]) for detail in response.error["details"]]
    assert len(violations) == 1_000
    assert {
        ("/recipient_field/name", "blank"),
        ("/recipient_field/data_type", "unknown_value"),
    } <= set(violations)


def test_no_message_repeats_a_value_of_the_request(api: Api, city):
    document = dict.fromkeys([*city, "Zanzibar"], "Zanzibar")
    for send in (api.post, lambda members: api.patch("city", members)):
        for members in (document, {**city, "name": "Zanzibar", "source": "Zanzibar"}, ["Zanzibar"]):
            assert not any("Zanzibar" in sentence for sentence in send(members).messages)


@pytest.mark.parametrize(
    ("members", "pointer", "suggestion"),
    [
        ({"key": "First Name"}, "/recipient_field/key", "first_name"),
        ({"key": "loyalty-tier"}, "/recipient_field/key", "loyalty_tier"),
        ({"key": "日本"}, "/recipient_field/key", None),
        ({"key": "Null"}, "/recipient_field/key", None),
        ({"insertible": True}, "/recipient_field/insertible", "insertable"),
        ({"colour": "red"}, "/recipient_field/colour", None),
        ({"data_type": "boolaen"}, "/recipient_field/data_type", "boolean"),
        ({"data_type": "money"}, "/recipient_field/data_type", None),
    ],
)
def test_a_similar_name_or_value_is_suggested(
    api: Api, members: dict[str, object], pointer: str, suggestion: str | None
):
    response = api.post({"name": "City", "data_type": "text", **members})
    (detail,) = [d for d in response.error["details"] if d["pointer"] == pointer]
    assert detail.get("suggestion") == suggestion
