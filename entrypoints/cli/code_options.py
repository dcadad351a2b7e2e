"""The options of commands that write code for ESPs: the target, and which warnings are errors."""

from __future__ import annotations

import click

from recipient_fields.application import Target
from recipient_fields.domain import IntegrationId
from recipient_fields.domain.content import DEFAULT_STRICT, Strict
from recipient_fields.domain.esp import Esp

from .options import F, flag, option
from .typed_options import IDENTIFIER, EspName


def esp_target_options(command: F) -> F:
    """Add `--esp` and `--integration` to the command."""
    esp = option(
        "--esp",
        type=EspName(),
        help=(
            "The ESP: an id from `esp list`. If the organization has exactly one integration with"
            " it, the fields of that integration can be used."
        ),
    )
    integration = option(
        "--integration",
        type=IDENTIFIER,
        help="The integration whose fields can be used. Its ESP applies.",
    )
    return esp(integration(command))


def chosen_target(esp: Esp | None, integration: int | None) -> Target | None:
    """Return the ESP or the integration of the options, or None. Both are a usage error."""
    if esp is not None and integration is not None:
        raise click.UsageError("Use either --esp or --integration.")
    return esp if integration is None else IntegrationId(integration)


def required_target(esp: Esp | None, integration: int | None) -> Target:
    """Return the ESP or the integration of the options. None and both are a usage error."""
    target = chosen_target(esp, integration)
    if target is None:
        raise click.UsageError("Add --esp or --integration.")
    return target


def strict_options(command: F) -> F:
    """Add `--allow-mistakes` and `--strict` to the command."""
    allow = flag(
        "--allow-mistakes",
        text="Only warn of mistakes. Without this option, the command fails if there are any.",
    )
    strict = flag("--strict", text="Fail if there are caveats or notes, too.")
    return allow(strict(command))


def chosen_strictness(*, allow_mistakes: bool, strict: bool) -> Strict:
    """Return which warnings the options reject. Both options together are a usage error."""
    if allow_mistakes and strict:
        raise click.UsageError("Use either --allow-mistakes or --strict.")
    if allow_mistakes:
        return False
    return strict or DEFAULT_STRICT
