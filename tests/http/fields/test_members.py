"""The violations of every member, and all of them at once.

The tests of the domain check which values are valid. These check that a request reports violations.
"""

from __future__ import annotations

from itertools import cycle

import pytest

from recipient_fields.domain import Rule

from ..api import FIELDS
from ..stories import Members, Story, outcome, stories

STORAGES = ("memory",)  # These requests do not reach the storage.

CITY: Members = {"name": "City", "data_type": "text"}
REQUESTS = ("POST", "PATCH {key}", "PUT {key}")
CODES = """
    required type unknown_value out_of_range blank too_long format reserved immutable read_only
    unknown_field empty too_many_items too_large duplicate_item not_applicable
    invalid_characters mismatch
"""


def test_the_codes_are_those_of_the_contract():
    assert {rule.value for rule in Rule} == set(CODES.split())


NOT_BOOLEAN: tuple[object, ...] = (None, 0, 1, "true", [], {})
INVALID: list[tuple[str, object, str]] = [
    *(("name", value, "type") for value in (None, 5)),
    ("name", " \t\u3000", "blank"),
    ("name", "n" * 256, "too_long"),
    ("name", "a\ud800b", "invalid_characters"),
    ("allowed_values", "abc", "type"),
    ("allowed_values", {}, "type"),
    ("allowed_values", [], "empty"),
    ("allowed_values", ["a"] * 1_001, "too_many_items"),
    *(("insertable", value, "type") for value in NOT_BOOLEAN),
    *(
        (member, value, code)
        for member in ("custom_insertion_code", "custom_value_expression")
        for value, code in {
            5: "type",
            "": "blank",
            "c" * 10_001: "too_long",
            "a\0": "invalid_characters",
        }.items()
    ),
]
"""Each is sent with the next method, so each member is sent with all of them."""
OF_NEW_FIELDS: list[tuple[str, object, str]] = [
    *(("key", value, "type") for value in (None, 5)),
    ("key", " ", "blank"),
    ("key", "k" * 64, "too_long"),
    ("key", "City", "format"),
    ("key", "null", "reserved"),
    ("key", "a\0", "invalid_characters"),
    ("data_type", None, "type"),
    ("data_type", "string", "unknown_value"),
]
ENVELOPES: dict[str, list[str]] = {
    **{body: [": type"] for body in ("[]", "null", "5", '"recipient_field"')},
    "{}": ["/recipient_field: required"],
    **{
        f'{{"recipient_field": {value}}}': ["/recipient_field: type"]
        for value in ("[]", "null", "5", '"a"', "[{}]")
    },
    '{"recipient_fields": [], "recipient_field": {"name": "a", "data_type": "text"}}': [
        "/recipient_fields: unknown_field"
    ],
    '{"recipient_field": {"name": "a", "data_type": "text", "a/b~c": 1, "": 2}}': [
        "a~1b~0c: unknown_field",
        "/recipient_field/: unknown_field",
    ],
    '{"recipient_field": {"name": "a", "data_type": "text", "a\\u0000": 1}}': [
        "/recipient_field: invalid_characters"
    ],
}


WRONG: Members = {
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
    "name: blank",
    "allowed_values: empty",
    "insertable: type",
    "custom_insertion_code: type",
    "custom_value_expression: blank",
    "label: unknown_field",
]
READ_ONLY = ("id", "source", "integration_id", "esp_field_name", "created_at", "updated_at")
OF_WRONG = {
    "POST": [
        *OF_ANY_CHANGE,
        "key: format",
        "data_type: unknown_value",
        *(f"{member}: read_only" for member in READ_ONLY),
    ],
    "PATCH {key}": OF_ANY_CHANGE,
    "PUT {key}": [*OF_ANY_CHANGE, "key: mismatch", "data_type: unknown_value"],
}
"""The violations of `WRONG`. A change reports those against the stored field later."""


@stories(
    {
        **{
            f"{request} with {member} {value!a:.20}": Story(
                request, {**CITY, member: value}, [f"{member}: {code}"]
            )
            for request, (member, value, code) in zip(cycle(REQUESTS), INVALID)
        },
        **{
            f"POST with {member} {value!a:.20}": Story(
                "POST", {**CITY, member: value}, [f"{member}: {code}"]
            )
            for member, value, code in OF_NEW_FIELDS
        },
        **{
            f"{request} without {member}": Story(
                request, {"key": "k", other: CITY[other]}, [f"{member}: required"]
            )
            for request in ("POST", "PUT k")
            for member, other in (("name", "data_type"), ("data_type", "name"))
        },
        **{
            f"the allowed values {values} of the type {data_type}": Story(
                "POST",
                {"name": "City", "data_type": data_type, "allowed_values": values},
                [f"allowed_values{violation}" for violation in violations],
            )
            for data_type, values, violations in (
                ("text", ["b", " a"], ["/1: format"]),
                (
                    "number",
                    [1, "2", 1, None, 2**53, 2],
                    ["/1: type", "/2: duplicate_item", "/3: type", "/4: out_of_range"],
                ),
                ("boolean", [True], [": not_applicable"]),
                ("date", ["2026-11-20", "2026-02-30"], ["/1: format"]),
                ("datetime", ["2026-11-20T00:00:00Z", "2026-11-20"], ["/1: format"]),
            )
        },
        **{
            f"{request} with the body {body}": Story(request, body, violations)
            for request in REQUESTS
            for body, violations in ENVELOPES.items()
        },
        **{
            f"{request} with a violation of each member": Story(request, WRONG, violations)
            for request, violations in OF_WRONG.items()
        },
        "PATCH with other values of members that can't change": Story(
            "PATCH {key}",
            {
                **{name: WRONG[name] for name in ("key", "data_type", "source")},
                "id": 999,
                "updated_at": None,
                "allowed_values": [1],
            },
            [
                *("key: immutable", "data_type: immutable", "source: read_only"),
                *("id: read_only", "updated_at: read_only", "allowed_values/0: type"),
            ],
        ),
    }
)
def test_an_invalid_member_or_document_is_rejected(api, city, story):
    before = api.state()
    assert sorted(outcome(story.send(api, city))) == sorted(story.outcome)
    assert api.state() == before


def test_esp_output_is_stored_unchanged(api):
    text = '  {{ contact.FNAME\u0301 }}\r\n\t\u2028</script> \\ " \U0010ffff\x01'
    members = {"custom_insertion_code": text, "custom_value_expression": text}
    stored = api.post({**CITY, **members}).field
    assert {**stored, **members} == stored == api.get("city").field


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
def test_allowed_values_are_stored_in_order_and_normalized(api, data_type, values, stored):
    created = api.post({"name": "City", "data_type": data_type, "allowed_values": values}).field
    assert repr(created["allowed_values"]) == repr(stored)
    assert repr(api.get("city").field["allowed_values"]) == repr(stored)


def test_forbidden_characters_are_reported_at_any_depth(api):
    body = (
        '{"\\ud800": 1, "recipient_field": {"name": "a", "data_type": "text",'
        ' "allowed_values": ["a", "\\udc00", {"b\\u0000": [["\\ud800"]]}, [["\\u0000"]]]}}'
    )
    found = outcome(api.send("POST", FIELDS, body))
    assert sorted(each for each in map(str, found) if "_characters" in each) == [
        ": invalid_characters",
        *(f"allowed_values/{item}: invalid_characters" for item in ("1", "2", "3/0/0")),
    ]


def test_surrogate_pairs_are_accepted(api):
    body = '{"recipient_field": {"name": "\\ud83d\\ude00", "key": "city", "data_type": "text"}}'
    assert api.send("POST", FIELDS, body).field["name"] == "😀"


def test_violations_of_known_members_are_reported_before_unknown_members(api):
    response = api.post({**{f"x{n}": 1 for n in range(1_000)}, "name": " ", "data_type": "texx"})
    violations = [(detail["pointer"], detail["code"]) for detail in response.error["details"]]
    assert len(violations) == 1_000
    assert {
        ("/recipient_field/name", "blank"),
        ("/recipient_field/data_type", "unknown_value"),
    } <= set(violations)


def test_no_message_repeats_a_value_of_the_request(api, city):
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
def test_a_similar_name_or_value_is_suggested(api, members, pointer, suggestion):
    response = api.post({"name": "City", "data_type": "text", **members})
    (detail,) = [d for d in response.error["details"] if d["pointer"] == pointer]
    assert detail.get("suggestion") == suggestion
