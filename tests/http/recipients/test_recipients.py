"""The schema of recipients, and the check of their data over HTTP."""

from __future__ import annotations

import json
import logging

import pytest

from recipient_fields.domain import closest_match

from ...support.growth import count_calls
from ..api import RECIPIENT_CHECKS, RECIPIENT_SCHEMA, Api, ApiResponse

STORAGES = ("memory",)  # Of the storage, these requests only list the fields.

QUOTED = "This is a text. Write the number 3 without quotes."
TIER = {"name": "Loyalty tier", "data_type": "text", "allowed_values": ["gold", "silver"]}


def check(api: Api, *recipients: object) -> ApiResponse:
    return api.send("POST", RECIPIENT_CHECKS, json.dumps({"recipients": recipients}))


@pytest.fixture(autouse=True)
def fields(api: Api) -> None:
    api.put("loyalty_tier", TIER)
    api.put("size", {"name": "Size", "data_type": "number"})
    api.put("seen", {"name": "Seen", "data_type": "datetime"})


class TestSchema:
    def test_it_describes_each_field(self, reader):
        schema = reader.send("GET", RECIPIENT_SCHEMA).json
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["additionalProperties"] is False
        assert list(schema["properties"]) == ["loyalty_tier", "size", "seen"]
        assert schema["properties"]["loyalty_tier"]["title"] == "Loyalty tier"
        assert schema["properties"]["loyalty_tier"]["enum"] == ["gold", "silver", None]

    def test_other_members_can_be_permitted(self, reader):
        schema = reader.send("GET", f"{RECIPIENT_SCHEMA}?additional=true").json
        assert schema["additionalProperties"] is True

    def test_it_is_sent_once_per_version(self, api):
        first = api.send("GET", RECIPIENT_SCHEMA)
        assert api.send("GET", RECIPIENT_SCHEMA, if_none_match=first.etag).status == 304
        api.delete("size")
        second = api.send("GET", RECIPIENT_SCHEMA, if_none_match=first.etag)
        assert second.status == 200
        assert list(second.json["properties"]) == ["loyalty_tier", "seen"]

    @pytest.mark.parametrize("query", ["additional=yes", "additional=", "other=1"])
    def test_other_parameters_are_rejected(self, reader, query):
        response = reader.send("GET", f"{RECIPIENT_SCHEMA}?{query}")
        assert response.status_and_code == (400, "invalid_parameter")

    @pytest.mark.parametrize("accept", ["application/schema+json", "application/json", "*/*"])
    def test_clients_can_accept_json_or_json_schema(self, reader, accept):
        assert reader.send("GET", RECIPIENT_SCHEMA, accept=accept).status == 200
        assert reader.send("GET", RECIPIENT_SCHEMA, accept="text/html").status == 406

    def test_another_organization_has_its_own_schema(self, brewery):
        assert brewery.send("GET", RECIPIENT_SCHEMA).json["properties"] == {}


class TestChecks:
    def test_each_recipient_has_a_result_in_order(self, reader):
        response = check(
            reader,
            {"loyalty_tier": "gold", "size": 1.0, "seen": "2026-11-20T10:15:00+01:00"},
            {"loyalty_tier": "Gold", "size": "3", "sise": 4},
            {},
            {"size": None},
        )
        assert response.status == 200
        valid, invalid, empty, unset = response.json["results"]
        assert valid == {
            "valid": True,
            "recipient": {"loyalty_tier": "gold", "size": 1, "seen": "2026-11-20T09:15:00.000Z"},
        }
        assert invalid == {
            "valid": False,
            "violations": [
                {
                    "pointer": "/loyalty_tier",
                    "code": "unknown_value",
                    "message": "Use one of gold, silver.",
                    "suggestion": "gold",
                },
                {
                    "pointer": "/size",
                    "code": "type",
                    "message": QUOTED,
                },
                {
                    "pointer": "/sise",
                    "code": "unknown_field",
                    "message": "There is no recipient field with this key.",
                    "suggestion": "size",
                },
            ],
        }
        assert empty == {"valid": True, "recipient": {}}
        assert unset == {"valid": True, "recipient": {"size": None}}

    def test_a_thousand_recipients_can_be_sent(self, reader):
        recipient = {"loyalty_tier": "gold", "size": 3, "seen": "2026-11-20T10:15:00Z"}
        response = check(reader, *[recipient] * 1000)
        assert [result["valid"] for result in response.json["results"]] == [True] * 1000
        response = check(reader, *[{}] * 1001)
        assert response.violations == ["/recipients: too_many_items"]

    @pytest.mark.parametrize(
        ("body", "violation"),
        [
            ('{"recipients": []}', "/recipients: empty"),
            ('{"recipients": {}}', "/recipients: type"),
            ('{"recipients": [{}, 3]}', "/recipients/1: type"),
            ("{}", "/recipients: required"),
            ('{"recipients": [{}], "strict": true}', "/strict: unknown_field"),
            ("[]", ": type"),
        ],
    )
    def test_other_documents_are_rejected(self, reader, body, violation):
        assert reader.send("POST", RECIPIENT_CHECKS, body).violations == [violation]

    @pytest.mark.parametrize("text", [r"a\u0000b", r"\ud800"])
    def test_a_bad_character_is_a_violation_of_its_recipient(self, reader, text):
        body = f'{{"recipients": [{{"{text}": 1}}, {{"loyalty_tier": "{text}"}}]}}'
        first, second = reader.send("POST", RECIPIENT_CHECKS, body).json["results"]
        assert first["violations"][0]["pointer"] == ""
        assert second["violations"][0]["pointer"] == "/loyalty_tier"

    @pytest.mark.parametrize("text", [r"a\u0000b", r"\ud800"])
    def test_a_bad_character_in_a_name_is_a_violation_of_the_document(self, reader, text):
        body = f'{{"recipients": [{{}}], "{text}": 1}}'
        response = reader.send("POST", RECIPIENT_CHECKS, body)
        assert response.violations == [": invalid_characters"]

    def test_nothing_is_stored_and_no_value_is_logged(self, reader, caplog):
        caplog.set_level(logging.DEBUG)
        before = reader.state()
        check(reader, {"loyalty_tier": "a secret value"})
        assert reader.state() == before
        assert "a secret value" not in caplog.text

    def test_fields_of_another_organization_are_unknown(self, brewery):
        (result,) = check(brewery, {"size": 3}).json["results"]
        assert [each["code"] for each in result["violations"]] == ["unknown_field"]

    def test_suggestions_are_limited(self, reader):
        results = check(reader, *[{"sise": 1}] * 200).json["results"]
        assert sum("suggestion" in result["violations"][0] for result in results) == 50

    def test_violations_are_limited(self, reader):
        recipient = {f"unknown{number}": 1 for number in range(30)}
        results = check(reader, *[recipient] * 335, {"size": 1}, {"size": "1"}).json["results"]
        counts = [len(result.get("violations", ())) for result in results]
        assert counts == [30] * 333 + [10, 1, 0, 1]
        assert [result["valid"] for result in results] == [False] * 335 + [True, False]

    def test_few_of_many_unknown_keys_that_resemble_fields_have_suggestions(self, api):
        for number in range(100):
            api.put(f"number_of_something_{number}", {"name": "Number", "data_type": "number"})
        recipient = {f"nomber_of_somethin_{number}": 1 for number in range(10_000)}
        (result,) = check(api, recipient).json["results"]
        assert len(result["violations"]) == 10_000
        assert sum("suggestion" in each for each in result["violations"]) == 20
        assert count_calls(closest_match, lambda: check(api, recipient)) == 20
