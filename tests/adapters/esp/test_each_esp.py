"""Behavior that is specific to one ESP."""

from __future__ import annotations

import json
import tracemalloc

import pytest
from attrs import evolve

from recipient_fields.adapters.esp import MailchimpFieldSource, SalesforceFieldSource
from recipient_fields.domain.integrations import (
    EspUnavailable,
    RefusedField,
    ReportedField,
)

from ...support.http_server import (
    StubResponse,
    always,
    in_turn,
)
from .accounts import (
    BRAZE,
    BREVO,
    HUBSPOT,
    ITERABLE,
    KLAVIYO,
    LIST,
    MAILCHIMP,
    OBJECT,
    RESERVED,
    SALESFORCE,
    SECRET,
    SENDGRID,
    STANDARD,
    TEST_LIMITS,
    WITHOUT_VALUES,
    Account,
    Serve,
    definitions,
    field,
    refusal,
    soap,
    soap_fault,
)

ATTRIBUTES = " ".join(f'a{number}=""' for number in range(100_000))


def fields_of(account: Account, document: object, serve: Serve) -> list[ReportedField]:
    """Return the fields that are reported for this response."""
    return list(account.source(serve(always(StubResponse.json(document))).url).fields())


class TestMailchimp:
    def test_a_repeated_403_without_a_body_raises_esp_unavailable(self, serve):
        server = serve(always(StubResponse(403)))
        message = refusal(MAILCHIMP.source(server.url), EspUnavailable)
        assert "limits the rate of requests (403)" in message
        assert len(server.requests) == 3

    @pytest.mark.parametrize("body", [b"", b"<html>Access denied</html>", b"Forbidden", b" \n"])
    def test_a_403_without_a_json_object_is_a_rate_limit(self, body, serve):
        server = serve(in_turn([StubResponse(403, body), StubResponse(429)], MAILCHIMP.handler))
        assert tuple(MAILCHIMP.source(server.url).fields()) == MAILCHIMP.reported

    def test_a_403_with_a_problem_document_raises_esp_refused(self, serve):
        problem = {"type": "about:blank", "title": "User does not have access", "status": 403}
        server = serve(always(evolve(StubResponse.json(problem), status=403)))
        assert "access to this audience" in refusal(MAILCHIMP.source(server.url))
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "account", [BRAZE, BREVO, HUBSPOT, ITERABLE, KLAVIYO, SENDGRID], ids=lambda a: a.esp
    )
    def test_a_403_without_a_body_of_another_esp_raises_esp_refused(self, account, serve):
        assert "(403)" in refusal(account.source(serve(always(StubResponse(403))).url))

    @pytest.mark.parametrize(
        "key",
        [
            *("0123456789abcdef", "k-", "k-evil.com/", "k-us7.evil.com#"),
            *("k-a@b", "k-us7\n", "k-us7:80", "k-ü"),
        ],
    )
    def test_a_key_without_a_valid_data_center_raises_esp_refused(self, key):
        assert refusal(MailchimpFieldSource(api_key=key, list_id="a")) == (
            "The Mailchimp key in RECIPIENT_FIELDS_MAILCHIMP_API_KEY does not end with a data"
            " center, such as -us7. Copy the whole key, or set RECIPIENT_FIELDS_MAILCHIMP_URL to"
            " https://api.mailchimp.com."
        )


class TestBraze:
    @pytest.mark.parametrize(
        ("data_type", "expected"),
        [
            ("String", field("a")),
            ("STRING", field("a")),
            ("Number (Automatically Detected)", field("a", "number")),
            ("Time", field("a", "datetime")),
            ("Object Array", RefusedField("a", LIST)),
            ("object_array", RefusedField("a", LIST)),
            ("Object (Automatically Detected)", RefusedField("a", OBJECT)),
        ],
    )
    def test_a_data_type_is_recognized_in_each_spelling(self, data_type, expected, serve):
        document = {"attributes": [{"name": "a", "data_type": data_type}]}
        assert fields_of(BRAZE, document, serve) == [expected]


class TestHubSpot:
    @pytest.mark.parametrize("hidden", [None, False])
    def test_a_property_that_is_not_hidden_is_reported(self, hidden, serve):
        visible = {"name": "a", "label": "A", "type": "string", "hidden": hidden}
        assert fields_of(HUBSPOT, {"results": [visible]}, serve) == [field("a", label="A")]

    def test_sensitive_properties_are_not_requested(self, serve):
        server = serve(HUBSPOT.handler)
        list(HUBSPOT.source(server.url).fields())
        assert server.requests[0].query == {"archived": "false", "dataSensitivity": "non_sensitive"}

    @pytest.mark.parametrize("type_name", ["bool", "enumeration"])
    @pytest.mark.parametrize("options", [[], None, [{"value": "true"}, {"value": "false"}]])
    def test_a_check_box_is_boolean(self, type_name, options, serve):
        check_box = {"name": "a", "label": "A", "type": type_name, "fieldType": "booleancheckbox"}
        document = {"results": [{**check_box, "options": options}]}
        assert fields_of(HUBSPOT, document, serve) == [field("a", "boolean", "A")]

    def test_invalid_options_are_reported(self, serve):
        values = ["a", "a", " b ", ""]
        options = [{"label": "x", "value": value} for value in values]
        enumeration = {"name": "a", "label": "A", "type": "enumeration", "fieldType": "radio"}
        reported = fields_of(HUBSPOT, {"results": [{**enumeration, "options": options}]}, serve)
        assert reported == [field("a", label="A", allowed_values=values)]


class TestSendGrid:
    @pytest.mark.parametrize(
        "others", [{}, {"_metadata": {"next": ""}}, {"_metadata": {"next": None}}]
    )
    def test_reserved_fields_without_custom_fields_or_another_page(self, others, serve):
        document = {"reserved_fields": [{"name": "email", "field_type": "Text"}], **others}
        assert fields_of(SENDGRID, document, serve) == [field("email")]

    def test_a_custom_field_with_the_name_of_a_reserved_list_is_text(self, serve):
        custom = [{"id": "e1_T", "name": "alternate_emails", "field_type": "Text"}]
        document = {"custom_fields": custom, "reserved_fields": []}
        assert fields_of(SENDGRID, document, serve) == [field("alternate_emails")]

    def test_all_pages_are_read(self, serve):
        items = [{"id": f"e{i}_T", "name": f"f{i}", "field_type": "Text"} for i in range(250)]
        server = serve(definitions(items, size=100))
        names = [each.name for each in SENDGRID.source(server.url).fields()]
        reserved = [str(each["name"]) for each in RESERVED]
        assert names == [*(f"f{i}" for i in range(250)), *reserved]
        assert len(server.requests) == 3


class TestBrevo:
    def test_the_allowed_values_of_a_category_are_the_original_values(self, serve):
        options = [{"value": 1, "valueStr": "1"}, {"value": 0, "valueStr": "en"}]
        category = {"name": "A", "category": "category", "enumeration": options}
        expected = field("A", allowed_values=["1", "en"])
        assert fields_of(BREVO, {"attributes": [category]}, serve) == [expected]


class TestDefaults:
    @pytest.mark.parametrize("default", [None, "", 0, False, [], {}])
    def test_a_default_that_is_no_text_is_ignored(self, default, serve):
        item = {"tag": "A", "name": "A", "type": "text", "default_value": default}
        document = {"merge_fields": [item], "total_items": 1}
        assert fields_of(MAILCHIMP, document, serve) == [field("A", label="A")]


class TestKlaviyo:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (["a"], field("a")),
            ([True, False], field("a", "boolean")),
            ([0], field("a", "number")),
            ([1, 2.5], field("a", "number")),
            ([1, True], field("a")),
            ([1, "1"], field("a")),
            (["2026-11-20"], field("a", "date")),
            (["2026-11-20", "2026-11-20T09:15:00Z"], field("a", "datetime")),
            (["2026-11-20 09:15:00"], field("a", "datetime")),
            (["2026-11-20T09:15:00.123456+02:00"], field("a", "datetime")),
            (["2026-11-20", "soon"], field("a")),
            (["2026-13-20"], field("a")),
            (["2026-11-20T09:15:00 or later"], field("a")),
            (["20261120"], field("a")),
            (["2026-W47-5"], field("a")),
            (["٢٠٢٦-11-20"], field("a")),
            ([None, "", 5], field("a", "number")),
            ([[]], RefusedField("a", LIST)),
            ([{}], RefusedField("a", OBJECT)),
            (["a", ["a"]], RefusedField("a", LIST)),
            ([None, ""], RefusedField("a", WITHOUT_VALUES)),
        ],
    )
    def test_the_type_of_a_property_is_the_type_of_all_its_values(self, values, expected, serve):
        data = [{"attributes": {"properties": {"a": value}}} for value in values]
        document = {"data": data, "links": {"next": None}}
        assert fields_of(KLAVIYO, document, serve) == [*STANDARD, expected]

    def test_a_profile_without_properties_is_accepted(self, serve):
        data = [{"attributes": {"properties": None}}, {"attributes": {}}]
        assert fields_of(KLAVIYO, {"data": data}, serve) == [*STANDARD]


ONE_FIELD = soap("OK", [("Name", "Text")]).body.decode()
DTD = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
ENTITIES = ONE_FIELD.replace("?>", f"?>{DTD}").replace("Text", "&b;")
NO_PERMISSION = (
    "refuses to list its fields. A possible reason is a missing permission: the API integration"
    " needs the scope data_extensions_read."
)
NO_XML = "sent a response that is not XML without a DTD."
TOO_MANY = "sent a response of more than 100,000 elements and attributes."


def with_extra(extra: str) -> bytes:
    """Return a response that also contains this XML."""
    return ONE_FIELD.replace("</soap:Body>", f"{extra}</soap:Body>").encode()


REFUSED_LISTINGS = {
    "an error": (soap("Error: API Permission Failed.", [("Name", "Text")]).body, NO_PERMISSION),
    "no status": (soap("", [("Name", "Text")]).body, NO_PERMISSION),
    "another status": (soap("ok", [("Name", "Text")]).body, NO_PERMISSION),
    "entities": (ENTITIES.encode(), NO_XML),
    "entities in UTF-16": (ENTITIES.replace("utf-8", "utf-16").encode("utf-16"), NO_XML),
    "an unknown encoding": (b'<?xml version="1.0" encoding="ut-8"?><a/>', NO_XML),
    "depth": (
        with_extra("<a>" * 31 + "</a>" * 31),
        "sent a response nested deeper than 32 levels.",
    ),
    "elements": (with_extra("<a/>" * 100_000), TOO_MANY),
    "attributes": (with_extra(f"<a {ATTRIBUTES}/>"), TOO_MANY),
    "bytes": (with_extra(" " * 4 * 2**20), "sent a response of more than 4 MiB."),
}


class TestSalesforce:
    def test_a_run_requests_one_token(self, serve):
        server = serve(SALESFORCE.handler)
        list(SALESFORCE.source(server.url).fields())
        paths = [request.path for request in server.requests]
        assert paths == ["/v2/token", *["/Service.asmx"] * 3]
        assert "account_id" not in json.loads(server.requests[0].body)

    def test_the_token_request_contains_the_business_unit(self, serve):
        server = serve(SALESFORCE.handler)
        list(SALESFORCE.source(server.url, account_id="500123").fields())
        assert json.loads(server.requests[0].body)["account_id"] == "500123"

    def test_an_empty_list_has_a_hint_about_shared_data_extensions(self, serve):
        source = SALESFORCE.source(serve(SALESFORCE.handler).url, data_extension="Other")
        assert refusal(source) == (
            "Salesforce Marketing Cloud has no data extension with this external key in this"
            " business unit: check RECIPIENT_FIELDS_SFMC_DATA_EXTENSION. If another business unit"
            " shares the data extension, set RECIPIENT_FIELDS_SFMC_ACCOUNT_ID to the MID of that"
            " unit."
        )

    def test_a_wrong_value_of_the_token_request_names_the_variables(self, serve):
        document = {"error": "invalid_request", "error_description": "No access to account 7."}
        server = serve(always(evolve(StubResponse.json(document), status=400)))
        assert refusal(SALESFORCE.source(server.url, account_id="7")) == (
            "Salesforce Marketing Cloud issues no token (400): check"
            " RECIPIENT_FIELDS_SFMC_CLIENT_ID and RECIPIENT_FIELDS_SFMC_CLIENT_SECRET and"
            " RECIPIENT_FIELDS_SFMC_ACCOUNT_ID."
        )

    def test_a_token_error_of_the_credentials_names_their_variables(self, serve):
        document = {"error": "invalid_client", "error_description": "Invalid client ID."}
        server = serve(always(evolve(StubResponse.json(document), status=401)))
        assert refusal(SALESFORCE.source(server.url)) == (
            "Salesforce Marketing Cloud does not accept these credentials (401): check"
            " RECIPIENT_FIELDS_SFMC_CLIENT_ID and RECIPIENT_FIELDS_SFMC_CLIENT_SECRET."
        )

    def test_a_failure_of_the_token_endpoint_is_not_about_fields(self, serve):
        message = refusal(SALESFORCE.source(serve(always(StubResponse(418))).url))
        assert "rejects the request to get a token (418)" in message

    @pytest.mark.parametrize(("xml", "message"), REFUSED_LISTINGS.values(), ids=REFUSED_LISTINGS)
    def test_a_response_that_is_not_a_list_raises_esp_refused(self, xml, message, serve):
        server = serve(SALESFORCE.listing_with(always(StubResponse(200, xml))))
        assert refusal(SALESFORCE.source(server.url)) == f"Salesforce Marketing Cloud {message}"

    @pytest.mark.parametrize("version", ["1.1", "1.2"])
    @pytest.mark.parametrize("status", [200, 400, 401, 403, 500])
    def test_a_soap_fault_is_reported_with_any_status(self, status, version, serve):
        code = "soap:Client" if version == "1.1" else "soap:Sender"
        reply = evolve(soap_fault(code, "Login Failed", version=version), status=status)
        server = serve(SALESFORCE.listing_with(always(reply)))
        message = "rejects the request with a SOAP fault: check RECIPIENT_FIELDS_SFMC_CLIENT_ID"
        assert message in refusal(SALESFORCE.source(server.url))
        assert len(SALESFORCE.listings(server)) == 1

    @pytest.mark.parametrize(
        ("code", "version", "status"),
        [
            ("soap:Server", "1.1", 500),
            ("soap:Server.Busy", "1.1", 500),
            ("soap:Server", "1.1", 400),
            ("soap:Receiver", "1.2", 500),
            ("soap:Client", "1.1", 503),
            ("soap:Sender", "1.2", 503),
            ("soap:Sender", "1.2", 520),
        ],
    )
    def test_a_soap_fault_of_the_server_is_retried(self, code, version, status, serve):
        fault = soap_fault(code, "Server was unable to process request", version=version)
        server = serve(SALESFORCE.listing_after([evolve(fault, status=status)] * 2))
        assert tuple(SALESFORCE.source(server.url).fields()) == SALESFORCE.reported

    def test_a_repeated_soap_fault_of_the_server_is_reported(self, serve):
        reply = evolve(soap_fault("soap:Receiver", "Busy", version="1.2"), status=503)
        server = serve(SALESFORCE.listing_with(always(reply)))
        message = refusal(SALESFORCE.source(server.url), EspUnavailable)
        assert "failed with a SOAP fault, in 3 attempts" in message

    def test_a_failed_token_request_is_retried(self, serve):
        server = serve(in_turn([StubResponse(429), StubResponse(500)], SALESFORCE.handler))
        assert tuple(SALESFORCE.source(server.url).fields()) == SALESFORCE.reported

    @pytest.mark.parametrize("document", [{}, {"access_token": None}, [], {"access_token": 5}])
    def test_an_invalid_token_response_raises_esp_refused(self, document, serve):
        server = serve(always(StubResponse.json(document)))
        assert "not as documented" in refusal(SALESFORCE.source(server.url))

    def test_a_response_within_the_limits_is_read(self, serve):
        xml = with_extra("<a>" * 30 + "</a>" * 30 + "<a/>" * 99_000 + " " * 3 * 2**20)
        server = serve(SALESFORCE.listing_with(always(StubResponse(200, xml))))
        assert list(SALESFORCE.source(server.url).fields()) == [field("Name")]

    def test_nested_elements_need_little_memory(self, serve):
        reply = StubResponse(200, b"<a>" * 500_000 + b"</a>" * 500_000)
        server = serve(SALESFORCE.listing_with(always(reply)))
        tracemalloc.start()
        try:
            assert "nested deeper" in refusal(SALESFORCE.source(server.url))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 * len(reply.body)

    @pytest.mark.parametrize(
        "subdomain", ["", "a.b", "evil.com/", "a@b", "-a", "a\n", "ä", "a" * 64]
    )
    def test_a_subdomain_that_is_not_one_label_raises_esp_refused(self, subdomain):
        settings = {**SALESFORCE.settings, "subdomain": subdomain}
        assert "letters, digits and hyphens" in refusal(SalesforceFieldSource(**settings))

    def test_each_service_has_its_own_host(self):
        source = SalesforceFieldSource(**SALESFORCE.settings, limits=TEST_LIMITS)
        assert source._url("auth") == "https://mc123.auth.marketingcloudapis.com"
        assert source._url("soap") == "https://mc123.soap.marketingcloudapis.com"
        assert SECRET not in repr(source)
