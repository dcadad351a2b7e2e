"""`recipient-fields conditions`."""

from __future__ import annotations

from typing import Any

import click

from recipient_fields.application import ConditionSupport, Core, NotJson, Target
from recipient_fields.application.conditions.documents import (
    parse_condition_document,
    render_condition_document,
)
from recipient_fields.application.content.documents import render_condition_code
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.domain import OrganizationId, Rule, Violation
from recipient_fields.domain.conditions import (
    Condition,
    InvalidCondition,
    describe,
    format_condition,
    parse_condition,
)
from recipient_fields.domain.content import Strict
from recipient_fields.domain.esp import Esp, NotExpressible

from .code_options import (
    chosen_strictness,
    chosen_target,
    esp_target_options,
    required_target,
    strict_options,
)
from .commands import CommandGroup
from .options import json_option, option
from .output import is_json, note, print_json, print_line, print_or_note, print_table
from .targets import open_for_organization, organization_option
from .violations import reporting_violations, setting_command

REFUSED = 3
"""The exit status if the ESP can't express a condition, or if its code has mistakes."""

_INVALID = "The condition is invalid."
_NOT_CONNECTED = "not connected"
"""The result for an ESP with which the organization has no integration."""


@click.group(cls=CommandGroup)
def conditions() -> None:
    """Check conditions on fields, compile them for ESPs, and explain them.

    A condition is text such as `loyalty_tier in ("gold", "silver") and visits >= 3`, or its JSON
    form.
    """


@conditions.command()
@organization_option
@esp_target_options
@json_option
@click.argument("condition")
def check(organization: str, esp: Esp | None, integration: int | None, condition: str) -> None:
    """Check a condition against the fields of an organization.

    CONDITION is text, such as `visits >= 3`, or its JSON form. Without --esp and
    --integration, it can use all fields of the organization.
    """
    target = chosen_target(esp, integration)
    with (
        reporting_violations(_INVALID, as_json=is_json()),
        open_for_organization(organization) as (core, chosen),
    ):
        parsed = _parse(condition)
        core.content.check_condition(chosen.id, parsed, target)
    document = {"condition": format_condition(parsed), "tree": render_condition_document(parsed)}
    print_or_note(document, "The condition is valid.")


@conditions.command("compile")
@organization_option
@esp_target_options
@option("--then", required=True, help="The text for recipients who satisfy the condition.")
@option(
    "--else",
    "otherwise",
    default="",
    show_default=False,
    help="The text for all others. By default, none.",
)
@strict_options
@json_option
@click.argument("condition")
def compile_(
    organization: str,
    esp: Esp | None,
    integration: int | None,
    then: str,
    otherwise: str,
    condition: str,
    *,
    allow_mistakes: bool,
    strict: bool,
) -> None:
    """Compile a condition for an ESP: print code that selects one of two texts.

    CONDITION is text, such as `visits >= 3`, or its JSON form. If the ESP can't
    express it, or if there are mistakes, the command prints the reason and exits with status 3.
    """
    target = required_target(esp, integration)
    rejected = chosen_strictness(allow_mistakes=allow_mistakes, strict=strict)
    with (
        reporting_violations(_INVALID, as_json=is_json()),
        open_for_organization(organization) as (core, chosen),
    ):
        parsed = _parse(condition)
        result = _compile(core, chosen.id, parsed, target, then, otherwise, strict=rejected)
    if is_json():
        print_json(result)
    elif "refused" in result:
        note(f"{core.profiles.title(result['esp'])}: {result['refused']}")
    else:
        for warning in result["warnings"]:
            note(f"{warning['kind'].capitalize()}: {warning['message']}")
        print_line(f"{result['prelude'] or ''}{result['code']}")
    if "refused" in result:
        click.get_current_context().exit(REFUSED)


@conditions.command()
@organization_option
@esp_target_options
@json_option
@click.argument("condition")
def explain(organization: str, esp: Esp | None, integration: int | None, condition: str) -> None:
    """Explain a condition: state it in English, and how each ESP supports it.

    CONDITION is text, such as `visits >= 3`, or its JSON form. With --esp or
    --integration, only that ESP is shown.
    """
    target = chosen_target(esp, integration)
    with (
        reporting_violations(_INVALID, as_json=is_json()),
        open_for_organization(organization) as (core, chosen),
    ):
        parsed = _parse(condition)
        supports = core.content.explain_condition(
            chosen.id, parsed, target, then="A", otherwise="B"
        )
    results = [_render_support(each) for each in supports]
    if is_json():
        print_json({"sentence": describe(parsed), "esps": results})
        return
    print_line(describe(parsed))
    print_line("")
    rows = [(core.profiles.title(each["esp"]), _support(each)) for each in results]
    print_table(("ESP", "RESULT"), rows)


def _parse(condition: str) -> Condition:
    """Return the condition of its text or of its JSON form, which begins with a brace."""
    if not condition.lstrip().startswith("{"):
        return parse_condition(condition)
    try:
        return parse_condition_document(parse_json(condition.encode()))
    except NotJson as error:
        raise InvalidCondition([Violation(Rule.FORMAT, str(error))]) from None


def _compile(
    core: Core,
    organization_id: OrganizationId,
    condition: Condition,
    target: Target,
    then: str,
    otherwise: str,
    *,
    strict: Strict,
) -> dict[str, Any]:
    """Return the code for the target as a document, or the reason of a refusal."""
    try:
        return render_condition_code(
            *core.content.compile_condition(
                organization_id, condition, target, then=then, otherwise=otherwise, strict=strict
            )
        )
    except NotExpressible as refusal:
        names = core.content.read_codes(organization_id).names
        esp = names.get_profile(names.resolve_target(target)).esp
        advice = "" if refusal.proposal is None else f" {setting_command(refusal.proposal)}"
        return {"esp": esp, "refused": f"{refusal}{advice}"}


def _render_support(support: ConditionSupport) -> dict[str, Any]:
    if support.code is None:
        return {"esp": support.esp, "refused": support.refusal or _NOT_CONNECTED}
    return render_condition_code(support.esp, support.code)


def _support(result: dict[str, Any]) -> str:
    if "refused" in result:
        is_refused = result["refused"] != _NOT_CONNECTED
        return f"refused: {result['refused']}" if is_refused else _NOT_CONNECTED
    if result["caveats"]:
        return f"with caveats: {' '.join(result['caveats'])}"
    return "supported"
