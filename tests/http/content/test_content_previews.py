"""Content is previewed for one recipient over HTTP."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from recipient_fields.entrypoints.http.heavy_requests import HeavyRequests

from ..api import CONTENT_PREVIEWS, RECIPIENT_CHECKS, Api, ApiResponse

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

CITY = {"name": "City", "data_type": "text"}
VISITS = {"name": "Visits", "data_type": "number"}
SPORT = {"name": "Sport", "data_type": "text", "allowed_values": ["sports", "dance"]}
LETTER = """<p>{{recipient.city | default: "Rome"}}</p>
{{#if recipient.visits > 3}}Hello & again{{/if}}"""


def preview(api: Api, content: object, recipient: object, **members: object) -> ApiResponse:
    body = {"content": content, "recipient": recipient, **members}
    return api.send("POST", CONTENT_PREVIEWS, json.dumps(body))


@pytest.fixture(autouse=True)
def _fields(api: Api) -> None:
    api.put("city", CITY)
    api.put("visits", VISITS)


def test_a_recipient_reads_the_values(reader):
    response = preview(reader, LETTER, {"city": "Bern", "visits": 4})
    assert response.status == 200
    assert response.json == {
        "content": "<p>Bern</p>\nHello & again",
        "surface": "html",
        "warnings": [],
        "fields": ["city", "visits"],
        "event": [],
        "unlisted_values": [],
    }
    assert preview(reader, LETTER, {}).json["content"] == "<p>Rome</p>\n"


def test_a_preview_shows_event_data(reader):
    source = "{{event.order_id}}{{#if event.total > 100}} for {{recipient.city}}{{/if}}"
    event = {"order_id": "A-1", "total": 120}
    shown = preview(reader, source, {"city": "Bern"}, event=event).json
    assert (shown["content"], shown["event"]) == ("A-1 for Bern", ["order_id", "total"])

    response = preview(reader, source, {}, event={"total": "120"})
    (detail,) = response.error["details"]
    assert (response.status, detail["pointer"], detail["column"]) == (422, "/content", 19)
    assert "`event.total` is a text. Here, it must be a number" in detail["message"]

    assert preview(reader, source, {}, event=[]).error["details"][0]["pointer"] == "/event"


def test_a_value_is_escaped_in_html_only(reader):
    recipient = {"city": "O'Fallon <b>&\""}
    shown = {
        surface: preview(reader, "{{recipient.city}}", recipient, surface=surface).json["content"]
        for surface in ("html", "text", "subject")
    }
    assert shown == {
        "html": "O&#x27;Fallon &lt;b&gt;&amp;&quot;",
        "text": "O'Fallon <b>&\"",
        "subject": "O'Fallon <b>&\"",
    }
    assert preview(reader, "{{recipient.city}}", recipient).json["surface"] == "text"


@pytest.mark.parametrize(
    ("now", "year"),
    [
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), "2026"),
        (datetime(2027, 1, 1, tzinfo=UTC), "2027"),
    ],
)
def test_the_year_is_that_of_utc(reader, clock, now, year):
    clock.now = now
    assert preview(reader, "{{today.year}}", {}).json["content"] == year


def test_a_value_has_a_maximum_length(reader):
    longest = "x" * 100_000
    assert preview(reader, "{{recipient.city}}", {"city": longest}).json["content"] == longest
    response = preview(reader, "a", {"city": f"{longest}x", "visits": "b"})
    assert response.violations == ["/recipient/city: too_long", "/recipient/visits: type"]


def test_filters_return_a_maximum_number_of_characters(reader):
    filters = ("upper", "lower", "title", "url")
    pairs = "".join(
        f"{{{{recipient.city | {first} | {second} | truncate: 1}}}}\n"
        for first in filters
        for second in filters
    )
    assert preview(reader, pairs, {"city": "x" * 100_000}).status == 200
    response = preview(reader, pairs + pairs.replace(": 1", ": 2"), {"city": "x" * 100_000})
    (detail,) = response.error["details"]
    assert (detail["pointer"], detail["code"], detail["line"]) == ("/content", "too_long", 21)
    assert "write more than 4,194,304 characters" in detail["message"]


def test_conditions_search_in_a_maximum_number_of_characters(reader):
    content = '{{#if recipient.city contains "y"}}a{{/if}}\n' * 201
    assert preview(reader, content, {"city": "x" * 99_502}).status == 200
    response = preview(reader, content, {"city": "x" * 99_503})
    (detail,) = response.error["details"]
    assert (detail["pointer"], detail["code"], detail["line"]) == ("/content", "too_long", 201)
    assert "search in more than 20,000,000 characters" in detail["message"]


def test_content_above_64_kib_needs_a_slot(harness, bakery):
    heavy = HeavyRequests()
    client = harness.client(heavy=heavy).with_key(harness.issue_key(bakery).plain.reveal())
    with heavy.request(bakery) as request:
        request.take_slot()
        assert preview(client, "x" * 65_536, {}).status_and_code == (503, "overloaded")
        assert preview(client, "x" * 65_000, {}).status == 200
    assert preview(client, "x" * 65_536, {}).status == 200


def test_look_alikes_are_warnings(reader):
    (warning,) = preview(reader, "{{Recipient.city}}", {}).json["warnings"]
    assert (warning["kind"], warning["code"]) == ("mistake", "reference_lookalike")


def test_wrong_values_of_the_recipient_are_violations(reader):
    response = preview(reader, LETTER, {"citty": "Bern", "size": None})
    assert response.violations == [
        "/recipient/citty: unknown_field",
        "/recipient/size: unknown_field",
    ]
    assert response.error["details"][0]["suggestion"] == "city"
    assert preview(reader, LETTER, {"visits": "4"}).violations == ["/recipient/visits: type"]
    assert preview(reader, LETTER, []).violations == ["/recipient: type"]


def test_all_wrong_values_are_listed_at_once(api, reader):
    api.put("born", {"name": "Born", "data_type": "date"})
    api.put("sport", SPORT)
    recipient = {"born": "2026-02-29", "visits": "x", "sport": "Sports", "other": 1}
    response = preview(reader, "{{recipient.born}}", recipient)
    assert [(each["pointer"], each["message"]) for each in response.error["details"]] == [
        ("/recipient/born", "There is no such date."),
        ("/recipient/visits", "A number field requires a number, such as 1.5."),
        ("/recipient/sport", "Use one of sports, dance."),
        ("/recipient/other", "There is no recipient field with this key."),
    ]


def test_a_value_that_is_not_allowed_is_shown_and_reported(api, reader):
    api.put("sport", SPORT)
    content = '{{recipient.sport}}: {{#if recipient.sport = "sports"}}game{{else}}swing{{/if}}'
    shown = preview(reader, content, {"sport": "Sports"}).json
    assert shown["content"] == "Sports: swing"
    assert shown["unlisted_values"] == [
        {
            "pointer": "/recipient/sport",
            "code": "unknown_value",
            "message": "Use one of sports, dance.",
            "suggestion": "sports",
        }
    ]


@pytest.mark.parametrize("value", [None, ""])
def test_an_empty_value_is_not_set_whatever_the_type_of_its_field(api, reader, value):
    api.put("sport", SPORT)
    recipient = dict.fromkeys(("city", "visits", "sport"), value)
    assert preview(reader, LETTER, recipient).json["content"] == "<p>Rome</p>\n"
    checks = json.dumps({"recipients": [recipient]})
    (result,) = reader.send("POST", RECIPIENT_CHECKS, checks).json["results"]
    assert result == {"valid": True, "recipient": dict.fromkeys(recipient)}


def test_the_body_is_checked(reader):
    response = preview(reader, "{{recipient.town}}{{#if", {}, esp="braze", surface="body")
    assert response.violations == ["/esp: unknown_field", "/surface: unknown_value"]
    (detail,) = preview(reader, "\n{{recipient.cty}}", {}).error["details"]
    assert (detail["pointer"], detail["line"], detail["column"]) == ("/content", 2, 1)
    assert detail["suggestion"] == "city"


def test_content_nested_too_deep_is_a_violation(reader):
    letter = "{{#if recipient.city is set}}" * 999 + "{{recipient.citty}}" + "{{/if}}" * 999
    details = preview(reader, letter, {}).error["details"]
    assert details[0]["message"].endswith("Nest blocks at most 10 levels deep.")
    assert details[-1]["suggestion"] == "city"


def test_every_recipient_has_an_address_which_is_no_field(reader):
    for recipient in ({}, {"email": None}, {"email": ""}):
        response = preview(reader, "{{recipient.email}}{{recipient.city}}", recipient)
        assert response.json["content"] == "recipient@example.com"
        assert response.json["fields"] == ["city"]
