"""The option `--allowed-values` of `recipient-fields fields`."""

from __future__ import annotations

import json

import pytest

from recipient_fields.domain import OrganizationId

from ..support.command_line import CommandLine, Run


def create(cli: CommandLine, organization: OrganizationId, data_type: str, values: str) -> Run:
    arguments = ("--organization", organization, "--name", "N", "--data-type", data_type)
    return cli("fields", "create", *arguments, "--allowed-values", values, "--json")


@pytest.mark.parametrize(
    ("data_type", "values", "expected"),
    [
        ("text", '["gold", "silver"]', ["gold", "silver"]),
        ("text", r'["\u00e9"]', ["é"]),
        ("number", "[3, 1, 2.5]", [3, 1, 2.5]),
        ("date", '["2026-11-20"]', ["2026-11-20"]),
        ("datetime", '["2026-11-20T10:15:00+01:00"]', ["2026-11-20T09:15:00.000Z"]),
        ("text", "null", None),
        ("boolean", "null", None),
        ("text", " null ", None),
        ("text", '\n["a"]', ["a"]),
    ],
)
def test_a_json_array_keeps_its_order_and_null_permits_every_value(
    cli: CommandLine, acme: OrganizationId, data_type: str, values: str, expected: object
) -> None:
    field = create(cli, acme, data_type, values).document()["recipient_field"]

    assert field["allowed_values"] == expected


@pytest.mark.parametrize(
    ("data_type", "values", "expected"),
    [
        ("text", "red,green", ["red", "green"]),
        ("text", " red, light green ,blue", ["red", "light green", "blue"]),
        ("text", "red", ["red"]),
        ("text", "5,true,null,{}", ["5", "true", "null", "{}"]),
        ("text", '"gold",[x]', ['"gold"', "[x]"]),
        ("number", "3, 1,2.5,-1e3", [3, 1, 2.5, -1000]),
        ("number", "5", [5]),
        ("date", "2026-11-20,2026-11-21", ["2026-11-20", "2026-11-21"]),
        ("datetime", "2026-11-20T10:15:00+01:00", ["2026-11-20T09:15:00.000Z"]),
    ],
)
def test_values_separated_by_commas_have_the_data_type_of_the_field(
    cli: CommandLine, acme: OrganizationId, data_type: str, values: str, expected: list[object]
) -> None:
    field = create(cli, acme, data_type, values).document()["recipient_field"]

    assert field["allowed_values"] == expected


@pytest.mark.parametrize(
    "values",
    ["[", "[1,]", "[1] [2]", "['gold']", "[" * 500_000 + "]" * 500_000, f"[{'1' * 5_000}]"],
    ids=lambda text: ascii(text[:12]),
)
def test_invalid_json_that_begins_with_a_bracket_is_a_usage_error(
    cli: CommandLine, acme: OrganizationId, values: str
) -> None:
    message = create(cli, acme, "number", values).usage_error()

    assert message.startswith("Invalid value for '--allowed-values': use red,green or a JSON array")


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        ("text", "[]"),
        ("text", "[1]"),
        ("text", "[null]"),
        ("text", "[true]"),
        ("text", '[["gold"]]'),
        ("text", '[{"gold": 1, "gold": 2}]'),
        ("text", '["gold", "gold"]'),
        ("text", '[""]'),
        ("text", '[" gold"]'),
        ("text", r'["a\u0000"]'),
        ("text", r'["\ud800"]'),
        ("text", '["\udcff"]'),
        ("text", json.dumps([str(n) for n in range(1_001)])),
        ("text", "[" * 900 + "]" * 900),
        ("number", "[NaN]"),
        ("number", "[Infinity]"),
        ("number", "[1e999]"),
        ("number", "[1, 1.0]"),
        ("number", "[true]"),
        ("number", '["1"]'),
        ("number", "[9007199254740992]"),
        ("number", f"[{'1' * 4_000}]"),
        ("boolean", "[true]"),
        ("date", '["2026-02-30"]'),
        ("date", "[20261120]"),
        ("datetime", '["2026-11-20"]'),
        ("text", ""),
        ("text", "gold,"),
        ("text", "gold, gold"),
        ("text", "\0"),
        ("text", "\udcff"),
        ("number", "one,2"),
        ("number", "1,,2"),
        ("number", "1,null"),
        ("number", "NaN"),
        ("number", "Infinity"),
        ("number", "1e999"),
        ("number", "true"),
        ("number", "1,[2]"),
        ("number", "1," + "[" * 50_000),
        ("number", "1" * 5_000),
        ("boolean", "true,false"),
        ("date", "2026-02-30"),
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_invalid_values_are_reported_on_one_line_and_nothing_is_stored(
    cli: CommandLine, acme: OrganizationId, data_type: str, values: str
) -> None:
    assert create(cli, acme, data_type, values).failure().startswith("allowed_values")
    assert cli("fields", "list", "--organization", acme, "--json").document() == {
        "recipient_fields": []
    }


def test_every_invalid_value_is_reported(cli: CommandLine, acme: OrganizationId) -> None:
    message = create(cli, acme, "number", '[1, "2", null]').failure()

    assert "allowed_values.1: " in message
    assert "allowed_values.2: " in message
    assert "allowed_values.0" not in message


def test_an_update_is_validated_against_the_stored_data_type(
    cli: CommandLine, acme: OrganizationId
) -> None:
    field = create(cli, acme, "number", "[1]").document()["recipient_field"]
    update = ("fields", "update", field["id"], "--organization", acme, "--json")

    assert cli(*update, "--allowed-values", '["1"]').failure().startswith("allowed_values.0: ")
    updated = cli(*update, "--allowed-values", "[2]").document()["recipient_field"]
    assert updated["allowed_values"] == [2]


def test_values_separated_by_commas_have_the_stored_data_type_in_an_update(
    cli: CommandLine, acme: OrganizationId
) -> None:
    created = create(cli, acme, "number", "1").document()["recipient_field"]

    for reference in (created["id"], created["key"]):
        update = ("fields", "update", reference, "--organization", acme, "--json")
        updated = cli(*update, "--allowed-values", "2, 3.5").document()["recipient_field"]
        assert updated["allowed_values"] == [2, 3.5]
        assert "allowed_values.1" in cli(*update, "--allowed-values", "2,x").failure()
