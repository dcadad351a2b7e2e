"""What only one ESP does."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from recipient_fields.adapters.esp import MailchimpFieldSource, SalesforceFieldSource
from recipient_fields.domain import DataType
from recipient_fields.domain.esp import (
    EspField,
    EspRefused,
    EspUnavailable,
    RefusedField,
    ReportedField,
)

from ...support.http_server import Act, Heard, Play, Played, Stage, in_turn
from .accounts import (
    ACTIVECAMPAIGN,
    BRAZE,
    BREVO,
    HUBSPOT,
    ITERABLE,
    KLAVIYO,
    LIST,
    MAILCHIMP,
    OBJECT,
    QUICK,
    SALESFORCE,
    SECRET,
    SENDGRID,
    STANDARD,
    Account,
    field,
    soap,
)

Staging = Callable[[Play], Stage]


def only(account: Account, answer: object, stage: Staging) -> ReportedField:
    """The one thing that is reported of that answer."""
    (reported,) = account.source(stage(lambda _: Played.json(answer)).url).fields()
    return reported


class TestMailchimp:
    def test_a_403_without_a_body_limits_the_rate(self, stage: Staging):
        playing = stage(in_turn([Played(403), Played(429)], MAILCHIMP.play))
        assert tuple(MAILCHIMP.source(playing.url).fields()) == MAILCHIMP.reported

    def test_a_403_without_a_body_that_stays_is_no_refusal(self, stage: Staging):
        playing = stage(lambda _: Played(403))
        with pytest.raises(EspUnavailable, match=r"limits the rate of requests \(403\)"):
            list(MAILCHIMP.source(playing.url).fields())
        assert len(playing.heard) == 3

    def test_a_403_with_a_body_is_a_refusal(self, stage: Staging):
        playing = stage(lambda _: Played(403, b"x"))
        with pytest.raises(EspRefused, match="access to this audience"):
            list(MAILCHIMP.source(playing.url).fields())
        assert len(playing.heard) == 1

    @pytest.mark.parametrize(
        "account", [BRAZE, BREVO, HUBSPOT, ITERABLE, KLAVIYO, SENDGRID], ids=lambda a: a.esp.value
    )
    def test_a_403_without_a_body_of_another_esp_is_a_refusal(self, account, stage: Staging):
        with pytest.raises(EspRefused):
            list(account.source(stage(lambda _: Played(403)).url).fields())

    @pytest.mark.parametrize(
        "key", ["k-", "k-evil.com/", "k-us7.evil.com#", "k-a@b", "k-us7\n", "k-us7:80", "k-ü"]
    )
    def test_a_key_that_names_no_data_centre_is_a_refusal(self, key):
        source = MailchimpFieldSource(api_key=key, list_id="a")
        with pytest.raises(EspRefused, match="letters, digits and hyphens") as error:
            list(source.fields())
        assert key not in str(error.value)


class TestActiveCampaign:
    def test_an_option_that_is_not_listed_is_another_answer(self, stage: Staging):
        answer = {
            "fields": [
                {"id": "1", "perstag": "A", "title": "A", "type": "radio", "options": ["7"]}
            ],
            "fieldOptions": [],
            "meta": {"total": "1"},
        }
        with pytest.raises(EspRefused, match="an option of a field is not listed"):
            only(ACTIVECAMPAIGN, answer, stage)


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
    def test_a_type_is_read_however_it_is_written(self, data_type, expected, stage: Staging):
        reported = only(BRAZE, {"attributes": [{"name": "a", "data_type": data_type}]}, stage)
        assert expected == (
            reported.data_type if isinstance(reported, EspField) else reported.reason
        )


class TestHubSpot:
    @pytest.mark.parametrize("hidden", [None, False])
    def test_what_is_not_said_to_be_hidden_is_shown(self, hidden, stage: Staging):
        shown = {"name": "a", "label": "A", "type": "string", "hidden": hidden}
        assert only(HUBSPOT, {"results": [shown]}, stage) == field("a", label="A")

    def test_options_that_no_field_allows_are_reported_for_the_run_to_refuse(self, stage: Staging):
        values = ["a", "a", " b ", ""]
        options = [{"label": "x", "value": value} for value in values]
        enumeration = {"name": "a", "label": "A", "type": "enumeration", "fieldType": "radio"}
        reported = only(HUBSPOT, {"results": [{**enumeration, "options": options}]}, stage)
        assert reported == field("a", label="A", allowed_values=values)


class TestSendGrid:
    def test_without_custom_fields_the_reserved_ones_remain(self, stage: Staging):
        answer = {"reserved_fields": [{"name": "email", "field_type": "Text"}]}
        assert only(SENDGRID, answer, stage) == field("email")


class TestIterable:
    def test_a_name_is_told_on_one_line_and_not_at_length(self, stage: Staging):
        name = "\x1b[31m\n\u202e" + "x" * 1_000
        with pytest.raises(EspRefused, match="This must be a string") as error:
            only(ITERABLE, {"fields": {name: 5}}, stage)
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 200


class TestBrevo:
    def test_a_categorys_value_is_a_number(self, stage: Staging):
        options = [{"value": "gold", "label": "gold"}]
        attribute = {"name": "TIER", "category": "category", "enumeration": options}
        with pytest.raises(EspRefused, match=r"enumeration\.0\.value: This must be a whole number"):
            only(BREVO, {"attributes": [attribute]}, stage)


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
    def test_a_type_is_what_the_values_have_in_common(self, values, expected, stage: Staging):
        data = [{"attributes": {"properties": {"a": value}}} for value in values]
        playing = stage(lambda _: Played.json({"data": data, "links": {"next": None}}))
        reported = list(KLAVIYO.source(playing.url).fields())
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
    def test_values_that_tell_no_type_are_refused(self, values, reason, stage: Staging):
        data = [{"attributes": {"properties": {"a": value}}} for value in values]
        playing = stage(lambda _: Played.json({"data": data}))
        reported = list(KLAVIYO.source(playing.url).fields())
        assert reported == [*STANDARD, RefusedField("a", reason)]

    def test_a_profile_may_have_no_properties(self, stage: Staging):
        data = [{"attributes": {"properties": None}}, {"attributes": {}}]
        playing = stage(lambda _: Played.json({"data": data, "links": {}}))
        assert tuple(KLAVIYO.source(playing.url).fields()) == STANDARD


class TestSalesforce:
    def test_one_token_serves_a_run(self, stage: Staging):
        playing = stage(SALESFORCE.play)
        list(SALESFORCE.source(playing.url).fields())
        assert [heard.path for heard in playing.heard] == ["/v2/token", *["/Service.asmx"] * 3]
        assert "account_id" not in json.loads(playing.heard[0].body)

    def test_the_token_is_for_the_business_unit_that_is_named(self, stage: Staging):
        playing = stage(SALESFORCE.play)
        list(SALESFORCE.source(playing.url, account_id="500123").fields())
        assert json.loads(playing.heard[0].body)["account_id"] == "500123"

    def test_a_data_extension_that_is_not_there_is_a_refusal(self, stage: Staging):
        source = SALESFORCE.source(stage(SALESFORCE.play).url, data_extension="Other")
        with pytest.raises(EspRefused, match="no data extension with this external key"):
            list(source.fields())

    @pytest.mark.parametrize("status", ["Error: API Permission Failed", "", "ok", "HasErrors"])
    def test_a_status_other_than_success_is_a_refusal(self, status, stage: Staging):
        def play(heard: Heard) -> Act:
            if heard.path == SALESFORCE.listing:
                return soap(status, [("Name", "Text")])
            return SALESFORCE.play(heard)

        with pytest.raises(EspRefused, match="data_extensions_read"):
            list(SALESFORCE.source(stage(play).url).fields())

    def test_trouble_with_the_token_is_overcome(self, stage: Staging):
        playing = stage(in_turn([Played(429), Played(500)], SALESFORCE.play))
        assert tuple(SALESFORCE.source(playing.url).fields()) == SALESFORCE.reported

    @pytest.mark.parametrize("answer", [{}, {"access_token": None}, [], {"access_token": 5}])
    def test_another_token_is_another_answer(self, answer, stage: Staging):
        with pytest.raises(EspRefused, match="not as documented"):
            list(SALESFORCE.source(stage(lambda _: Played.json(answer)).url).fields())

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
    def test_entities_are_not_expanded(self, encoding, stage: Staging):
        whole = soap("OK", [("Name", "Text")]).body.decode()
        laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        hostile = (
            whole.replace("utf-8", encoding).replace("?>", f"?>{laughs}").replace("Text", "&b;")
        )

        def play(heard: Heard) -> Act:
            if heard.path == SALESFORCE.listing:
                return Played(200, hostile.encode(encoding))
            return SALESFORCE.play(heard)

        with pytest.raises(EspRefused, match="not XML without a DTD"):
            list(SALESFORCE.source(stage(play).url).fields())

    def test_an_unknown_encoding_is_a_refusal(self, stage: Staging):
        def play(heard: Heard) -> Act:
            if heard.path == SALESFORCE.listing:
                return Played(200, b'<?xml version="1.0" encoding="ut-8"?><a/>')
            return SALESFORCE.play(heard)

        with pytest.raises(EspRefused, match="not XML without a DTD"):
            list(SALESFORCE.source(stage(play).url).fields())

    @pytest.mark.parametrize(
        "subdomain", ["", "a.b", "evil.com/", "a@b", "-a", "a\n", "ä", "a" * 64]
    )
    def test_a_subdomain_is_one_label(self, subdomain):
        settings = {**SALESFORCE.settings, "subdomain": subdomain}
        with pytest.raises(EspRefused, match="letters, digits and hyphens"):
            list(SalesforceFieldSource(**settings).fields())

    def test_its_services_have_hosts_of_their_own(self):
        source = SalesforceFieldSource(**SALESFORCE.settings, limits=QUICK)
        assert source._api("auth", {}).url == "https://mc123.auth.marketingcloudapis.com"
        assert source._api("soap", {}).url == "https://mc123.soap.marketingcloudapis.com"
        assert SECRET not in repr(source)
