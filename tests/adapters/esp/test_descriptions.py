"""The stand-ins hold what the ESPs publish: requests, types and errors."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from attrs import evolve

from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspRefused

from ...support.http_server import ReceivedRequest, StubResponse
from . import accounts, descriptions
from .accounts import (
    ACCOUNTS,
    ACTIVECAMPAIGN,
    BRAZE,
    BREVO,
    HUBSPOT,
    ITERABLE,
    KLAVIYO,
    MAILCHIMP,
    SALESFORCE,
    SENDGRID,
    Account,
)

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


def error(status: int, document: object) -> StubResponse:
    return evolve(StubResponse.json(document), status=status)


CREDENTIALS = "does not accept these credentials"
FORBIDDEN = "does not let these credentials list its fields"
DOCUMENTED_ERRORS: list[tuple[Account, StubResponse, str]] = [
    (
        KLAVIYO,
        error(401, {"errors": [{"id": "1", "code": "not_authenticated", "title": "T"}]}),
        f"{CREDENTIALS} (401): check RECIPIENT_FIELDS_KLAVIYO_API_KEY.",
    ),
    (
        KLAVIYO,
        error(403, {"errors": [{"id": "1", "code": "permission_denied", "detail": "D"}]}),
        f"{FORBIDDEN} (403): they need the scope profiles:read.",
    ),
    (
        HUBSPOT,
        error(401, {"category": "INVALID_AUTHENTICATION", "correlationId": "1", "message": "m"}),
        f"{CREDENTIALS} (401): check RECIPIENT_FIELDS_HUBSPOT_ACCESS_TOKEN.",
    ),
    (
        HUBSPOT,
        error(403, {"category": "MISSING_SCOPES", "correlationId": "1", "message": "m"}),
        f"{FORBIDDEN} (403): they need the scope crm.schemas.contacts.read.",
    ),
    (
        SENDGRID,
        error(403, {"errors": [{"message": "access forbidden", "field": None}]}),
        f"{FORBIDDEN} (403): they need read access to Marketing.",
    ),
    (
        MAILCHIMP,
        error(404, {"type": "about:blank", "title": "Resource Not Found", "status": 404}),
        (
            "has nothing at this address (404): check RECIPIENT_FIELDS_MAILCHIMP_LIST_ID and"
            " RECIPIENT_FIELDS_MAILCHIMP_URL."
        ),
    ),
    (
        MAILCHIMP,
        error(403, {"type": "about:blank", "title": "Forbidden", "status": 403}),
        f"{FORBIDDEN} (403): they need access to this audience.",
    ),
    (
        ITERABLE,
        error(401, {"msg": "Invalid API key", "code": "BadApiKey", "params": None}),
        (
            f"{CREDENTIALS} (401): check RECIPIENT_FIELDS_ITERABLE_API_KEY, and whether"
            " RECIPIENT_FIELDS_ITERABLE_URL is that of the project's region."
        ),
    ),
    (
        BREVO,
        error(401, {"message": "We have detected an unrecognised IP", "code": "unauthorized"}),
        (
            f"{CREDENTIALS} (401): check RECIPIENT_FIELDS_BREVO_API_KEY, and whether Brevo's"
            " security settings block the IP address of this server."
        ),
    ),
    (
        BRAZE,
        error(401, {"message": "Invalid API key"}),
        (
            f"{CREDENTIALS} (401): check RECIPIENT_FIELDS_BRAZE_API_KEY, and whether"
            " RECIPIENT_FIELDS_BRAZE_URL is that of the account's instance."
        ),
    ),
    (
        BRAZE,
        error(403, {"message": "Forbidden"}),
        (
            f"{FORBIDDEN} (403): they need the permission custom_attributes.get, in a plan that has"
            " this API."
        ),
    ),
    (
        BRAZE,
        error(404, {"message": "Invalid URL"}),
        "has nothing at this address (404): check RECIPIENT_FIELDS_BRAZE_URL.",
    ),
    (
        ACTIVECAMPAIGN,
        error(403, {"message": "Forbidden"}),
        (
            f"{FORBIDDEN} (403): RECIPIENT_FIELDS_ACTIVECAMPAIGN_API_KEY needs to be the key of a"
            " user with access to fields."
        ),
    ),
]


@pytest.mark.parametrize(
    ("account", "response", "message"),
    DOCUMENTED_ERRORS,
    ids=lambda value: value.esp if isinstance(value, Account) else None,
)
def test_a_documented_error_names_the_setting_or_the_permission(account, response, message, serve):
    server = serve(lambda _: response)
    with pytest.raises(EspRefused) as refused:
        list(account.source(server.url).fields())
    assert str(refused.value) == f"{BUILT_IN[account.esp].title} {message}"
    assert len(server.requests) == 1


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.esp)
def test_a_page_of_another_server_names_the_url(account, serve):
    server = serve(lambda _: StubResponse(200, b"<html>Sign in</html>"))
    with pytest.raises(EspRefused, match=r"not JSON: check RECIPIENT_FIELDS_[A-Z]+_URL"):
        list(account.source(server.url).fields())
