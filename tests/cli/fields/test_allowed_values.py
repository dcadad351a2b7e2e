"""The option `--allowed-values` of `recipient-fields fields`."""

from __future__ import annotations

import pytest

from recipient_fields.domain import OrganizationId

from ...support.command_line import CommandLine, Run


def create(cli: CommandLine, organization: OrganizationId, data_type: str, values: str) -> Run:
    arguments = ("--organization", organization, "--name", "N", "--data-type", data_type)
    return cli("fields", "create", *arguments, "--allowed-values", values, "--json")


@pytest.mark.parametrize(
    ("data_type", "values", "expected"),
    [
        ("text", '\n["gold", "\\u00e9"]', ["gold", "é"]),
        ("number", "[3, 1, 2.5]", [3, 1, 2.5]),
        ("boolean", " null ", None),
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
        ("text", " red, light green ,blue", ["red", "light green", "blue"]),
        ("text", "5,true,null,{}", ["5", "true", "null", "{}"]),
        ("text", '"gold",[x]', ['"gold"', "[x]"]),
        ("number", "3, 1,2.5,-1e3", [3, 1, 2.5, -1000]),
        ("number", "5", [5]),
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
        ("text", '["\udcff"]'),
        ("text", "[" * 900 + "]" * 900),
        ("text", ""),
        ("text", "gold,"),
        ("text", "\udcff"),
        ("number", '["1"]'),
        ("number", "[1e999]"),
        ("number", f"[{'1' * 4_000}]"),
        ("number", "one,2"),
        ("number", "1,null"),
        ("number", "1e999"),
        ("number", "1," + "[" * 50_000),
        ("number", "1" * 5_000),
        ("boolean", "true,false"),
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


def test_an_update_has_values_of_the_stored_data_type(
    cli: CommandLine, acme: OrganizationId
) -> None:
    created = create(cli, acme, "number", "1").document()["recipient_field"]

    for reference in (created["id"], created["key"]):
        update = ("fields", "update", reference, "--organization", acme, "--json")
        updated = cli(*update, "--allowed-values", "2, 3.5").document()["recipient_field"]
        assert updated["allowed_values"] == [2, 3.5]
        for invalid, index in (('["1"]', 0), ("2,x", 1)):
            failure = cli(*update, "--allowed-values", invalid).failure()
            assert failure.startswith(f"allowed_values.{index}: ")
