"""`recipient-fields content`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO

import click

from recipient_fields.application import Core
from recipient_fields.application.content.content import IntegrationExport
from recipient_fields.application.wording import counted
from recipient_fields.domain import IntegrationId, OrganizationId, Rule, Violation
from recipient_fields.domain.conditions import InvalidRecipient
from recipient_fields.domain.content import InvalidContent, Surface, read_content
from recipient_fields.domain.esp import Esp, ExportedContent, ExportOptions, Profiles
from recipient_fields.domain.fields.values import derive_key
from recipient_fields.domain.integrations import Integration

from .code_options import chosen_strictness, chosen_target, esp_target_options, strict_options
from .commands import CommandGroup, LazyCommand
from .options import flag, option
from .output import complete_outputs, note, print_bytes, print_line, unwritable
from .repository.files import decoded
from .repository.options import literal_option
from .targets import open_for_organization, organization_option
from .typed_options import OneOf
from .violations import (
    name_of,
    note_unlisted,
    note_violations,
    note_warnings,
    parse_json_file,
    reporting_violations,
)

_INVALID = "The content is invalid."
_content_argument = click.argument("content", type=click.File("rb"), default="-")
_surface_option = option(
    "--surface",
    type=OneOf(Surface),
    help="Where the email shows CONTENT. By default, content with an HTML tag is html, and other"
    " content text.",
)


@click.group(
    cls=CommandGroup,
    commands=(
        LazyCommand(
            "check",
            ".repository.commands:check",
            "Check files and folders with content, or with code of an ESP.",
        ),
    ),
)
def content() -> None:
    """Check content with references to fields, export it for ESPs, and preview it.

    CONTENT is a UTF-8 file, by default standard input. Its references are
    `{{recipient.KEY}}`, its links are such as `{{link.unsubscribe}}`, and its conditions
    `{{#if recipient.KEY is set}}…{{/if}}`.
    """


@content.command()
@organization_option
@esp_target_options
@flag("--all", "everywhere", text="Export for each integration. Requires --out.")
@option(
    "--out",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="With --all, write one file per integration to this folder. The command creates it if it"
    " does not exist.",
)
@flag(
    "--partial",
    text="With --all, write the files of the other integrations if the export fails for some.",
)
@_surface_option
@flag("--raw", text="Let the ESP show HTML in values as it does.")
@option(
    "--sent-by",
    metavar="WAY",
    help="How the message is sent, if CONTENT has event data: such as api_trigger_properties for"
    " Braze. By default, it is the usual way of the ESP.",
)
@strict_options
@literal_option
@_content_argument
def export(
    organization: str,
    esp: Esp | None,
    integration: int | None,
    out: str | None,
    surface: Surface | None,
    sent_by: str | None,
    literals: tuple[str, ...],
    content: BinaryIO,
    *,
    everywhere: bool,
    partial: bool,
    raw: bool,
    allow_mistakes: bool,
    strict: bool,
) -> None:
    """Replace references and conditions in CONTENT with code for one ESP, or for each integration.

    CONTENT is a UTF-8 file, by default standard input. The command writes the result to standard
    output. If the content can't be exported, or has mistakes, it writes nothing and reports all
    reasons.

    With --all, it writes a file for each integration, or no file if the export fails for one. With
    --partial, it writes the files of the others. The exit status is 1 in both cases. The name of a
    file contains the id and the name of the integration, such as `2-main-list.html`, and ends as
    that of CONTENT.
    """
    if everywhere != (out is not None):
        raise click.UsageError("Use --all and --out together.")
    if partial and not everywhere:
        raise click.UsageError("--partial requires --all.")
    target = chosen_target(esp, integration)
    if everywhere and target is not None:
        raise click.UsageError("Use either --all, --esp or --integration.")
    with reporting_violations("Nothing was exported."):
        options = ExportOptions(
            surface=surface,
            raw=raw,
            strict=chosen_strictness(allow_mistakes=allow_mistakes, strict=strict),
            literals=literals,
            sent_by=sent_by,
        )
    if not everywhere and target is None:
        raise click.UsageError("Add --esp, --integration or --all.")
    folder = None if out is None else _writable_folder(out)
    mark, text = decoded(content.read())
    with (
        reporting_violations("Nothing was exported.", source=text),
        open_for_organization(organization) as (core, chosen),
    ):
        parsed = read_content(text)
        if target is not None:
            exported = core.content.export_content(chosen.id, parsed, target, options)
            print_bytes(mark + _reported(exported))
        elif folder is not None:
            suffix = Path(name_of(content)).suffix
            integrations = _integrations(core, chosen.id)
            exports = core.content.export_for_integrations(chosen.id, parsed, integrations, options)
            _write_all(
                exports,
                integrations,
                core.profiles,
                folder,
                text,
                mark=mark,
                suffix=suffix,
                partial=partial,
            )


def _writable_folder(name: str) -> Path:
    """Return the folder, which is created if necessary. An error says that it can't be written."""
    folder = Path(name)
    try:
        folder.mkdir(exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise unwritable(name, error.strerror) from error
    return folder


def _integrations(
    core: Core, organization_id: OrganizationId
) -> Mapping[IntegrationId, Integration]:
    """Return the integrations by their ids. An error says that there are none."""
    integrations = {each.id: each for each in core.content.list_integrations(organization_id)}
    if not integrations:
        raise click.ClickException(
            "The organization has no integrations. Create one with `recipient-fields integrations"
            " create`, or export for an ESP with --esp."
        )
    return integrations


def _write_all(
    exports: Iterable[IntegrationExport],
    integrations: Mapping[IntegrationId, Integration],
    profiles: Profiles,
    folder: Path,
    source: str,
    *,
    mark: bytes,
    suffix: str,
    partial: bool,
) -> None:
    """Write the content of each integration to the folder. Exit with 1 if it fails for any.

    Then nothing is written, unless the export can be partial.
    """
    written: list[Path] = []
    with complete_outputs() as files:
        for export in exports:
            integration = integrations[export.integration_id]
            file = folder / f"{integration.id}{_slug(integration.name)}{suffix}"
            title = profiles.title(integration.esp)
            note(f"Integration {integration.id}, {integration.name} ({title}):")
            match export.outcome:
                case ExportedContent() as exported:
                    files.open(str(file)).write(mark + _reported(exported))
                    written.append(file)
                    continue
                case InvalidContent() as invalid:
                    note_violations(invalid, source=source)
                case error:
                    note(str(error))
            stays = f" {file} is from an earlier export." if os.access(file, os.F_OK) else ""
            note(f"Nothing was exported for this integration.{stays}")
        failed = len(integrations) - len(written)
        failures = f"{failed:,} of {counted(len(integrations), 'export')} failed"
        if failed and not partial:
            hint = " To write the others, add --partial." if written else ""
            raise click.ClickException(f"{failures}, so no file was written.{hint}")
    for file in written:
        print_line(str(file))
    if failed:
        raise click.ClickException(f"{failures}.")


def _reported(exported: ExportedContent) -> bytes:
    """Return the content in UTF-8, after a report of what its writer should know."""
    note_warnings(exported.warnings)
    for key, actual in exported.resolved.items():
        note(f"recipient.{key} is {actual}, the integration's field with the same name.")
    return exported.content.encode()


def _slug(name: str) -> str:
    """Return the letters a-z and digits of the name, for the name of a file."""
    slug = derive_key(name).replace("_", "-")
    return f"-{slug}" if slug else ""


@content.command()
@organization_option
@option(
    "--recipient",
    required=True,
    type=click.File("rb"),
    metavar="FILE",
    help="A JSON object with the values of a recipient, by the keys of the fields.",
)
@option(
    "--event",
    type=click.File("rb"),
    metavar="FILE",
    help="A JSON object with the event data, by name.",
)
@_surface_option
@_content_argument
def preview(
    organization: str,
    recipient: BinaryIO,
    event: BinaryIO | None,
    surface: Surface | None,
    content: BinaryIO,
) -> None:
    """Show CONTENT as one recipient would read it.

    CONTENT is a UTF-8 file, by default standard input. Only the ESP can evaluate expressions:
    `{{recipient.KEY | expression}}` stays as it is.
    """
    mark, text = decoded(content.read())
    values = parse_json_file(recipient)
    data = {} if event is None else parse_json_file(event)
    if not isinstance(data, dict):
        raise click.UsageError('Event data must be an object, such as {"order_id": "A-1"}.')
    with (
        reporting_violations("There is no preview.", source=text),
        open_for_organization(organization) as (core, chosen),
    ):
        if not isinstance(values, dict):
            message = 'A recipient must be an object, such as {"fname": "Ada"}.'
            raise InvalidRecipient([Violation(Rule.TYPE, message)])
        parsed = read_content(text)
        shown = core.content.preview_content(chosen.id, parsed, values, event=data, surface=surface)
    note_warnings(parsed.warnings)
    note_unlisted(shown.unlisted)
    print_bytes(mark + shown.content.encode())
