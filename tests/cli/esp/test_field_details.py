"""Details of an ESP's field that only describe it, such as its choices, do not refuse the field."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import OrganizationId
from recipient_fields.domain.esp import Esp

from ...support.command_line import CommandLine, Run
from ...support.http_server import StubResponse, stub_server

Document: TypeAlias = Callable[[str, str | None, Sequence[str]], object]
"""Returns a response of an ESP with one field: its name, its label and its choices."""


def merge_fields(name: str, label: str | None, choices: Sequence[str]) -> object:
    item = {"tag": name, "name": label, "type": "dropdown", "options": {"choices": choices}}
    return {"merge_fields": [item], "total_items": 1}


def custom_fields(name: str, label: str | None, choices: Sequence[str]) -> object:
    ids = [str(number) for number, _ in enumerate(choices, start=1)]
    return {
        "fields": [{"perstag": name, "title": label, "type": "dropdown", "options": ids}],
        "fieldOptions": [
            {"id": each, "value": choice} for each, choice in zip(ids, choices, strict=True)
        ],
        "meta": {"total": "1"},
    }


def properties(name: str, label: str | None, choices: Sequence[str]) -> object:
    options = [{"label": choice, "value": choice} for choice in choices]
    kind = {"type": "enumeration", "fieldType": "select"}
    return {"results": [{"name": name.lower(), "label": label, **kind, "options": options}]}


def attributes(name: str, _label: str | None, choices: Sequence[str]) -> object:
    values = [{"label": choice, "valueStr": choice} for choice in choices]
    return {"attributes": [{"name": name, "category": "category", "enumeration": values}]}


def report(name: str, label: str | None, choices: Sequence[str]) -> object:
    return {
        "fields": [{"name": name, "label": label, "data_type": "text", "allowed_values": choices}]
    }


CONNECTORS: Mapping[Esp, tuple[Document, Mapping[str, str]]] = {
    Esp("mailchimp"): (merge_fields, {"API_KEY": "k-us1", "LIST_ID": "L"}),
    Esp("activecampaign"): (custom_fields, {"API_KEY": "k"}),
    Esp("hubspot"): (properties, {"ACCESS_TOKEN": "t"}),
    Esp("brevo"): (attributes, {"API_KEY": "k"}),
}
"""The ESPs whose APIs list choices, with the settings of their connectors."""
SOURCES = [*CONNECTORS, Esp("customerio")]
"""Customer.io is synced from a file."""
WITHOUT_VALUES = "It is synced without allowed values."
CASES: Mapping[str, tuple[Sequence[str], str, Sequence[str] | None]] = {
    "a blank at the end": (
        ["Gold", "Silver ", "Bronze"],
        f'{WITHOUT_VALUES} Choice 2, "Silver ": Remove the white space at the ends.',
        None,
    ),
    "an empty choice": (
        ["", "CEO"],
        "Choice 1 is empty: it means that no value is set.",
        ["CEO"],
    ),
    "the 1,001st choice": (
        [f"A{number:04}" for number in range(1_001)],
        f"{WITHOUT_VALUES} It has 1,001 choices. List at most 1,000 values.",
        None,
    ),
}


@pytest.fixture(params=SOURCES)
def sync(
    request: pytest.FixtureRequest, cli: CommandLine, core: Core, acme: OrganizationId
) -> Callable[..., Run]:
    """Return a function that syncs one field from a connector or a file."""
    esp: Esp = request.param
    integration = core.integrations.create_integration(acme, esp=esp, name="Main")
    command = ("integrations", "sync", integration.id, "--organization", acme)

    def run(*field: Any) -> Run:
        if esp not in CONNECTORS:
            return cli(*command, "--from", "-", "--json", stdin=json.dumps(report(*field)))
        document, settings = CONNECTORS[esp]
        with stub_server(lambda _: StubResponse.json(document(*field))) as server:
            variables = {**settings, "URL": server.url}
            prefix = f"RECIPIENT_FIELDS_{esp.upper()}_"
            environment = {prefix + name: value for name, value in variables.items()}
            return cli(*command, "--json", **environment)

    return run


@pytest.mark.parametrize("case", CASES)
def test_a_field_is_synced_and_its_impossible_choice_is_reported(
    sync: Callable[..., Run],
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    tmp_path: Path,
    case: str,
) -> None:
    choices, message, expected = CASES[case]

    result = sync("LEVEL", "Level", choices).document()["sync"]

    assert (result["created"], result["refused"]) == (["level"], [])
    assert [each["message"] for each in result["caveats"]] == [message]
    (field,) = core.fields.list_fields(acme).fields
    assert (field.allowed_values and list(field.allowed_values.values)) == expected
    content = tmp_path / "email.txt"
    content.write_text("Your level: {{recipient.level}}")
    cli("content", "export", "--organization", acme, "--integration", 1, content).messages()


def test_a_label_is_cleaned_and_reported(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    core.integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main")
    run = cli(
        *("integrations", "sync", 1, "--organization", acme, "--from", "-"),
        stdin=json.dumps(report("SHOP", "Preferred\tshop", ["Oslo"])),
    )
    reason = 'Its label is stored as "Preferred shop". Remove line breaks and control characters.'
    assert run.table() == [
        "CHANGE   KEY   ESP FIELD  REASON",
        "created  shop  SHOP       -",
        f"caveat   -     SHOP       {reason}",
    ]
    assert [field.name for field in core.fields.list_fields(acme).fields] == ["Preferred shop"]
