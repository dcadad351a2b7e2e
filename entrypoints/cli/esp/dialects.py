"""`recipient-fields esp`: the dialects of email service providers."""

from __future__ import annotations

from typing import Any

import click

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, Profile, derive_codes

from ...service.selection import esp_variables, installed_profiles
from ..commands import CommandGroup
from ..options import flag, json_option, option
from ..output import print_rows
from ..typed_options import data_type_option, esp_option


@click.group(cls=CommandGroup)
def esp() -> None:
    """List the supported email service providers, and derive insertion codes for them."""


@esp.command("list")
@json_option
def list_() -> None:
    """List the email service providers (ESPs), and the variables that contain their credentials."""
    known = [_described(profile) for profile in installed_profiles()]
    rows = [
        (each["id"], each["name"], " ".join(each["required_variables"]) or None) for each in known
    ]
    print_rows({"esps": known}, ("ID", "NAME", "REQUIRED VARIABLES"), rows)


def _described(profile: Profile) -> dict[str, Any]:
    required, optional = esp_variables(profile.esp)
    return {
        "id": profile.esp,
        "name": profile.title,
        "required_variables": list(required),
        "optional_variables": list(optional),
    }


@esp.command()
@esp_option
@click.argument("name")
@data_type_option(default="text")
@flag("--standard", text="The field is a standard field of the ESP, not a custom one.")
@option("--default", help="The text that replaces a missing value.")
@json_option
def codes(esp: Esp, name: str, data_type: DataType, default: str | None, *, standard: bool) -> None:
    """Derive the insertion code and the value expression of the ESP's field NAME."""
    derived = derive_codes(
        esp,
        name,
        data_type=data_type,
        standard=standard,
        default=default,
        profiles=installed_profiles(),
    )
    parts = {
        "insertion_code": derived.insertion_code,
        "value_expression": derived.value_expression,
        "prelude": derived.prelude,
    }
    print_rows({"codes": parts}, ("PART", "CODE"), list(parts.items()))
