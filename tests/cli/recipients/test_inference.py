"""The command `recipients infer`: from a file to definitions that accept it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recipient_fields.domain import (
    DataType,
)
from recipient_fields.domain.integrations import EspField, SetName

from ...support.command_line import CommandLine, Run
from ...support.fields import add_field
from ...support.integrations import add_integration

SPREADSHEET = """\
Kunden-Nr.;Vorname;PLZ;"Umsatz
(€)";Stufe;Seit;Имя
10001;Ada;01067;12,50;gold;01.02.2024;Ада
10002;"Zoë ""Z;"" B.";10115;7;silver;28.02.2024;
10003;Ben;10117;1000,00;gold;29.02.2024;Бен
10004;;10117;;silver;29.02.2024;Бен
10005;Eve;10119;k. A.;gold;;Ева
10006;Tom;10119;3;gold;01.03.2024;Том
"""
DOCUMENT = """\
fields:
  kunden_nr:
    name: Kunden-Nr.
    data_type: text
  vorname:
    name: Vorname
    data_type: text
  plz:
    name: PLZ
    data_type: text
  umsatz:
    name: Umsatz (€)
    data_type: text
  stufe:
    name: Stufe
    data_type: text
    allowed_values:
    - gold
    - silver
  seit:
    name: Seit
    data_type: text
  field_7:
    name: Имя
    data_type: text
"""
NOTES = [
    (
        "kunden_nr: Its values have only digits, like postal codes, so its data type is text. Use"
        " number for amounts."
    ),
    "umsatz: Its data type would be number without the value in line 7.",
    (
        "seit: Its values look like dates. Write them like 2026-11-20 for a date field, and like"
        " 2026-11-20T09:15:00Z for a datetime field."
    ),
    "seit: To make it a date field, use --date-format D.M.YYYY.",
    (
        "field_7: No valid, unused key can be derived from its name. Choose a key before you create"
        " the field: it can't be changed later."
    ),
    "Proposed 7 fields for 6 recipients.",
]


@pytest.fixture
def infer(cli: CommandLine, tmp_path: Path) -> Callable[..., Run]:
    """Return a function that infers fields from a file with this content."""

    def infer(content: str | bytes, *arguments: str | int, name: str = "list.csv") -> Run:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        run = cli("recipients", "infer", path, *arguments)
        return Run(run.status, run.out, run.err.replace(f"{tmp_path}/", ""))

    return infer


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_fields_of_a_spreadsheet_are_created_and_accept_it(
    infer, cli, acme, tmp_path, encoding
):
    content = SPREADSHEET.replace("\n", "\r\n").encode(encoding)
    inferred = infer(content, "--decimal", ",")
    assert (inferred.out, inferred.messages().splitlines()) == (DOCUMENT, NOTES)
    (tmp_path / "fields.yaml").write_text(inferred.out)
    applied = cli("apply", tmp_path / "fields.yaml", "--organization", acme, "--yes")
    assert applied.status == 0
    checked = cli("recipients", "check", tmp_path / "list.csv", "--organization", acme)
    assert checked.messages() == "Checked 6 recipients: 6 valid, 0 invalid.\n"


def test_the_fields_of_json_lines_are_proposed(infer):
    lines = '{"size": 42.5, "vip": true, "firstName": "Ada"}\n\n[]\n{"size": null, "zip": "1"}\n'
    inferred = infer(lines, "--json", name="list.jsonl")
    assert inferred.document() == {
        "fields": {
            "size": {"name": "size", "data_type": "number"},
            "vip": {"name": "vip", "data_type": "boolean"},
            "firstname": {"name": "firstName", "data_type": "text"},
            "zip": {"name": "zip", "data_type": "text"},
        }
    }
    assert inferred.messages().splitlines() == [
        "list.jsonl:3: The line must be a JSON object.",
        "Skipped 1 invalid row. `recipients check` reports them.",
        "firstname: In JSON Lines, a recipient has keys. Rename the member firstName to firstname.",
        "Proposed 4 fields for 2 recipients.",
    ]


def test_columns_that_are_fields_already_are_left_out(run, core, acme, tmp_path):
    add_field(core, acme, "Tier")
    add_field(core, acme, "Shoe size", data_type=DataType.NUMBER)
    (tmp_path / "list.csv").write_text("tier,Shoe size,Age\ngold,42,30\n")
    inferred = run(acme, "recipients", "infer", tmp_path / "list.csv", "--json")
    assert list(inferred.document()["fields"]) == ["age"]
    assert inferred.messages() == "Proposed 1 field for 1 recipient.\n"


def test_columns_with_the_names_of_an_integration_are_left_out(run, core, acme, tmp_path):
    tier = EspField(name="TIER", data_type=DataType.TEXT, label="Tier of the shop")
    shop = add_integration(core, acme, "mailchimp", "Shop", tier)
    path = tmp_path / "list.csv"
    path.write_text("TIER,Age\ngold,30\n")
    inferred = run(acme, "recipients", "infer", path, "--integration", shop.id, "--json")
    assert list(inferred.document()["fields"]) == ["age"]
    unsynced = run(acme, "recipients", "infer", path, "--integration", 99).failure()
    assert unsynced == "Integration 99 has no fields. Check its id, or sync it first."


def test_the_names_of_an_integration_require_an_organization(infer):
    usage = infer("TIER\ngold\n", "--integration", "1").usage_error()
    assert usage == "--integration requires --organization or --url."


def test_columns_with_names_that_were_set_are_left_out(cli, core, acme, tmp_path):
    add_field(core, acme, "Loyalty tier")
    shop = core.integrations.create_integration(acme, esp="mailchimp", name="Shop")
    core.integrations.set_names(acme, shop.id, {"loyalty_tier": SetName("TIER")})
    path = tmp_path / "list.csv"
    path.write_text("TIER,Age\ngold,30\n")
    target = ("--organization", acme, "--integration", shop.id)
    inferred = cli("recipients", "infer", path, *target, "--json")
    assert list(inferred.document()["fields"]) == ["age"]


def test_the_names_of_an_integration_require_columns(infer):
    usage = infer("{}", "--integration", "1", name="list.jsonl").usage_error()
    assert usage == "--integration requires a file with columns."


def test_a_file_without_recipients_is_a_failure(infer):
    assert infer("tier,size\n").failure() == "list.csv has no recipients."


def test_a_file_with_only_invalid_rows_is_rejected_with_the_first_one(infer):
    inferred = infer("tier,size\ngold\nsilver\n")
    assert (inferred.status, inferred.err) == (
        1,
        (
            "list.csv:2: The row has 1 cell, and the header has 2.\n"
            "Error: list.csv has no recipients.\n"
        ),
    )


def test_the_number_of_allowed_values_is_an_option(infer):
    content = "tier\n" + "gold\nsilver\n" * 3
    assert "allowed_values" in infer(content, "--max-allowed-values", 2).out
    assert "allowed_values" not in infer(content, "--max-allowed-values", 1).out
