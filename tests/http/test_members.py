"""The rules of every member, and all violations at once (HTTP contract, sections 2, 4 and 6)."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import RESERVED_KEYS, Rule

from .api import FIELDS, Api

STORAGES = ("memory",)  # These requests do not reach the storage.

CITY = {"name": "City", "data_type": "text"}
NOT_TEXT: list[object] = [None, 5, 1.5, True, [], ["City"], {}]
CODES = """
    required type unknown_value out_of_range blank too_long format reserved immutable read_only
    unknown_field empty too_many_items duplicate_item not_applicable invalid_characters mismatch
"""


def at(member: str, code: str) -> list[str]:
    return [f"/recipient_field/{member}: {code}"]


def test_the_codes_are_those_of_the_contract():
    assert {rule.value for rule in Rule} == set(CODES.split())


# Rules for texts.

BAD_TEXTS = [
    ("name", "", "blank"),
    ("name", " \t\u3000\u00a0", "blank"),
    ("name", "n" * 256, "too_long"),
    ("name", "a\nb", "invalid_characters"),
    ("name", "a\x7fb", "invalid_characters"),
    ("name", "a\x85b", "invalid_characters"),
    ("name", "a\u2028b", "invalid_characters"),
    ("name", "a\u2029b", "invalid_characters"),
    ("name", "a\0b", "invalid_characters"),
    ("name", "a\ud800b", "invalid_characters"),
    ("key", "", "blank"),
    ("key", " ", "blank"),
    ("key", "k" * 64, "too_long"),
    *[
        ("key", key, "format")
        for key in ("City", "1st", "_a", "a_", "a__b", "a-b", "a b", "a\n", " a", "ä", "a.b", "٣")
    ],
    *[("key", key, "reserved") for key in sorted(RESERVED_KEYS)],
    ("key", "sys_a", "reserved"),
    ("key", "a\0", "invalid_characters"),
    ("data_type", "string", "unknown_value"),
    ("data_type", "Text", "unknown_value"),
    ("data_type", "text ", "unknown_value"),
    ("custom_insertion_code", "", "blank"),
    ("custom_insertion_code", " \r\n", "blank"),
    ("custom_insertion_code", "c" * 10_001, "too_long"),
    ("custom_insertion_code", "a\0", "invalid_characters"),
    ("custom_insertion_code", "a\udfff", "invalid_characters"),
    ("custom_value_expression", "", "blank"),
    ("custom_value_expression", "e" * 2_001, "too_long"),
    ("custom_value_expression", "a\0", "invalid_characters"),
]


@pytest.mark.parametrize(("member", "text", "code"), BAD_TEXTS)
def test_a_text_that_breaks_a_rule_is_rejected(api: Api, member: str, text: str, code: str):
    assert api.post({**CITY, member: text}).violations == at(member, code)
    assert api.list().fields == []


@pytest.mark.parametrize(
    ("member", "text", "code"), [bad for bad in BAD_TEXTS if bad[0] not in {"key", "data_type"}]
)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_the_same_rules_apply_to_changes(api: Api, city, method: str, member, text, code):
    send = {"PATCH": api.patch, "PUT": api.put}[method]
    before = api.state()
    assert send("city", {**CITY, member: text}).violations == at(member, code)
    assert api.state() == before


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("name", "n" * 255),
        ("name", "😀" * 255),
        ("key", "k" * 63),
        ("key", "sys"),
        ("key", "system_a"),
        ("key", "a1_2b_3"),
        ("key", "types"),
        ("custom_insertion_code", "c" * 10_000),
        ("custom_value_expression", "e" * 2_000),
    ],
)
def test_a_text_of_the_maximum_length_is_stored(api: Api, member: str, text: str):
    assert api.post({"key": "k", **CITY, member: text}).field[member] == text


@pytest.mark.parametrize("member", ["name", "key", "data_type"])
@pytest.mark.parametrize("value", NOT_TEXT)
def test_a_text_is_a_string_and_not_null(api: Api, member: str, value: object):
    assert api.post({"key": "k", **CITY, member: value}).violations == at(member, "type")


@pytest.mark.parametrize("member", ["custom_insertion_code", "custom_value_expression"])
@pytest.mark.parametrize("value", NOT_TEXT)
def test_esp_output_is_a_string_or_null(api: Api, member: str, value: object):
    response = api.post({**CITY, member: value})
    if value is None:
        assert response.field[member] is None
    else:
        assert response.violations == at(member, "type")


@pytest.mark.parametrize("value", [None, 0, 1, "true", "false", "", [], {}])
def test_insertable_is_a_boolean_and_not_null(api: Api, value: object):
    assert api.post({**CITY, "insertable": value}).violations == at("insertable", "type")


@pytest.mark.parametrize("member", ["name", "data_type"])
def test_name_and_data_type_are_required(api: Api, member: str):
    members = {name: value for name, value in CITY.items() if name != member}
    assert api.post({**members, "key": "k"}).violations == at(member, "required")
    assert api.put("k", members).violations == at(member, "required")


def test_a_name_is_trimmed_and_normalized(api: Api):
    assert api.post({**CITY, "name": " \tGro\u0308ße\n"}).field["name"] == "Gr\u00f6ße"


@pytest.mark.parametrize("member", ["custom_insertion_code", "custom_value_expression"])
def test_esp_output_is_stored_unchanged(api: Api, member: str):
    text = '  {{ contact.FNAME\u0301 }}\r\n\t\u2028</script> \\ " \U0010ffff\x01'
    assert api.post({**CITY, member: text}).field[member] == text
    assert api.get("city").field[member] == text


# Rules for allowed values.


def with_values(data_type: str, values: object) -> dict[str, object]:
    return {"name": "City", "data_type": data_type, "allowed_values": values}


@pytest.mark.parametrize("data_type", ["text", "number", "boolean", "date", "datetime"])
@pytest.mark.parametrize("values", ["abc", {}, {"a": 1}, 5, True, ""])
def test_allowed_values_are_an_array_or_null(api: Api, data_type: str, values: object):
    response = api.post(with_values(data_type, values))
    assert response.violations == at("allowed_values", "type")


@pytest.mark.parametrize("data_type", ["text", "number", "boolean", "date", "datetime"])
def test_null_allowed_values_do_not_restrict(api: Api, data_type: str):
    assert api.post(with_values(data_type, None)).field["allowed_values"] is None


@pytest.mark.parametrize("data_type", ["text", "number", "boolean", "date", "datetime"])
def test_an_empty_array_is_rejected(api: Api, data_type: str):
    assert api.post(with_values(data_type, [])).violations == at("allowed_values", "empty")


def test_violations_of_known_members_are_reported_before_unknown_members(api: Api):
    response = api.post({**{f"x{n}": 1 for n in range(1_000)}, "name": " ", "data_type": "texx"})
    violations = [(detail["pointer"], detail["code"]) for detail in response.error["details"]]
    assert len(violations) == 1_000
    assert {
        ("/recipient_field/name", "blank"),
        ("/recipient_field/data_type", "unknown_value"),
    } <= set(violations)


def test_a_thousand_values_are_allowed(api: Api):
    values = list(range(1_000, 0, -1))
    assert api.post(with_values("number", values)).field["allowed_values"] == values


def test_more_than_a_thousand_values_are_rejected(api: Api):
    response = api.post(with_values("number", list(range(1_001))))
    assert response.violations == at("allowed_values", "too_many_items")


@pytest.mark.parametrize("values", [[True], [True, False], ["true"], [None]])
def test_a_boolean_field_has_no_allowed_values(api: Api, values: object):
    response = api.post(with_values("boolean", values))
    assert response.violations == at("allowed_values", "not_applicable")


NOT_A_TEXT: list[object] = [None, 1, True, ["a"], {}]
NOT_A_NUMBER: list[object] = [None, "1", True, False, [1], {}]


@pytest.mark.parametrize(
    ("data_type", "value", "code"),
    [
        *[("text", value, "type") for value in NOT_A_TEXT],
        ("text", "", "blank"),
        ("text", "  ", "blank"),
        ("text", " a", "format"),
        ("text", "a\u3000", "format"),
        ("text", "a" * 256, "too_long"),
        ("text", "a\tb", "invalid_characters"),
        ("text", "a\u2028b", "invalid_characters"),
        ("text", "a\0", "invalid_characters"),
        ("text", "a\ud83d", "invalid_characters"),
        *[("number", value, "type") for value in NOT_A_NUMBER],
        ("number", 2**53, "out_of_range"),
        ("number", -(2**53), "out_of_range"),
        ("number", 1e16, "out_of_range"),
        ("number", 10**300, "out_of_range"),
        *[("date", value, "type") for value in (None, 20261120, True)],
        *[
            ("date", value, "format")
            for value in (
                "", " ", "2026-02-30", "2026-1-1", "20261120", "2026-11-20T00:00:00Z", "2026-W47-5",
                "٢٠٢٦-11-20", "2026-11-20\n", "0000-01-01",
            )
        ],
        *[("datetime", value, "type") for value in (None, 1795166100, True)],
        *[
            ("datetime", value, "format")
            for value in (
                "", "2026-11-20", "2026-11-20T09:15:00", "2026-11-20 09:15:00Z",
                "2026-11-20T09:15:00.1234Z", "2026-11-20T24:00:00Z", "2026-11-20T09:15Z",
                "2026-02-29T00:00:00Z", "2026-11-20T09:15:00+0100", "2026-11-20T09:15:00,1Z",
                "2026-11-20T09:15:00Z\n", "2026-11-20T09:15:61Z",
            )
        ],
        ("datetime", "0001-01-01T00:00:00+01:00", "out_of_range"),
        ("datetime", "9999-12-31T23:59:59-01:00", "out_of_range"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_have_the_type_is_rejected(
    api: Api, data_type: str, value: object, code: str
):
    valid = {"text": "b", "number": 1, "date": "2026-11-20", "datetime": "2026-11-20T00:00:00Z"}
    response = api.post(with_values(data_type, [valid[data_type], value]))
    assert response.violations == at("allowed_values/1", code)


@pytest.mark.parametrize(
    ("data_type", "values", "stored"),
    [
        ("text", ["b", "B", "a"], ["b", "B", "a"]),
        ("text", ["a" * 255], ["a" * 255]),
        ("text", ["Gro\u0308ße"], ["Gr\u00f6ße"]),
        ("number", [2, 1.0, -0.0, 1.5, 5e-324], [2, 1, 0, 1.5, 5e-324]),
        ("number", [2**53 - 1, -(2**53 - 1)], [2**53 - 1, -(2**53 - 1)]),
        ("date", ["2026-11-20", "0001-01-01"], ["2026-11-20", "0001-01-01"]),
        (
            "datetime",
            ["2026-11-20T10:15:00.1+01:00", "2026-11-20t09:15:00z"],
            ["2026-11-20T09:15:00.100Z", "2026-11-20T09:15:00.000Z"],
        ),
    ],
)
def test_allowed_values_are_stored_in_order_and_normalized(
    api: Api, data_type: str, values: list[object], stored: list[object]
):
    assert repr(api.post(with_values(data_type, values)).field["allowed_values"]) == repr(stored)
    assert repr(api.get("city").field["allowed_values"]) == repr(stored)


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        ("text", ["a", "b", "a"]),
        ("text", ["Gr\u00f6ße", "b", "Gro\u0308ße"]),
        ("number", [1, 2, 1.0]),
        ("number", [0, 2, -0.0]),
        ("date", ["2026-11-20", "2026-11-21", "2026-11-20"]),
        (
            "datetime",
            ["2026-11-20T09:15:00Z", "2026-11-20T00:00:00Z", "2026-11-20T10:15:00.000+01:00"],
        ),
    ],
)
def test_equal_values_in_different_forms_are_duplicates(
    api: Api, data_type: str, values: list[object]
):
    response = api.post(with_values(data_type, values))
    assert response.violations == at("allowed_values/2", "duplicate_item")


# Rules for the document.


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT"])
class TestADocument:
    @pytest.fixture
    def path(self, method: str) -> str:
        return FIELDS if method == "POST" else f"{FIELDS}/city"

    @pytest.mark.parametrize("body", ["[]", "null", "5", '"recipient_field"', "true", "1.5"])
    def test_must_be_an_object(self, api: Api, city, method: str, path: str, body: str):
        assert api.send(method, path, body).violations == [": type"]

    def test_must_have_the_envelope(self, api: Api, city, method: str, path: str):
        assert api.send(method, path, "{}").violations == ["/recipient_field: required"]

    @pytest.mark.parametrize("value", ["[]", "null", "5", '"a"', "true", "[{}]"])
    def test_must_have_an_object_in_its_envelope(
        self, api: Api, city, method: str, path: str, value
    ):
        response = api.send(method, path, f'{{"recipient_field": {value}}}')
        assert response.violations == ["/recipient_field: type"]

    def test_must_have_no_other_member_than_its_envelope(
        self, api: Api, city, method: str, path: str
    ):
        body = '{"recipient_fields": [], "recipient_field": {"name": "a", "data_type": "text"}}'
        assert api.send(method, path, body).violations == ["/recipient_fields: unknown_field"]

    def test_must_have_known_members_only(self, api: Api, city, method: str, path: str):
        body = '{"recipient_field": {"name": "a", "data_type": "text", "label": 1, "Name": 2}}'
        assert api.send(method, path, body).violations == [
            *at("Name", "unknown_field"),
            *at("label", "unknown_field"),
        ]

    def test_pointers_escape_the_names_of_members(self, api: Api, city, method: str, path: str):
        body = '{"recipient_field": {"name": "a", "data_type": "text", "a/b~c": 1, "": 2}}'
        assert api.send(method, path, body).violations == [
            *at("", "unknown_field"),
            *at("a~1b~0c", "unknown_field"),
        ]

    def test_names_of_members_must_have_no_forbidden_character(
        self, api: Api, city, method: str, path: str
    ):
        body = '{"recipient_field": {"name": "a", "data_type": "text", "a\\u0000": 1}}'
        response = api.send(method, path, body)
        assert response.violations == ["/recipient_field: invalid_characters"]

    def test_forbidden_characters_are_reported_at_any_depth(
        self, api: Api, city, method: str, path: str
    ):
        body = (
            '{"\\ud800": 1, "recipient_field": {"name": "a", "data_type": "text",'
            ' "allowed_values": ["a", "\\udc00", {"b\\u0000": [["\\ud800"]]}, [["\\u0000"]]]}}'
        )
        bad = [
            violation
            for violation in api.send(method, path, body).violations
            if "_characters" in violation
        ]
        assert bad == [
            *at("allowed_values/1", "invalid_characters"),
            *at("allowed_values/2", "invalid_characters"),
            *at("allowed_values/3/0/0", "invalid_characters"),
            ": invalid_characters",
        ]

    def test_surrogate_pairs_are_accepted(self, api: Api, city, method: str, path: str):
        body = '{"recipient_field": {"name": "\\ud83d\\ude00", "key": "city", "data_type": "text"}}'
        api.delete("city") if method == "POST" else None
        assert api.send(method, path, body).field["name"] == "😀"


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


def test_all_violations_of_a_new_field_are_reported_at_once(api: Api):
    assert api.post(WRONG).violations == sorted(
        [
            *at("name", "blank"),
            *at("key", "format"),
            *at("data_type", "unknown_value"),
            *at("allowed_values", "empty"),
            *at("insertable", "type"),
            *at("custom_insertion_code", "type"),
            *at("custom_value_expression", "blank"),
            *at("id", "read_only"),
            *at("source", "read_only"),
            *at("integration_id", "read_only"),
            *at("esp_field_name", "read_only"),
            *at("created_at", "read_only"),
            *at("updated_at", "read_only"),
            *at("label", "unknown_field"),
        ]
    )


def test_all_structural_violations_of_a_change_are_reported_at_once(api: Api, city):
    assert api.patch("city", WRONG).violations == sorted(
        [
            *at("name", "blank"),
            *at("allowed_values", "empty"),
            *at("insertable", "type"),
            *at("custom_insertion_code", "type"),
            *at("custom_value_expression", "blank"),
            *at("label", "unknown_field"),
        ]
    )


def test_all_structural_violations_of_a_replacement_are_reported_at_once(api: Api):
    assert api.put("town", WRONG).violations == sorted(
        [
            *at("name", "blank"),
            *at("key", "mismatch"),
            *at("data_type", "unknown_value"),
            *at("allowed_values", "empty"),
            *at("insertable", "type"),
            *at("custom_insertion_code", "type"),
            *at("custom_value_expression", "blank"),
            *at("label", "unknown_field"),
        ]
    )


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


def test_every_wrong_value_is_reported(api: Api):
    response = api.post(with_values("number", [1, "2", 1, None, 2**53, 2]))
    assert response.violations == [
        *at("allowed_values/1", "type"),
        *at("allowed_values/2", "duplicate_item"),
        *at("allowed_values/3", "type"),
        *at("allowed_values/4", "out_of_range"),
    ]


def test_no_message_repeats_a_value_of_the_request(api: Api, city):
    document = dict.fromkeys([*city, "Zanzibar"], "Zanzibar")
    for send in (api.post, lambda members: api.patch("city", members)):
        for members in (document, {**city, "name": "Zanzibar", "source": "Zanzibar"}, ["Zanzibar"]):
            assert not any("Zanzibar" in sentence for sentence in send(members).messages)
