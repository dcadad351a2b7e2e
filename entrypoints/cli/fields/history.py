"""`recipient-fields history`: the recorded changes of an organization's fields."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeVar

import click

from recipient_fields.application import Core, system_clock
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.documents import render_records
from recipient_fields.application.fields.texts import parse_reference
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    MAX_HISTORY_PAGE,
    Author,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    MemberChange,
    Organization,
    RecordedOperation,
    Source,
    format_instant,
)

from ..accounts.audit_log import audit_log_option
from ..commands import CommandGroup
from ..options import Option, confirm, json_option, option, yes_option
from ..output import is_json, note, one_line, print_json, print_line, print_rows
from ..targets import field_options, open_for_organization, organization_option
from ..typed_options import DURATION, OneOf

_limit_option: Option = option(
    "--limit",
    type=click.IntRange(1, MAX_HISTORY_PAGE),
    default=100,
    metavar="NUMBER",
    help=f"The maximum number of changes: 1 to {MAX_HISTORY_PAGE:,}.",
)
_before_option: Option = option(
    "--before",
    type=click.IntRange(min=1),
    metavar="SEQUENCE",
    help="List only changes with a lower sequence number.",
)


@click.group(cls=CommandGroup)
@audit_log_option
def history() -> None:
    """List the changes of an organization's fields, and prune old ones."""


@history.command("list")
@organization_option
@option("--key", help="List only changes of the fields with this key.")
@option("--source", type=OneOf(Source), help="List only changes of fields of this source.")
@option("--operation", type=OneOf(RecordedOperation), help="List only changes of this kind.")
@_before_option
@_limit_option
@json_option
def list_(
    organization: str,
    key: str | None,
    source: Source | None,
    operation: RecordedOperation | None,
    before: int | None,
    limit: int,
) -> None:
    """List the changes of an organization's fields, the newest first.

    ID is the id of the field. CHANGED lists the members that an update changed.
    """
    query = HistoryQuery(
        keys=_only(key),
        sources=_only(source),
        operations=_only(operation),
        descending=True,
        after=before,
        limit=limit,
    )
    with open_for_organization(organization) as (core, chosen):
        page = core.fields.list_changes(chosen.id, query)
    print_rows(
        render_records(page.records),
        ("SEQUENCE", "TIME", "OPERATION", "ID", "KEY", "SOURCE", "AUTHOR", "CHANGED"),
        [_row(record) for record in page.records],
    )
    _note_next(page)


@history.command()
@field_options
@_before_option
@_limit_option
@json_option
def show(id_or_key: str, organization: str, before: int | None, limit: int) -> None:
    """Show what each change of a field changed, the newest first.

    A key selects all fields that have had it.
    """
    query = HistoryQuery(descending=True, after=before, limit=limit)
    with open_for_organization(organization) as (core, chosen):
        reference = parse_reference(id_or_key)
        page = core.fields.list_field_changes(chosen.id, reference, query)
    if is_json():
        print_json(render_records(page.records))
    else:
        for record in page.records:
            _show(record)
    _note_next(page)


@history.command(changes_storage=True)
@organization_option
@option(
    "--older-than",
    type=DURATION,
    required=True,
    help="The age of the newest records to delete, for example 400d.",
)
@yes_option
def prune(organization: str, older_than: timedelta, *, yes: bool) -> None:
    """Delete old records from an organization's history.

    Fields stay the same. `fields list --as-of` can't return earlier states any more, and fields
    whose deletion is pruned can't be restored. The service prunes histories above --history-size.
    """
    try:
        before = format_instant(system_clock() - older_than)
    except OverflowError:
        raise click.BadParameter("use a shorter duration.", param_hint="'--older-than'") from None
    with open_for_organization(organization) as (core, chosen):
        if not yes:
            _confirm_pruning(core, chosen, before)
        records = core.fields.prune_history(chosen.id, older_than=older_than)
    note(f"Deleted {counted(records, 'record')} of changes before {before}.")


def _confirm_pruning(core: Core, organization: Organization, before: str) -> None:
    oldest = core.fields.list_changes(organization.id, HistoryQuery(limit=1)).records
    listed = [f"The oldest is of {format_instant(record.occurred_at)}." for record in oldest]
    confirm(
        f"Delete all records of changes before {before} from the history of organization"
        f" {organization.id}, {organization.name}?",
        *listed,
    )


T = TypeVar("T")


def _only(value: T | None) -> frozenset[T] | None:
    return None if value is None else frozenset({value})


def _row(record: HistoryRecord) -> tuple[object, ...]:
    changed = None
    if record.operation is RecordedOperation.UPDATED:
        changed = ", ".join(change.member for change in record.member_changes)
    return (
        record.sequence,
        format_instant(record.occurred_at),
        record.operation.value,
        record.field_id,
        record.key,
        record.field.origin.source.value,
        _named(record.author),
        changed,
    )


def _show(record: HistoryRecord) -> None:
    head = (
        f"{record.sequence}  {format_instant(record.occurred_at)}  {record.operation.value} by"
        f" {_named(record.author)}: field {record.field_id}, {record.key}"
    )
    print_line(one_line(head))
    for change in record.member_changes:
        print_line(one_line(f"    {change.member}: {_described(change)}"))


def _described(change: MemberChange) -> str:
    if not change.is_list:
        return f"{_json(change.before)} → {_json(change.after)}"
    parts = {"added": change.added, "removed": change.removed}
    described = [f"{verb} {', '.join(map(_json, each))}" for verb, each in parts.items() if each]
    return "; ".join(described) or "in another order"


def _json(value: object) -> str:
    return render_json(value).decode("utf-8")


def _named(author: Author) -> str:
    """Return the author's name or, without one, its id or its channel."""
    return str(author.name or author.id or author.channel.source.value)


def _note_next(page: HistoryPage) -> None:
    if page.next is not None:
        note(f"There are older changes. To list them, add --before {page.next}.")
