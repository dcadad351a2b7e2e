"""Content is previewed for one recipient over HTTP."""

from __future__ import annotations

import json

import pytest

from ..api import CONTENT_PREVIEWS, Api, ApiResponse

CITY = {"name": "City", "data_type": "text"}
VISITS = {"name": "Visits", "data_type": "number"}
LETTER = """<p>{{recipient.city | default: "Rome"}}</p>
{{#if recipient.visits > 3}}Hello & again{{/if}}"""


def preview(api: Api, content: object, recipient: object, **members: object) -> ApiResponse:
    body = {"content": content, "recipient": recipient, **members}
    return api.send("POST", CONTENT_PREVIEWS, json.dumps(body))


@pytest.fixture(autouse=True)
def _fields(api: Api) -> None:
    api.put("city", CITY)
    api.put("visits", VISITS)


def test_a_recipient_reads_the_values(reader: Api) -> None:
    response = preview(reader, LETTER, {"city": "Bern", "visits": 4})
    assert response.status == 200
    assert response.json == {
        "content": "<p>Bern</p>\nHello & again",
        "surface": "html",
        "warnings": [],
        "fields": ["city", "visits"],
    }
    assert preview(reader, LETTER, {}).json["content"] == "<p>Rome</p>\n"


def test_a_value_is_escaped_in_html_only(reader: Api) -> None:
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


def test_look_alikes_are_warnings(reader: Api) -> None:
    (warning,) = preview(reader, "{{Recipient.city}}", {}).json["warnings"]
    assert (warning["kind"], warning["code"]) == ("mistake", "reference_lookalike")


def test_wrong_values_of_the_recipient_are_violations(reader: Api) -> None:
    response = preview(reader, LETTER, {"citty": "Bern", "size": None})
    assert response.violations == [
        "/recipient/citty: unknown_field",
        "/recipient/size: unknown_field",
    ]
    assert response.error["details"][0]["suggestion"] == "city"
    assert preview(reader, LETTER, {"visits": "4"}).violations == ["/recipient/visits: type"]
    assert preview(reader, LETTER, []).violations == ["/recipient: type"]


def test_the_body_is_checked(reader: Api) -> None:
    response = preview(reader, "{{recipient.town}}{{#if", {}, esp="braze", surface="body")
    assert response.violations == ["/esp: unknown_field", "/surface: unknown_value"]
    (detail,) = preview(reader, "\n{{recipient.cty}}", {}).error["details"]
    assert (detail["pointer"], detail["line"], detail["column"]) == ("/content", 2, 1)
    assert detail["suggestion"] == "city"


def test_content_nested_too_deep_is_a_violation(reader: Api) -> None:
    letter = "{{#if recipient.city is set}}" * 999 + "{{recipient.citty}}" + "{{/if}}" * 999
    details = preview(reader, letter, {}).error["details"]
    assert details[0]["message"].endswith("Nest blocks at most 10 levels deep.")
    assert details[-1]["suggestion"] == "city"


def test_every_recipient_has_an_address_which_is_no_field(reader: Api) -> None:
    for recipient in ({}, {"email": None}, {"email": ""}):
        response = preview(reader, "{{recipient.email}}{{recipient.city}}", recipient)
        assert response.json["content"] == "recipient@example.com"
        assert response.json["fields"] == ["city"]
