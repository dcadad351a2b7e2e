"""Content is exported for an ESP over HTTP."""

from __future__ import annotations

import json

import pytest

from recipient_fields.entrypoints.http.heavy_requests import HeavyRequests

from ...support.integrations import add_integration
from ..api import CONTENT_EXPORTS, Api, ApiResponse, compact

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

TIER = {
    "name": "Loyalty tier",
    "data_type": "text",
    "custom_value_expression": "custom_attribute.${loyalty_tier}",
}
GREETING = "Dear {{recipient.loyalty_tier}}"
OMITTED = object()
MEMBERS = ("content", "esp", "integration_id", "strict")


def export(api: Api, content: object, **members: object) -> ApiResponse:
    body = {"content": content, "esp": "braze", **members}
    present = {name: value for name, value in body.items() if value is not OMITTED}
    return api.send("POST", CONTENT_EXPORTS, json.dumps(present))


@pytest.fixture(autouse=True)
def tier(api: Api) -> None:
    api.put("loyalty_tier", TIER)


def test_the_response_has_the_content_and_the_keys_of_the_fields(reader):
    response = export(reader, f'{GREETING}{{{{#if recipient.loyalty_tier = "gold"}}}}!{{{{/if}}}}')
    assert response.status == 200
    assert response.json == {
        "content": (
            "Dear {{custom_attribute.${loyalty_tier}}}"
            '{% if custom_attribute.${loyalty_tier} == "gold" %}!{% endif %}'
        ),
        "surface": "text",
        "warnings": [],
        "fields": ["loyalty_tier"],
        "event": [],
    }


def test_the_response_names_the_surface(reader):
    assert export(reader, f"<p>{GREETING}</p>").json["surface"] == "html"
    assert export(reader, GREETING, surface="subject").json["surface"] == "subject"
    response = export(reader, GREETING, surface="body")
    assert response.violations == ["/surface: unknown_value"]


def test_a_key_means_the_field_of_the_integration(reader, harness, bakery):
    for name in ("Emails", "Messages"):
        integration = add_integration(harness.core, bakery, "braze", name, "Plan")
    response = export(reader, "{{recipient.plan}}", esp=OMITTED, integration_id=integration.id)
    assert response.status == 200
    assert response.json["fields"] == ["plan_2"]
    assert export(reader, "Hello").violations == ["/integration_id: required"]


def test_warnings_have_a_line_and_a_column(reader):
    response = export(reader, "Dear\n {{recipients.loyalty_tier}}", strict=False)
    assert response.json["content"] == "Dear\n {{recipients.loyalty_tier}}"
    (warning,) = response.json["warnings"]
    assert warning == {
        "kind": "mistake",
        "code": "reference_lookalike",
        "line": 2,
        "column": 2,
        "message": warning["message"],
        "places": [],
    }


def test_blanks_and_comments_are_no_part_of_the_email(reader):
    content = "{{!-- For gold. --~}}\nTier: {{ recipient.loyalty_tier }}\n\n{{~! End }}\n"
    response = export(reader, content, strict=True)
    assert response.json["content"] == "Tier: {{custom_attribute.${loyalty_tier}}}\n"
    assert response.json["fields"] == ["loyalty_tier"]
    unfinished = export(reader, "Tier:\n {{! {{recipient.loyalty_tier")
    assert unfinished.places == ["2:2 format"]
    assert unfinished.messages[1].endswith("This comment has no end. Write `}}` after it.")


def test_a_filter_changes_the_value(reader):
    content = '{{recipient.loyalty_tier | lower | default: "none"}}'
    response = export(reader, content)
    shown = "{{custom_attribute.${loyalty_tier} | downcase}}{% else %}none{% endif %}"
    assert response.json["content"].endswith(shown)
    assert [each["code"] for each in response.json["warnings"]] == ["filter_difference"]
    (detail,) = export(reader, "{{recipient.loyalty_tier | uper}}").error["details"]
    assert (detail["column"], detail["suggestion"]) == (28, "upper")


def test_a_caveat_is_reported_once_with_its_other_places(reader):
    content = "{{a}} {{a}}\n{{recipients.x}} {{a}}"
    first, second = export(reader, content, strict=False).json["warnings"]
    assert first == {
        "kind": "caveat",
        "code": "unknown_word",
        "line": 1,
        "column": 1,
        "message": "Braze shows nothing for `a`, unless your account or other code sets it.",
        "places": [{"line": 1, "column": 7}, {"line": 2, "column": 18}],
    }
    assert (second["kind"], second["line"], second["places"]) == ("mistake", 2, [])


def test_literals_stay_without_a_warning(reader):
    content = "*|FNAME|* {{ mirror }}"
    assert len(export(reader, content).violations) == 2
    literals = ["*|FNAME|*", "{{ mirror }}"]
    response = export(reader, content, strict=True, literals=literals)
    assert (response.status, response.json["content"]) == (200, content)
    assert export(reader, content, literals=["x", ""]).violations == ["/literals/1: blank"]
    assert export(reader, content, literals=["x" * 1_001]).violations == ["/literals/0: too_long"]
    assert export(reader, content, literals=["x"] * 101).violations == ["/literals: too_many_items"]


def test_a_reference_has_a_maximum_number_of_filters(reader):
    filters = " | upper" * 8
    assert export(reader, f"{{{{recipient.loyalty_tier{filters}}}}}", esp="klaviyo").status == 200
    response = export(reader, f"a\n{{{{recipient.loyalty_tier{filters} | lower}}}}", esp="klaviyo")
    assert response.places == ["2:92 too_many_items"]
    assert response.messages[1] == "Line 2, column 92: A reference has at most 8 filters."


@pytest.mark.parametrize(
    ("opening", "closing"), [("{{ ", "}}"), ("{% if ", "%}"), ("{{{ ", "}}}"), ("{{#each ", "}}")]
)
def test_a_tag_in_braces_has_a_maximum_length(reader, opening, closing):
    longest = opening + "a" * (10_000 - len(opening) - len(closing)) + closing
    too_long = f"b {opening} {longest[len(opening) :]}"
    assert export(reader, longest, strict=False).status == 200
    response = export(reader, too_long, strict=False)
    assert response.places == ["1:3 too_long"]
    assert "at most 10,000 characters" in response.messages[1]
    assert export(reader, too_long, strict=False, literals=[opening]).status == 200


@pytest.mark.parametrize(("opening", "closing"), [("%%[ ", "]%%"), ("{# ", "#}")])
def test_code_of_salesforce_and_comments_have_no_maximum_length(reader, opening, closing):
    content = opening + "b " * 10_000 + closing
    assert export(reader, content, strict=False).status == 200


def test_content_above_64_kib_needs_a_slot(harness, bakery):
    heavy = HeavyRequests()
    client = harness.client(heavy=heavy).with_key(harness.issue_key(bakery).plain.reveal())
    much, little = "x" * 65_536, "x" * 65_000
    with heavy.request(bakery) as request:
        request.take_slot()
        assert export(client, much).status_and_code == (503, "overloaded")
        assert export(client, little).status == 200
    assert export(client, much).status == 200


def test_each_mistake_is_reported_at_its_own_place(reader):
    content = "{{recipients.x}}  {{recipients.x}}"
    warnings = export(reader, content, strict=False).json["warnings"]
    assert [(each["column"], each["places"]) for each in warnings] == [(1, []), (19, [])]


LOOKALIKE = "{{recipients.loyalty_tier}}"
TEIR = "{{recipient.loyalty_teir}}"
REJECTED: dict[str, tuple[str, list[str]]] = {
    "unknown fields": (
        f"{TEIR}\n {{{{recipient.size}}}}",
        ["1:1 unknown_field", "2:2 unknown_field"],
    ),
    "an unknown field and syntax": (f"{TEIR} {{{{/if}}}}", ["1:1 unknown_field", "1:28 format"]),
    "an unknown field and a mistake": (
        f"{TEIR} {LOOKALIKE}",
        ["1:1 unknown_field", "1:28 not_applicable"],
    ),
    "a condition": ("{{#if recipient.loyalty_tier = }}x{{/if}}", ["1:32 format"]),
    "a block without an end": ("\n{{#if recipient.loyalty_tier is set}}x", ["2:1 format"]),
    "inside a tag": ("a{% if {{recipient.loyalty_tier}} %}", ["1:8 not_applicable"]),
    "too long": ("a" * 1_000_001, ["1:1 too_long"]),
    "a filter for numbers": ("{{recipient.loyalty_tier | number: 2}}", ["1:1 type"]),
    "a filter that the ESP has not": ("{{recipient.loyalty_tier | title}}", ["1:1 not_applicable"]),
}


@pytest.mark.parametrize(("content", "places"), REJECTED.values(), ids=REJECTED)
def test_all_violations_of_content_have_their_places(reader, content, places):
    assert export(reader, content).places == places


@pytest.mark.parametrize(
    ("strict", "places"),
    [
        ({}, ["2:2", "2:30", "2:36"]),
        ({"strict": "mistakes"}, ["2:2", "2:30", "2:36"]),
        ({"strict": True}, ["1:1", "1:7", "2:2", "2:30", "2:36"]),
    ],
    ids=["default", "mistakes", "strict"],
)
def test_each_place_of_mistakes_is_a_violation_and_of_caveats_if_strict(reader, strict, places):
    response = export(reader, f"{{{{a}}}} {{{{a}}}}\n {LOOKALIKE} *|A|* *|A|*", **strict)
    assert response.places == [f"{place} not_applicable" for place in places]


@pytest.mark.parametrize("strict", [{}, {"strict": "mistakes"}], ids=["default", "mistakes"])
def test_caveats_are_warnings(reader, strict):
    (warning,) = export(reader, "{{a}}", **strict).json["warnings"]
    assert warning["kind"] == "caveat"


def test_an_unknown_field_has_a_suggestion(reader):
    (detail,) = export(reader, TEIR).error["details"]
    assert detail["suggestion"] == "loyalty_tier"


@pytest.mark.parametrize(
    ("members", "violation"),
    [
        ({"content": OMITTED}, "/content: required"),
        ({"content": 3}, "/content: type"),
        ({"content": "\0"}, "/content: invalid_characters"),
        ({"esp": OMITTED}, "/esp: required"),
        ({"integration_id": 7}, "/integration_id: not_applicable"),
        ({"esp": OMITTED, "integration_id": 7}, "/integration_id: unknown_value"),
        ({"esp": "brase"}, "/esp: unknown_value"),
        ({"strict": "yes"}, "/strict: type"),
        ({"strict": 1}, "/strict: type"),
        ({"other": 3}, "/other: unknown_field"),
        *(({member: None}, f"/{member}: type") for member in MEMBERS),
    ],
)
def test_invalid_members_are_reported(reader, members, violation):
    assert export(reader, **{"content": GREETING, **members}).violations == [violation]


def test_content_has_up_to_1_000_000_characters_of_any_script(reader):
    content = "字" * 1_000_000
    response = reader.send("POST", CONTENT_EXPORTS, compact({"content": content, "esp": "braze"}))
    assert response.json["content"] == content


def test_a_body_has_at_most_4_mib(reader):
    body = json.dumps({"content": GREETING, "esp": "braze"})
    limit = 4 * 1024 * 1024
    assert reader.send("POST", CONTENT_EXPORTS, body.ljust(limit)).status == 200
    response = reader.send("POST", CONTENT_EXPORTS, body.ljust(limit + 1))
    assert response.status_and_code == (413, "payload_too_large")
