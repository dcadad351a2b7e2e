"""Behavior that is specific to one ESP."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from xml.sax.saxutils import escape

import pytest
from attrs import evolve

from recipient_fields.adapters.esp import MailchimpFieldSource, SalesforceFieldSource
from recipient_fields.domain import DataType
from recipient_fields.domain.integrations import (
    EspField,
    EspRefused,
    EspUnavailable,
    RefusedField,
    ReportedField,
)

from ...support.http_server import (
    Handler,
    ReceivedRequest,
    Reply,
    StubResponse,
    StubServer,
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
    Account,
    definitions,
    field,
    soap,
    soap_fault,
)

Serve = Callable[[Handler], StubServer]
ATTRIBUTES = " ".join(f'a{number}=""' for number in range(100_000))


def only_field(account: Account, document: object, serve: Serve) -> ReportedField:
    """Return the only field that is reported for this response."""
    (reported,) = account.source(serve(lambda _: StubResponse.json(document)).url).fields()
    return reported


class TestMailchimp:
    def test_a_403_without_a_body_is_retried(self, serve):
        server = serve(in_turn([StubResponse(403), StubResponse(429)], MAILCHIMP.handler))
        assert tuple(MAILCHIMP.source(server.url).fields()) == MAILCHIMP.reported

    def test_a_repeated_403_without_a_body_raises_esp_unavailable(self, serve):
        server = serve(lambda _: StubResponse(403))
        with pytest.raises(EspUnavailable, match=r"limits the rate of requests \(403\)"):
            list(MAILCHIMP.source(server.url).fields())
        assert len(server.requests) == 3

    @pytest.mark.parametrize("body", [b"<html>Access denied</html>", b"Forbidden", b" \n"])
    def test_a_403_without_a_json_object_is_a_rate_limit(self, body, serve):
        server = serve(in_turn([StubResponse(403, body)], MAILCHIMP.handler))
        assert tuple(MAILCHIMP.source(server.url).fields()) == MAILCHIMP.reported

    def test_a_403_with_a_problem_document_raises_esp_refused(self, serve):
        problem = {"type": "about:blank", "title": "User does not have access", "status": 403}
        server = serve(lambda _: evolve(StubResponse.json(problem), status=403))
        with pytest.raises(EspRefused, match="access to this audience"):
            list(MAILCHIMP.source(server.url).fields())
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "account", [BRAZE, BREVO, HUBSPOT, ITERABLE, KLAVIYO, SENDGRID], ids=lambda a: a.esp
    )
    def test_a_403_without_a_body_of_another_esp_raises_esp_refused(self, account, serve):
        with pytest.raises(EspRefused):
            list(account.source(serve(lambda _: StubResponse(403)).url).fields())

    @pytest.mark.parametrize(
        "key",
        [
            "0123456789abcdef",
            "k-",
            "k-evil.com/",
            "k-us7.evil.com#",
            "k-a@b",
            "k-us7\n",
            "k-us7:80",
            "k-ü",
        ],
    )
    def test_a_key_without_a_valid_data_center_raises_esp_refused(self, key):
        source = MailchimpFieldSource(api_key=key, list_id="a")
        with pytest.raises(EspRefused) as error:
            list(source.fields())
        assert str(error.value) == (
            "The Mailchimp key in RECIPIENT_FIELDS_MAILCHIMP_API_KEY does not end with a data"
            " center, such as -us7. Copy the whole key, or set RECIPIENT_FIELDS_MAILCHIMP_URL to"
            " https://api.mailchimp.com."
        )


class TestBraze:
    @pytest.mark.parametrize(
        ("data_type", "expected"),
        [
            ("String", DataType.TEXT),
            ("STRING", DataType.TEXT),
            ("Number (Automatically Detected)", DataType.NUMBER),
            ("Time", DataType.DATETIME),
            ("Object Array", LIST),
            ("object_array", LIST),
            ("Object (Automatically Detected)", OBJECT),
        ],
    )
    def test_a_data_type_is_recognized_in_each_spelling(self, data_type, expected, serve):
        reported = only_field(BRAZE, {"attributes": [{"name": "a", "data_type": data_type}]}, serve)
        assert expected == (
            reported.data_type if isinstance(reported, EspField) else reported.reason
        )


class TestHubSpot:
    @pytest.mark.parametrize("hidden", [None, False])
    def test_a_property_that_is_not_hidden_is_reported(self, hidden, serve):
        visible = {"name": "a", "label": "A", "type": "string", "hidden": hidden}
        assert only_field(HUBSPOT, {"results": [visible]}, serve) == field("a", label="A")

    def test_sensitive_properties_are_not_requested(self, serve):
        server = serve(HUBSPOT.handler)
        list(HUBSPOT.source(server.url).fields())
        assert server.requests[0].query == {"archived": "false", "dataSensitivity": "non_sensitive"}

    @pytest.mark.parametrize("type_name", ["bool", "enumeration"])
    @pytest.mark.parametrize("options", [[], None, [{"value": "true"}, {"value": "false"}]])
    def test_a_check_box_is_boolean(self, type_name, options, serve):
        check_box = {"name": "a", "label": "A", "type": type_name, "fieldType": "booleancheckbox"}
        document = {"results": [{**check_box, "options": options}]}
        assert only_field(HUBSPOT, document, serve) == field("a", "boolean", "A")

    def test_invalid_options_are_reported(self, serve):
        values = ["a", "a", " b ", ""]
        options = [{"label": "x", "value": value} for value in values]
        enumeration = {"name": "a", "label": "A", "type": "enumeration", "fieldType": "radio"}
        reported = only_field(HUBSPOT, {"results": [{**enumeration, "options": options}]}, serve)
        assert reported == field("a", label="A", allowed_values=values)


class TestSendGrid:
    def test_reserved_fields_are_reported_if_there_are_no_custom_fields(self, serve):
        document = {"reserved_fields": [{"name": "email", "field_type": "Text"}]}
        assert only_field(SENDGRID, document, serve) == field("email")

    def test_a_custom_field_with_the_name_of_a_reserved_list_is_text(self, serve):
        custom = [{"id": "e1_T", "name": "alternate_emails", "field_type": "Text"}]
        document = {"custom_fields": custom, "reserved_fields": []}
        assert only_field(SENDGRID, document, serve) == field("alternate_emails")

    def test_all_pages_are_read(self, serve):
        items = [{"id": f"e{i}_T", "name": f"f{i}", "field_type": "Text"} for i in range(250)]
        server = serve(definitions(items, size=100))
        names = [each.name for each in SENDGRID.source(server.url).fields()]
        reserved = [str(each["name"]) for each in RESERVED]
        assert names == [*(f"f{i}" for i in range(250)), *reserved]
        assert len(server.requests) == 3

    @pytest.mark.parametrize("link", ["", None])
    def test_an_empty_link_ends_the_list(self, link, serve):
        reserved = [{"name": "email", "field_type": "Text"}]
        document = {"reserved_fields": reserved, "_metadata": {"next": link}}
        assert only_field(SENDGRID, document, serve) == field("email")


class TestBrevo:
    def test_the_allowed_values_of_a_category_are_the_original_values(self, serve):
        options = [{"value": 1, "valueStr": "1"}, {"value": 0, "valueStr": "en"}]
        category = {"name": "A", "category": "category", "enumeration": options}
        assert only_field(BREVO, {"attributes": [category]}, serve) == field(
            "A", allowed_values=["1", "en"]
        )


class TestDefaults:
    @pytest.mark.parametrize("default", [None, "", 0, False, [], {}])
    def test_a_default_that_is_no_text_is_ignored(self, default, serve):
        item = {"tag": "A", "name": "A", "type": "text", "default_value": default}
        document = {"merge_fields": [item], "total_items": 1}
        assert only_field(MAILCHIMP, document, serve) == field("A", label="A")


class TestKlaviyo:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (["a"], "text"),
            ([True, False], "boolean"),
            ([0], "number"),
            ([1, 2.5], "number"),
            ([1, True], "text"),
            ([1, "1"], "text"),
            (["2026-11-20"], "date"),
            (["2026-11-20", "2026-11-20T09:15:00Z"], "datetime"),
            (["2026-11-20 09:15:00"], "datetime"),
            (["2026-11-20T09:15:00.123456+02:00"], "datetime"),
            (["2026-11-20", "soon"], "text"),
            (["2026-13-20"], "text"),
            (["2026-11-20T09:15:00 or later"], "text"),
            (["20261120"], "text"),
            (["2026-W47-5"], "text"),
            (["٢٠٢٦-11-20"], "text"),
            ([None, "", 5], "number"),
        ],
    )
    def test_the_type_of_a_property_is_the_type_of_all_its_values(self, values, expected, serve):
        data = [{"attributes": {"properties": {"a": value}}} for value in values]
        server = serve(lambda _: StubResponse.json({"data": data, "links": {"next": None}}))
        reported = list(KLAVIYO.source(server.url).fields())
        assert reported == [*STANDARD, field("a", expected)]

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            ([[]], LIST),
            ([{}], OBJECT),
            (["a", ["a"]], LIST),
            (
                [None, ""],
                "No profile that was read has a value, so its type is unknown.",
            ),
        ],
    )
    def test_a_property_without_a_type_is_refused(self, values, reason, serve):
        data = [{"attributes": {"properties": {"a": value}}} for value in values]
        server = serve(lambda _: StubResponse.json({"data": data}))
        reported = list(KLAVIYO.source(server.url).fields())
        assert reported == [*STANDARD, RefusedField("a", reason)]

    def test_a_profile_without_properties_is_accepted(self, serve):
        data = [{"attributes": {"properties": None}}, {"attributes": {}}]
        server = serve(lambda _: StubResponse.json({"data": data, "links": {}}))
        assert tuple(KLAVIYO.source(server.url).fields()) == STANDARD


def listing_reply(reply: Reply) -> Handler:
    """Return the handler of Salesforce with another response to the request for the fields."""
    return lambda request: (
        reply if request.path == SALESFORCE.listing else SALESFORCE.handler(request)
    )


class TestSalesforce:
    def test_a_run_requests_one_token(self, serve):
        server = serve(SALESFORCE.handler)
        list(SALESFORCE.source(server.url).fields())
        assert [request.path for request in server.requests] == [
            "/v2/token",
            *["/Service.asmx"] * 3,
        ]
        assert "account_id" not in json.loads(server.requests[0].body)

    def test_the_token_request_contains_the_business_unit(self, serve):
        server = serve(SALESFORCE.handler)
        list(SALESFORCE.source(server.url, account_id="500123").fields())
        assert json.loads(server.requests[0].body)["account_id"] == "500123"

    def test_an_empty_list_has_a_hint_about_shared_data_extensions(self, serve):
        source = SALESFORCE.source(serve(SALESFORCE.handler).url, data_extension="Other")
        with pytest.raises(EspRefused) as error:
            list(source.fields())
        assert str(error.value) == (
            "Salesforce Marketing Cloud has no data extension with this external key in this"
            " business unit: check RECIPIENT_FIELDS_SFMC_DATA_EXTENSION. If another business unit"
            " shares the data extension, set RECIPIENT_FIELDS_SFMC_ACCOUNT_ID to the MID of that"
            " unit."
        )

    def test_a_wrong_value_of_the_token_request_names_the_variables(self, serve):
        document = {"error": "invalid_request", "error_description": "No access to account 7."}
        server = serve(lambda _: evolve(StubResponse.json(document), status=400))
        with pytest.raises(EspRefused) as error:
            list(SALESFORCE.source(server.url, account_id="7").fields())
        assert str(error.value) == (
            "Salesforce Marketing Cloud issues no token (400): check"
            " RECIPIENT_FIELDS_SFMC_CLIENT_ID and RECIPIENT_FIELDS_SFMC_CLIENT_SECRET and"
            " RECIPIENT_FIELDS_SFMC_ACCOUNT_ID."
        )

    def test_a_token_error_of_the_credentials_names_their_variables(self, serve):
        document = {"error": "invalid_client", "error_description": "Invalid client ID."}
        server = serve(lambda _: evolve(StubResponse.json(document), status=401))
        with pytest.raises(EspRefused) as error:
            list(SALESFORCE.source(server.url).fields())
        assert str(error.value) == (
            "Salesforce Marketing Cloud does not accept these credentials (401): check"
            " RECIPIENT_FIELDS_SFMC_CLIENT_ID and RECIPIENT_FIELDS_SFMC_CLIENT_SECRET."
        )

    def test_a_failure_of_the_token_endpoint_is_not_about_fields(self, serve):
        with pytest.raises(EspRefused, match=r"rejects the request to get a token \(418\)"):
            list(SALESFORCE.source(serve(lambda _: StubResponse(418)).url).fields())

    @pytest.mark.parametrize("status", ["Error: API Permission Failed.", "", "ok"])
    def test_an_unsuccessful_response_names_the_permission(self, status, serve):
        def handler(request: ReceivedRequest) -> Reply:
            if request.path == SALESFORCE.listing:
                return soap(escape(status), [("Name", "Text")])
            return SALESFORCE.handler(request)

        with pytest.raises(EspRefused) as error:
            list(SALESFORCE.source(serve(handler).url).fields())
        assert str(error.value) == (
            "Salesforce Marketing Cloud refuses to list its fields. A possible reason is a missing"
            " permission: the API integration needs the scope data_extensions_read."
        )

    @pytest.mark.parametrize("version", ["1.1", "1.2"])
    @pytest.mark.parametrize("status", [200, 400, 401, 403, 500])
    def test_a_soap_fault_is_reported_with_any_status(self, status, version, serve):
        code = "soap:Client" if version == "1.1" else "soap:Sender"
        reply = evolve(soap_fault(code, "Login Failed", version=version), status=status)
        server = serve(listing_reply(reply))
        message = "rejects the request with a SOAP fault: check RECIPIENT_FIELDS_SFMC_CLIENT_ID"
        with pytest.raises(EspRefused, match=message):
            list(SALESFORCE.source(server.url).fields())
        assert len([request for request in server.requests if "Service" in request.path]) == 1

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
        fault = evolve(fault, status=status)
        faulty = in_turn([fault, fault], SALESFORCE.handler)
        server = serve(
            lambda request: (faulty if request.path == SALESFORCE.listing else SALESFORCE.handler)(
                request
            )
        )
        assert tuple(SALESFORCE.source(server.url).fields()) == SALESFORCE.reported

    def test_a_repeated_soap_fault_of_the_server_is_reported(self, serve):
        reply = evolve(soap_fault("soap:Receiver", "Busy", version="1.2"), status=503)
        with pytest.raises(EspUnavailable, match="failed with a SOAP fault, in 3 attempts"):
            list(SALESFORCE.source(serve(listing_reply(reply)).url).fields())

    def test_a_failed_token_request_is_retried(self, serve):
        server = serve(in_turn([StubResponse(429), StubResponse(500)], SALESFORCE.handler))
        assert tuple(SALESFORCE.source(server.url).fields()) == SALESFORCE.reported

    @pytest.mark.parametrize("document", [{}, {"access_token": None}, [], {"access_token": 5}])
    def test_an_invalid_token_response_raises_esp_refused(self, document, serve):
        with pytest.raises(EspRefused, match="not as documented"):
            list(SALESFORCE.source(serve(lambda _: StubResponse.json(document)).url).fields())

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_a_response_with_entities_raises_esp_refused(self, encoding, serve):
        whole = soap("OK", [("Name", "Text")]).body.decode()
        entities = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        hostile = (
            whole.replace("utf-8", encoding).replace("?>", f"?>{entities}").replace("Text", "&b;")
        )

        def handler(request: ReceivedRequest) -> Reply:
            if request.path == SALESFORCE.listing:
                return StubResponse(200, hostile.encode(encoding))
            return SALESFORCE.handler(request)

        with pytest.raises(EspRefused, match="not XML without a DTD"):
            list(SALESFORCE.source(serve(handler).url).fields())

    @pytest.mark.parametrize(
        ("extra", "limit"),
        [
            ("<a>" * 31 + "</a>" * 31, "nested deeper than 32 levels"),
            ("<a/>" * 100_000, "of more than 100,000 elements and attributes"),
            (f"<a {ATTRIBUTES}/>", "of more than 100,000 elements and attributes"),
            (" " * 4 * 2**20, "of more than 4 MiB"),
        ],
        ids=["depth", "elements", "attributes", "bytes"],
    )
    def test_a_response_beyond_a_limit_raises_esp_refused(self, extra, limit, serve):
        whole = soap("OK", [("Name", "Text")]).body.decode()
        large = whole.replace("</soap:Body>", f"{extra}</soap:Body>")
        server = serve(listing_reply(StubResponse(200, large.encode())))
        with pytest.raises(EspRefused) as error:
            list(SALESFORCE.source(server.url).fields())
        assert str(error.value) == f"Salesforce Marketing Cloud sent a response {limit}."

    def test_a_response_within_the_limits_is_read(self, serve):
        whole = soap("OK", [("Name", "Text")]).body.decode()
        extra = "<a>" * 30 + "</a>" * 30 + "<a/>" * 99_000 + " " * 3 * 2**20
        large = whole.replace("</soap:Body>", f"{extra}</soap:Body>")
        server = serve(listing_reply(StubResponse(200, large.encode())))
        assert list(SALESFORCE.source(server.url).fields()) == [field("Name")]

    def test_nested_elements_need_little_memory(self, serve):
        count = 500_000
        reply = StubResponse(200, b"<a>" * count + b"</a>" * count)
        server = serve(listing_reply(reply))
        tracemalloc.start()
        try:
            with pytest.raises(EspRefused, match="nested deeper"):
                list(SALESFORCE.source(server.url).fields())
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 8 * len(reply.body)

    def test_an_unknown_encoding_raises_esp_refused(self, serve):
        def handler(request: ReceivedRequest) -> Reply:
            if request.path == SALESFORCE.listing:
                return StubResponse(200, b'<?xml version="1.0" encoding="ut-8"?><a/>')
            return SALESFORCE.handler(request)

        with pytest.raises(EspRefused, match="not XML without a DTD"):
            list(SALESFORCE.source(serve(handler).url).fields())

    @pytest.mark.parametrize(
        "subdomain", ["", "a.b", "evil.com/", "a@b", "-a", "a\n", "ä", "a" * 64]
    )
    def test_a_subdomain_that_is_not_one_label_raises_esp_refused(self, subdomain):
        settings = {**SALESFORCE.settings, "subdomain": subdomain}
        with pytest.raises(EspRefused, match="letters, digits and hyphens"):
            list(SalesforceFieldSource(**settings).fields())

    def test_each_service_has_its_own_host(self):
        source = SalesforceFieldSource(**SALESFORCE.settings, limits=TEST_LIMITS)
        assert source._url("auth") == "https://mc123.auth.marketingcloudapis.com"
        assert source._url("soap") == "https://mc123.soap.marketingcloudapis.com"
        assert SECRET not in repr(source)
