"""`recipient-fields content`."""

from __future__ import annotations

from typing import BinaryIO

import click

from recipient_fields.application.content.documents import render_warnings
from recipient_fields.domain import Rule, Violation
from recipient_fields.domain.conditions import InvalidRecipient
from recipient_fields.domain.content import parse_content
from recipient_fields.domain.esp import Esp

from .command_group import CommandGroup
from .esp.target import esp_target_options, required_target
from .options import json_option, option
from .organization_option import open_for_organization, organization_option
from .output import note, print_bytes, print_json, print_line
from .strict_options import chosen_strictness, strict_options
from .violations import note_warnings, parse_json_file, reporting_violations

_MARK = "\ufeff"
_INVALID = "The content is invalid."
_content_argument = click.argument("content", type=click.File("rb"), default="-")


@click.group(cls=CommandGroup)
def content() -> None:
    """Check content with references to fields, export it for ESPs, and preview it.

    CONTENT is a UTF-8 file, by default standard input. Its references are
    `{{recipient.KEY}}`, and its conditions `{{#if recipient.KEY is set}}…{{/if}}`.
    """


@content.command()
@organization_option
@option("--strict", is_flag=True, help="Fail if there are mistakes.")
@json_option
@_content_argument
@click.pass_obj
def check(
    storage: str, organization: str, content: BinaryIO, *, strict: bool, as_json: bool
) -> None:
    """Check CONTENT without an ESP, and print the keys of the fields that it uses.

    CONTENT is a UTF-8 file, by default standard input.
    """
    _, text = _decoded(content.read())
    with (
        reporting_violations(_INVALID, source=text, as_json=as_json),
        open_for_organization(storage, organization) as (core, chosen),
    ):
        parsed = parse_content(text)
        core.content.check_content(chosen.id, parsed)
    keys = parsed.keys()
    if as_json:
        print_json({"fields": list(keys), "warnings": render_warnings(parsed.warnings)})
    else:
        note_warnings(parsed.warnings)
        for key in keys:
            print_line(key)
    if strict and parsed.warnings:
        click.get_current_context().exit(1)


@content.command()
@organization_option
@esp_target_options
@strict_options
@_content_argument
@click.pass_obj
def export(
    storage: str,
    organization: str,
    esp: Esp | None,
    integration: int | None,
    content: BinaryIO,
    *,
    strict: bool,
    strict_caveats: bool,
) -> None:
    """Replace references and conditions in CONTENT with code for one ESP.

    CONTENT is a UTF-8 file, by default standard input. The command writes the result to standard
    output. If the content can't be exported, it writes nothing and reports all reasons.
    """
    target = required_target(esp, integration)
    mark, text = _decoded(content.read())
    with (
        reporting_violations("Nothing was exported.", source=text),
        open_for_organization(storage, organization) as (core, chosen),
    ):
        exported = core.content.export_content(
            chosen.id,
            parse_content(text),
            target,
            strict=chosen_strictness(strict=strict, strict_caveats=strict_caveats),
        )
    note_warnings(exported.warnings)
    for key, actual in exported.resolved.items():
        note(f"recipient.{key} is {actual}, the integration's field with the same name.")
    print_bytes(f"{mark}{exported.content}".encode())


@content.command()
@organization_option
@option(
    "--recipient",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="A JSON object with the values of a recipient, by the keys of the fields.",
)
@_content_argument
@click.pass_obj
def preview(storage: str, organization: str, recipient: BinaryIO, content: BinaryIO) -> None:
    """Show CONTENT as one recipient would read it.

    CONTENT is a UTF-8 file, by default standard input. Only the ESP can evaluate expressions:
    `{{recipient.KEY | expression}}` stays as it is.
    """
    mark, text = _decoded(content.read())
    values = parse_json_file(recipient)
    with (
        reporting_violations("There is no preview.", source=text),
        open_for_organization(storage, organization) as (core, chosen),
    ):
        if not isinstance(values, dict):
            message = 'A recipient must be an object, such as {"fname": "Ada"}.'
            raise InvalidRecipient([Violation(Rule.TYPE, message)])
        shown = core.content.preview_content(chosen.id, parse_content(text), values)
    print_bytes(f"{mark}{shown}".encode())


def _decoded(content: bytes) -> tuple[str, str]:
    """Return the byte order mark, if there is one, and the text."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise click.ClickException(
            f"The content is not UTF-8: byte {error.start + 1:,}. Save the file as UTF-8."
        ) from None
    return (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
