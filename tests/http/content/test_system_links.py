"""An email with a footer is written once, and exported with the links of each ESP."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain.esp import BUILT_IN

from ..api import CONTENT_EXPORTS, Api, ApiResponse

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

LINK = '<p><a href="{{link.unsubscribe}}">Leave this list</a></p>'
UNSUBSCRIBE = {
    "sfmc": "%%unsub_center_url%%",
    "mailchimp": "*|UNSUB|*",
    "klaviyo": "{% unsubscribe_link %}",
    "braze": "{{${set_user_to_unsubscribed_url}}}",
    "customerio": "{% unsubscribe_url %}",
    "hubspot": "{{ unsubscribe_link }}",
    "sendgrid": "{{{unsubscribe}}}",
    "iterable": "{{unsubscribeUrl}}",
    "brevo": "{{ unsubscribe }}",
    "activecampaign": "%UNSUBSCRIBELINK%",
    "onesignal": "[unsubscribe_url]",
}
EMAIL = """<p>Hello {{recipient.email}},</p>
<p><a href="{{link.view_in_browser}}">Open in the browser</a></p>
<p>&copy; {{ today.year }} {{sender.name}}, {{sender.address}}<br>
<a href="{{link.preferences}}">Preferences</a> <a href='{{ link.unsubscribe }}'>Unsubscribe</a></p>
"""
ITERABLE = """<p>Hello {{email}},</p>
<p><a href="{{viewInBrowserUrl}}">Open in the browser</a></p>
<p>&copy; {{now format="yyyy"}} {{companyName}}, {{physicalAddress}}<br>
<a href="{{hostedUnsubscribeUrl}}">Preferences</a> <a href='{{unsubscribeUrl}}'>Unsubscribe</a></p>
"""
MAILCHIMP = """<p>Hello *|EMAIL|*,</p>
<p>*|IFNOT:ARCHIVE_PAGE|*<a href="*|ARCHIVE|*">Open in the browser</a>*|END:IF|*</p>
<p>&copy; *|CURRENT_YEAR|* *|LIST:COMPANY|*, *|LIST:ADDRESSLINE|*<br>
<a href="*|UPDATE_PROFILE|*">Preferences</a> <a href='*|UNSUB|*'>Unsubscribe</a></p>
"""


def export(api: Api, content: str, esp: str, **members: object) -> ApiResponse:
    body = {"content": content, "esp": esp, **members}
    return api.send("POST", CONTENT_EXPORTS, json.dumps(body))


def warnings(response: ApiResponse) -> list[tuple[str, str]]:
    return [(each["kind"], each["code"]) for each in response.json["warnings"]]


@pytest.mark.parametrize("esp", list(BUILT_IN.esps))
def test_the_link_to_unsubscribe_is_that_of_the_esp(reader, esp):
    response = export(reader, LINK, esp)
    assert response.json["content"] == LINK.replace("{{link.unsubscribe}}", UNSUBSCRIBE[esp])
    assert {kind for kind, _ in warnings(response)} <= {"caveat"}


@pytest.mark.parametrize(("esp", "exported"), [("iterable", ITERABLE), ("mailchimp", MAILCHIMP)])
def test_a_footer_has_the_links_the_sender_and_the_year_of_the_esp(reader, esp, exported):
    response = export(reader, EMAIL, esp)
    assert (response.status, response.json["content"]) == (200, exported)
    assert response.json["fields"] == []
    assert ("caveat", "secondary_sources") in warnings(response)


@pytest.mark.parametrize(
    ("esp", "value"),
    [
        ("mailchimp", "today.year"),
        ("mailchimp", "sender.name"),
        ("hubspot", "sender.name"),
        ("hubspot", "sender.address"),
    ],
)
def test_a_code_in_the_vendor_s_footer_has_no_caveat(reader, esp, value):
    assert export(reader, f"&copy; {{{{{value}}}}}", esp).json["warnings"] == []


def test_the_year_of_hubspot_has_a_caveat_about_its_filter(reader):
    response = export(reader, "{{today.year}}", "hubspot")
    assert response.json["content"] == "{{ local_dt|format_datetime('yyyy') }}"
    messages = [each["message"] for each in response.json["warnings"]]
    assert any("applies no filters to personalization tokens" in each for each in messages)


def test_what_an_esp_does_not_have_is_refused_with_the_reason(reader):
    response = export(reader, EMAIL, "braze")
    assert response.status_and_code == (422, "validation_failed")
    messages = {each["line"]: each["message"] for each in response.error["details"]}
    assert list(messages) == [2, 3, 4]
    assert messages[2] == (
        "Line 2, column 13: No source establishes a code of Braze for `{{link.view_in_browser}}`."
        " Remove this link."
    )
    assert "`{{preference_center.${NAME}}}`" in messages[4]


def test_an_html_email_without_the_link_has_a_caveat(reader):
    response = export(reader, "<body>Hello</body>", "mailchimp")
    assert warnings(response) == [("caveat", "unsubscribe_link_missing")]
    linked = '<body><a href="*|UNSUB|*">Leave</a></body>'
    assert warnings(export(reader, linked, "mailchimp")) == []
    assert warnings(export(reader, "<p>Hello</p>", "mailchimp")) == []


def test_a_misspelled_link_is_a_mistake_with_a_suggestion(reader):
    response = export(reader, "{{link.unsubscribed}}", "mailchimp", strict=False)
    assert warnings(response) == [("mistake", "reference_lookalike")]
    message = "Content has no `link.unsubscribed`. Did you mean `{{link.unsubscribe}}`?"
    assert response.json["warnings"][0]["message"] == message
    (detail,) = export(reader, "{{link.unsubscribed}}", "mailchimp").error["details"]
    assert detail["message"] == f"Line 1, column 1: {message}"
    for capitals in ("{{Link.Unsubscribe}}", "{{ TODAY.YEAR }}"):
        assert export(reader, capitals, "sendgrid").violations == ["/content: not_applicable"]
    assert export(reader, "{{Link.url}}{{Sender.Name}}", "sendgrid").status == 200
    loop = "{% for link in event.links %}{{ link.unsubscribed }}{% endfor %}"
    assert warnings(export(reader, loop, "klaviyo")) == []


def test_a_link_of_another_esp_has_the_form_of_content(reader):
    response = export(reader, '<a href="*|UNSUB|*">Leave</a>', "customerio")
    (detail,) = response.error["details"]
    assert detail["message"].endswith("Write `{{link.unsubscribe}}`.")
