"""The stand-ins hold what the ESPs publish: requests, types and errors."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from recipient_fields.domain.esp import BUILT_IN, Esp

from ...support.http_server import ReceivedRequest, StubResponse, always
from . import accounts, descriptions
from .accounts import ACCOUNTS, SALESFORCE, refusal

LISTED_TYPES: Mapping[Esp, set[object]] = {
    Esp("mailchimp"): {each["type"] for each in accounts.MERGE_FIELDS},
    Esp("activecampaign"): {each["type"] for each in accounts.CUSTOM_FIELDS},
    Esp("braze"): {each["data_type"] for each in accounts.ATTRIBUTES},
    Esp("hubspot"): {each["type"] for each in accounts.PROPERTIES},
    Esp("sendgrid"): {each["field_type"] for each in (*accounts.DEFINED, *accounts.RESERVED)},
    Esp("iterable"): set(accounts.FIELDS.values()),
    Esp("brevo"): {each.get("type") for each in accounts.CONTACT_ATTRIBUTES},
    Esp("sfmc"): {type_name for _, type_name in accounts.EXTENSION_FIELDS},
}


@pytest.mark.parametrize("esp", descriptions.TYPES)
def test_a_stand_in_lists_every_documented_type(esp):
    assert descriptions.TYPES[esp] <= LISTED_TYPES[esp]


REQUEST = ReceivedRequest(
    origin="",
    method="GET",
    target="/api/profiles?page%5Bsize%5D=100&sort=-updated&fields%5Bprofile%5D=email,properties",
    headers={"authorization": "Klaviyo-API-Key k", "revision": "2026-07-15"},
    body=b"",
)


class TestChecks:
    def test_a_described_request_is_accepted(self):
        assert descriptions.KLAVIYO.names(REQUEST)
        assert list(descriptions.KLAVIYO.violations(REQUEST)) == []

    @pytest.mark.parametrize(
        ("target", "wrong"),
        [
            ("page%5Bsize%5D=101", "parameter page[size]"),
            ("page%5Bsize%5D=0", "parameter page[size]"),
            ("page%5Bsize%5D=", "parameter page[size]"),
            ("sort=name", "parameter sort"),
            ("fields%5Bprofile%5D=properties,age", "parameter fields[profile]"),
            ("limit=5", "parameter limit"),
            ("sort=id&sort=-id", "a repeated parameter"),
        ],
    )
    def test_a_parameter_that_is_not_described_is_found(self, target, wrong):
        request = evolve(REQUEST, target=f"/api/profiles?{target}")
        assert list(descriptions.KLAVIYO.violations(request)) == [wrong]

    def test_a_missing_header_is_found(self):
        request = evolve(REQUEST, headers={"authorization": "Bearer k"})
        wrong = list(descriptions.KLAVIYO.violations(request))
        assert wrong == ["header authorization", "header revision"]

    @pytest.mark.parametrize(
        ("body", "wrong"),
        [
            ((b"<ContinueRequest>", b"<ContinueRequest><!-- -->"), []),
            ((b"<Properties>Name</Properties>", b"<Properties>Names</Properties>"), ["property"]),
            ((b"</ObjectType>", b"</ObjectType><ContinueRequest>r</ContinueRequest>"), ["order"]),
            ((b'"http://exacttarget.com"', b'"http://example.com"'), ["fueloauth"]),
        ],
    )
    def test_an_envelope_that_the_wsdl_does_not_describe_is_found(self, body, wrong, serve):
        server = serve(SALESFORCE.handler)
        list(SALESFORCE.source(server.url).fields())
        last = server.requests[-1]
        changed = evolve(last, body=last.body.replace(*body))
        found = list(descriptions.SALESFORCE.violations(changed))
        assert len(found) == len(wrong)
        assert all(word in violation for word, violation in zip(wrong, found, strict=True))


DOCUMENTED_ERRORS: Mapping[tuple[str, int], object] = {
    ("klaviyo", 401): {"errors": [{"id": "1", "code": "not_authenticated", "title": "T"}]},
    ("klaviyo", 403): {"errors": [{"id": "1", "code": "permission_denied", "detail": "D"}]},
    ("hubspot", 401): {"category": "INVALID_AUTHENTICATION", "correlationId": "1", "message": "m"},
    ("hubspot", 403): {"category": "MISSING_SCOPES", "correlationId": "1", "message": "m"},
    ("sendgrid", 403): {"errors": [{"message": "access forbidden", "field": None}]},
    ("mailchimp", 404): {"type": "about:blank", "title": "Resource Not Found", "status": 404},
    ("mailchimp", 403): {"type": "about:blank", "title": "Forbidden", "status": 403},
    ("iterable", 401): {"msg": "Invalid API key", "code": "BadApiKey", "params": None},
    ("brevo", 401): {"message": "We have detected an unrecognised IP", "code": "unauthorized"},
    ("braze", 401): {"message": "Invalid API key"},
    ("braze", 403): {"message": "Forbidden"},
    ("braze", 404): {"message": "Invalid URL"},
    ("activecampaign", 403): {"message": "Forbidden"},
}
CREDENTIALS = "does not accept these credentials (401): check RECIPIENT_FIELDS"
FORBIDDEN = "does not let these credentials list its fields (403)"
ABSENT = "has nothing at this address (404): check RECIPIENT_FIELDS"
MESSAGES = {
    ("klaviyo", 401): f"{CREDENTIALS}_KLAVIYO_API_KEY.",
    ("klaviyo", 403): f"{FORBIDDEN}: they need the scope profiles:read.",
    ("hubspot", 401): f"{CREDENTIALS}_HUBSPOT_ACCESS_TOKEN.",
    ("hubspot", 403): f"{FORBIDDEN}: they need the scope crm.schemas.contacts.read.",
    ("sendgrid", 403): f"{FORBIDDEN}: they need read access to Marketing.",
    ("mailchimp", 404): f"{ABSENT}_MAILCHIMP_LIST_ID and RECIPIENT_FIELDS_MAILCHIMP_URL.",
    ("mailchimp", 403): f"{FORBIDDEN}: they need access to this audience.",
    ("iterable", 401): (
        f"{CREDENTIALS}_ITERABLE_API_KEY, and whether RECIPIENT_FIELDS_ITERABLE_URL is that of the"
        " project's region."
    ),
    ("brevo", 401): (
        f"{CREDENTIALS}_BREVO_API_KEY, and whether Brevo's security settings block the IP address"
        " of this server."
    ),
    ("braze", 401): (
        f"{CREDENTIALS}_BRAZE_API_KEY, and whether RECIPIENT_FIELDS_BRAZE_URL is that of the"
        " account's instance."
    ),
    ("braze", 403): (
        f"{FORBIDDEN}: they need the permission custom_attributes.get, in a plan that has this API."
    ),
    ("braze", 404): f"{ABSENT}_BRAZE_URL.",
    ("activecampaign", 403): (
        f"{FORBIDDEN}: RECIPIENT_FIELDS_ACTIVECAMPAIGN_API_KEY needs to be the key of a user with"
        " access to fields."
    ),
}


@pytest.mark.parametrize(("esp", "status"), DOCUMENTED_ERRORS)
def test_a_documented_error_names_the_setting_or_the_permission(esp, status, serve):
    (account,) = [each for each in ACCOUNTS if each.esp == Esp(esp)]
    response = evolve(StubResponse.json(DOCUMENTED_ERRORS[esp, status]), status=status)
    server = serve(always(response))
    message = f"{BUILT_IN[account.esp].title} {MESSAGES[esp, status]}"
    assert refusal(account.source(server.url)) == message
    assert len(server.requests) == 1


def test_a_page_of_another_server_names_the_url(account, serve):
    server = serve(always(StubResponse(200, b"<html>Sign in</html>")))
    variable = f"RECIPIENT_FIELDS_{account.esp.upper()}_URL"
    assert f"not JSON: check {variable}" in refusal(account.source(server.url))
