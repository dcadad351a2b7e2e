"""The option `--allowed-values` of `recipient-fields fields`."""

from __future__ import annotations

import pytest

from ...support.command_line import Run
from ..stories import Commands

JSON = "use red,green or a JSON array"
STORED: dict[tuple[str, str], object] = {
    ("text", '\n["gold", "\\u00e9"]'): ["gold", "é"],
    ("number", "[3, 1, 2.5]"): [3, 1, 2.5],
    ("boolean", " null "): None,
    ("text", " red, light green ,blue"): ["red", "light green", "blue"],
    ("text", "5,true,null,{}"): ["5", "true", "null", "{}"],
    ("text", '"gold",[x]'): ['"gold"', "[x]"],
    ("number", "3, 1,2.5,-1e3"): [3, 1, 2.5, -1000],
    ("number", "5"): [5],
    ("datetime", "2026-11-20T10:15:00+01:00"): ["2026-11-20T09:15:00.000Z"],
}
"""What is stored for a data type and a value of the option."""
MALFORMED = ("[", "[1,]", "[1] [2]", "['gold']", "[" * 500_000 + "]" * 500_000, f"[{'1' * 5_000}]")
"""Texts that begin with a bracket and are not JSON."""
INVALID = {
    "text": ("[]", "[1]", '["\udcff"]', "[" * 900 + "]" * 900, "", "gold,", "\udcff"),
    "number": (
        *('["1"]', "[1e999]", f"[{'1' * 4_000}]", "one,2", "1,null", "1e999"),
        *("1," + "[" * 50_000, "1" * 5_000),
    ),
    "boolean": ("true,false",),
}


def create(commands: Commands, data_type: str, values: str) -> Run:
    arguments = ("--name", "N", "--data-type", data_type, "--allowed-values", values, "--json")
    return commands("fields create", *arguments)


@pytest.mark.parametrize(("data_type", "values"), STORED, ids=ascii)
def test_the_values_are_stored_in_order_with_the_data_type_of_the_field(
    commands, data_type, values
):
    field = create(commands, data_type, values).document()["recipient_field"]

    assert field["allowed_values"] == STORED[data_type, values]


@pytest.mark.parametrize("values", MALFORMED, ids=lambda text: ascii(text[:12]))
def test_invalid_json_that_begins_with_a_bracket_is_a_usage_error(commands, values):
    message = create(commands, "number", values).usage_error()

    assert message.startswith(f"Invalid value for '--allowed-values': {JSON}")


@pytest.mark.parametrize(
    ("data_type", "values"),
    [(data_type, values) for data_type, each in INVALID.items() for values in each],
    ids=lambda text: ascii(text[:20]),
)
def test_invalid_values_are_reported_on_one_line_and_nothing_is_stored(commands, data_type, values):
    assert create(commands, data_type, values).failure().startswith("allowed_values")
    assert commands.stored == []


def test_an_update_has_values_of_the_stored_data_type(commands):
    create(commands, "number", "1").document()

    for reference in ("1", "n"):
        update = f"fields update {reference}"
        updated = commands.changed(f"{update} --allowed-values '2, 3.5'")
        assert updated["allowed_values"] == [2, 3.5]
        for invalid, index in (('["1"]', 0), ("2,x", 1)):
            failure = commands(f"{update} --json", "--allowed-values", invalid).failure()
            assert failure.startswith(f"allowed_values.{index}: ")
