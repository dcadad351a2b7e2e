"""Content and conditions through the client: what the library returns and raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, TypeAlias

import pytest
from attrs import evolve, frozen

from recipient_fields.adapters.client import RecipientFieldsClient, RequestRefused
from recipient_fields.adapters.memory import MemoryStorage
from recipient_fields.application import Core
from recipient_fields.application.content.code_documents import render_codes
from recipient_fields.application.documents.schemas import render_document
from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    FieldKey,
    IntegrationId,
    OrganizationId,
    RecipientFieldsError,
)
from recipient_fields.domain.conditions import parse_condition
from recipient_fields.domain.content import parse_content, read_content
from recipient_fields.domain.esp import Esp, ExportOptions
from recipient_fields.domain.integrations import ConversionOptions, EspField

from ...support.http_server import StubResponse, always
from .live_server import Keyring, application, live_server, stub_service

Call: TypeAlias = Callable[[Any, OrganizationId], Any]
"""A call of the library or of a client."""

KEYS = {OrganizationId(1): "key"}
BRAZE, MAILCHIMP, KLAVIYO = IntegrationId(1), IntegrationId(2), IntegrationId(3)


@frozen
class Both:
    """The library and a client on the same storage."""

    core: Core
    client: RecipientFieldsClient
    acme: OrganizationId


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    core = Core.over(MemoryStorage())
    acme = core.administration.create_organization("Acme").id
    integrations = core.integrations
    for esp in (Esp("braze"), Esp("mailchimp"), Esp("klaviyo"), Esp("klaviyo")):
        integration = integrations.create_integration(acme, esp=esp, name=esp)
        name = "TOWN" if esp == Esp("mailchimp") else "town"
        town = EspField(name=name, data_type=DataType.TEXT)
        integrations.sync_fields(acme, integration.id, [town])
    for key, data_type in (
        *(("tier", DataType.TEXT), ("visits", DataType.NUMBER)),
        *(("born", DataType.DATE), ("seen", DataType.DATETIME)),
    ):
        code = f"custom_attribute.${{{key}}}"
        codes: dict[str, Any] = {
            "custom_insertion_code": f"{{{{{code}}}}}",
            "custom_value_expression": code,
        }
        core.fields.create_field(
            acme, FieldDraft(name=key.title(), key=key, data_type=data_type, **codes)
        )
    level = FieldDraft(name="Level", data_type=DataType.TEXT, allowed_values=["gold", "silver"])
    core.fields.create_field(acme, level)
    with (
        live_server(application(core.storage)) as url,
        RecipientFieldsClient(url, Keyring(core.storage)[acme]) as client,
    ):
        yield Both(core, client, acme)


def outcome(call: Call, target: Any, acme: OrganizationId):
    """Return the result, or the class, the message and the attributes of the error."""
    try:
        return call(target, acme)
    except RecipientFieldsError as error:
        violations = [
            (each.rule, each.message, each.path, each.suggestion)
            for each in getattr(error, "violations", ())
        ]
        return type(error), str(error), violations, getattr(error, "member", None)


def exporting(text: str, *arguments: object) -> Call:
    return lambda content, acme: content.export_content(acme, parse_content(text), *arguments)


def checking(text: str, **options: object) -> Call:
    return lambda content, acme: content.check_content(acme, parse_content(text), **options)


def previewing(text: str, values: Mapping[str, object], **options: object) -> Call:
    return lambda content, acme: content.preview_content(
        acme, parse_content(text), values, **options
    )


CONTENT = 'Tier: {{recipient.tier | default: "none"}}.\n{{#if recipient.visits > 3}}!{{/if}}'
ESP = Esp("braze")
LENIENT = ExportOptions(strict=False, surface="subject", literals=["[[b]]"])
RECIPIENT = {
    "tier": "A & B",
    "visits": 4,
    "born": date(1985, 1, 31),
    "seen": datetime(2026, 11, 20, 9, tzinfo=UTC),
}
CALLS: dict[str, Call] = {
    "integrations": lambda content, acme: content.list_integrations(acme),
    "export": exporting(CONTENT, "braze"),
    "export of HTML": exporting(f"<p>{CONTENT}</p>", BRAZE, ExportOptions(raw=True)),
    "export with mistakes": exporting("*|A|* {{a}} {{a}} {{recipients.x}} [[b]]", ESP, LENIENT),
    "mistakes": exporting("Hello\n*|A|* {{a}} {{recipient.tear}}", ESP),
    "caveats": exporting("{{a}}\n {{a}}", ESP, ExportOptions(strict=True)),
    "invalid content": lambda content, acme: content.export_content(
        acme, read_content("{{/if}} {{recipient.tear}}"), ESP
    ),
    "several integrations": exporting(CONTENT, Esp("klaviyo")),
    "no integration": exporting(CONTENT, IntegrationId(99)),
    "check": checking(CONTENT),
    "check of mistakes": checking("{{recipient.tear}} *|FNAME|*"),
    "check with permitted mistakes": checking(
        "{{recipient.town}} *|FNAME|* [[b]]", strict=False, literals=["[[b]]"]
    ),
    "export of event data": exporting("{{event.a.b}}", ESP, ExportOptions(sent_by="context")),
    "conversion with caveats": lambda content, acme: content.convert_content(
        acme, "a\n{{ feeds.a }}", KLAVIYO, "braze", ConversionOptions(strict=True)
    ),
    "conversion from no integration": lambda content, acme: content.convert_content(
        acme, "a", IntegrationId(99), BRAZE
    ),
    "conversion to several integrations": lambda content, acme: content.convert_content(
        acme, "a", BRAZE, "klaviyo"
    ),
    "preview of event data": previewing("{{event.a[0].b}}", {}, event={"a": [{"b": "c"}]}),
    "preview": previewing(
        f"<p>{CONTENT} {{{{recipient.born}}}} {{{{recipient.seen}}}}</p>", RECIPIENT
    ),
    "preview with a value that is not allowed": previewing(
        "<p>{{recipient.level}}", {"level": "Gold"}
    ),
    "preview for a recipient with several invalid values": previewing(
        CONTENT, {"visits": "x", "born": "2026-02-29", "level": "Gold"}
    ),
    "preview as text": previewing("<p>{{recipient.tier}}", {"tier": "<b>"}, surface="text"),
    "preview of invalid content": previewing("{{recipient.tear}}", {}),
    "preview for an invalid recipient": previewing(CONTENT, {"tear": "gold"}),
    "condition": lambda content, acme: content.compile_condition(
        acme, parse_condition('tier = "gold" and visits > 3'), ESP, then="A", otherwise="B"
    ),
    "invalid condition": lambda content, acme: content.compile_condition(
        acme, parse_condition('tier = "gold"'), "braze", then="A{%"
    ),
    "no condition of the ESP": lambda content, acme: content.compile_condition(
        acme, parse_condition('town contains "x"'), MAILCHIMP, then="A"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_of_the_client_has_the_outcome_of_the_library(both, name):
    expected = outcome(CALLS[name], both.core.content, both.acme)
    assert outcome(CALLS[name], both.client, both.acme) == expected


NAMES = ConversionOptions(names={"TIER": "tier"})
OPTIONS = ConversionOptions(
    values={"sender.name": "Acme"},
    surface="subject",
    exact=True,
    sent_by="context",
    sent_by_source="event",
    bare="field",
)
CONVERTED: dict[str, Call] = {
    "to another ESP": lambda content, acme: content.convert_content(
        acme, "{{ person.tier|default:'none' }}\n{% if person.x %}{% endif %}", KLAVIYO, BRAZE
    ),
    "to content": lambda content, acme: content.convert_content(
        acme, "{{ person.TIER }} {{ feeds.a }}", KLAVIYO, options=NAMES
    ),
    "with all options": lambda content, acme: content.convert_content(
        acme, "{{ event.a }}{{ person.tier }}{{ organization.name }}", KLAVIYO, "braze", OPTIONS
    ),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_conversion_has_the_tags_with_reasons(both, name):
    expected = CONVERTED[name](both.core.content, both.acme)
    converted = CONVERTED[name](both.client, both.acme)

    assert converted == evolve(
        expected,
        tags=tuple(each for each in expected.tags if each.reasons),
        fields=tuple(evolve(each, values=()) for each in expected.fields),
    )


def test_the_codes_of_a_field_have_the_members_of_the_api(both):
    for reference in (FieldKey("tier"), FieldId(1)):
        listed = both.client.list_codes(both.acme, reference)
        codes = {"codes": [render_document(each) for each in listed]}
        assert codes == render_codes(both.core.content.list_codes(both.acme, reference))


def test_the_warnings_of_a_condition_have_no_places(both):
    condition = parse_condition('town = "Bern"')
    esp, compiled = both.client.compile_condition(both.acme, condition, MAILCHIMP, then="A")
    expected = both.core.content.compile_condition(both.acme, condition, MAILCHIMP, then="A")
    warnings = tuple(evolve(each, places=()) for each in expected[1].warnings)
    assert warnings
    assert (esp, compiled) == (expected[0], evolve(expected[1], warnings=warnings))


def test_a_violation_of_a_condition_has_its_path_in_the_json_form(both):
    condition = parse_condition('tier = "gold" and visits contains "3"')
    _, _, ((_, _, path, _),), _ = outcome(
        lambda client, acme: client.compile_condition(acme, condition, Esp("braze"), then="A"),
        both.client,
        both.acme,
    )
    assert path == ("all", 1, "op")


def test_a_key_that_means_the_field_of_the_integration_is_exported(both):
    content = parse_content("{{recipient.town}}")
    expected = both.core.content.export_content(both.acme, content, KLAVIYO)
    exported = both.client.export_content(both.acme, content, KLAVIYO)
    assert expected.resolved
    assert exported == evolve(expected, resolved={})


def test_content_above_the_limit_of_a_body_is_refused(both):
    content = parse_content("x" * (4 * 1024 * 1024))
    with pytest.raises(RequestRefused) as refused:
        both.client.export_content(both.acme, content, Esp("braze"))
    assert refused.value.code == "payload_too_large"


@pytest.mark.parametrize("value", [float("nan"), b"gold", {1: 2}])
def test_values_that_json_can_not_contain_are_refused_and_not_sent(value):
    with stub_service(always(StubResponse(200)), KEYS) as (server, client):
        kind, _, violations, _ = outcome(previewing("", {"tier": value}), client, OrganizationId(1))
    assert kind.__name__ == "InvalidRecipient"
    assert [path for _, _, path, _ in violations] == [("tier",)]
    assert server.requests == []


def test_another_object_in_place_of_an_argument_is_rejected(both):
    client: Any = both.client
    content, condition = parse_content("Hello"), parse_condition("tier is set")
    export, preview = client.export_content, client.preview_content
    compile_condition = partial(client.compile_condition, both.acme)
    for message, call in {
        "content must be a Content": lambda: export(both.acme, "Hello", "braze"),
        "options must be an ExportOptions": lambda: export(both.acme, content, "braze", {}),
        "target must be": lambda: export(both.acme, content, None),
        "values must be a Mapping": lambda: preview(both.acme, content, None),
        "condition must be a Condition": lambda: compile_condition("a is set", "braze", then=""),
        "then must be a str": lambda: compile_condition(condition, "braze", then=None),
    }.items():
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(ValueError, match="'Braze!' is no Esp"):
        client.export_content(both.acme, content, "Braze!")


def test_the_service_knows_the_names_of_esps(both):
    with pytest.raises(RequestRefused, match="Use one of sfmc, mailchimp, "):
        both.client.export_content(both.acme, parse_content("Hello"), "brase")


def test_a_code_of_a_later_version_is_the_general_one_of_its_kind() -> None:
    warning = {"line": 1, "column": 1, "message": "New.", "code": "new", "places": []}
    exported = {
        "content": "Hello",
        "surface": "text",
        "warnings": [{**warning, "kind": kind} for kind in ("mistake", "caveat")],
        "fields": [],
        "later": 1,
    }
    with stub_service(always(StubResponse.json(exported)), KEYS) as (_, client):
        result = client.export_content(OrganizationId(1), parse_content("Hello"), Esp("braze"))
    codes = [each.code.value for each in result.warnings]
    assert codes == ["foreign_code", "possibly_foreign_code"]
