"""`recipient-fields plan` and `recipient-fields apply`: make fields equal to a document."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import BinaryIO

import click
from attrs import asdict, frozen

from recipient_fields.application import NotJson, RecipientFields, system_clock
from recipient_fields.application.documents.strict_json import parse_json, render_json
from recipient_fields.application.fields.batch_documents import parse_batch, render_batch
from recipient_fields.application.fields.fields_as_code import render_definition, without_defaults
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    API,
    MAX_BATCH_OPERATIONS,
    Batch,
    BatchRejected,
    Catalog,
    CatalogChanged,
    CatalogChanges,
    CatalogTooLarge,
    FieldDraft,
    FieldKey,
    FieldPlan,
    InvalidField,
    OrganizationId,
    RefusedDraft,
    StorageUnavailable,
    plan_fields,
    view_of,
)

from ..command_group import Command, larger_catalogs
from ..options import json_option, option, setting_option
from ..output import note, one_line, print_json, print_line
from ..prompts import confirm, yes_option
from ..target_options import open_fields, target_options
from ..violations import name_of, reporting_violations

CHANGES_PLANNED = 3
"""The exit status of `plan` if there is something to apply."""

_MAX_LINES = 100
"""Violations of a file, or failed changes, that are printed."""


class _Key(click.ParamType[FieldKey]):
    """The key of a field."""

    name = "key"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> FieldKey:
        """Return the key. A text that can't be one is a usage error."""
        try:
            return FieldKey(value)
        except InvalidField as error:
            self.fail(str(error), param, ctx)


@frozen(kw_only=True)
class _Step:
    """What happens to one field. `before` and `after` are its members, or None without a field."""

    action: str
    key: str
    before: dict[str, object] | None = None
    after: dict[str, object] | None = None
    reason: str | None = None


_SYMBOLS = {
    "create": ("+", "green"),
    "change": ("~", "yellow"),
    "replace": ("-/+", "magenta"),
    "delete": ("-", "red"),
    "refused": ("!", "red"),
}
"""The symbol and the colour of each action."""


@frozen
class _Proposal:
    """What a document or a plan does to a catalog: the batch, and its steps by key."""

    batch: Batch
    steps: tuple[_Step, ...]
    unchanged: int

    def count(self, action: str) -> int:
        """Return the number of steps with this action."""
        return sum(step.action == action for step in self.steps)


_prune_option = option(
    "--prune", is_flag=True, help="Delete the API-managed fields that are not in the document."
)
_replace_option = option(
    "--replace",
    type=_Key(),
    multiple=True,
    metavar="KEY",
    help="Delete and create this field if its data type changes. The option can be repeated.",
)


@click.command(cls=Command, params=[setting_option("field_limit"), setting_option("catalog_size")])
@click.argument("file", type=click.File("rb"))
@target_options
@_prune_option
@_replace_option
@option(
    "--out",
    type=click.Path(dir_okay=False),
    metavar="PLAN",
    help="Write the plan to this file, to apply exactly this plan.",
)
@option("--exit-zero", is_flag=True, help="Exit with 0 if there are changes, instead of 3.")
@json_option
@click.pass_context
def plan(
    ctx: click.Context,
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    field_limit: int,
    catalog_size: int,
    replace: Sequence[FieldKey],
    out: str | None,
    *,
    prune: bool,
    exit_zero: bool,
    as_json: bool,
) -> None:
    """Show how a document of fields would change the API-managed fields.

    FILE is the document, in YAML or JSON. The command changes nothing. The exit status is 0
    if there is nothing to do, 3 if there are changes, and 1 if a change is refused.
    """
    opening = open_fields(
        ctx, organization, url, field_limit=field_limit, catalog_size=catalog_size
    )
    drafts = _read_document(file.name, file.read(), replace)
    with opening as (fields, organization_id):
        catalog = fields.list_fields(organization_id)
    planned = plan_fields(catalog, drafts, prune=prune, replaceable=replace)
    proposal = _propose(catalog, planned.batch(), planned.refused)
    _require_applicable(proposal, catalog, field_limit)
    if as_json:
        print_json(_render(proposal))
    else:
        _print(proposal)
        _print_unplanned(planned)
    _require_permitted(proposal)
    if out is not None:
        _write(out, proposal.batch)
    ctx.exit(CHANGES_PLANNED if proposal.steps and not exit_zero else 0)


@click.command(
    cls=Command,
    changes_storage=True,
    params=[setting_option("field_limit"), setting_option("catalog_size")],
)
@click.argument("file", metavar="FILE|PLAN", type=click.File("rb"))
@target_options
@_prune_option
@_replace_option
@yes_option
@click.pass_context
def apply(
    ctx: click.Context,
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    field_limit: int,
    catalog_size: int,
    replace: Sequence[FieldKey],
    *,
    prune: bool,
    yes: bool,
) -> None:
    """Apply a document of fields, or a plan, to the API-managed fields.

    FILE is the document, in YAML or JSON, and PLAN is a file that `plan --out` has written.
    All changes take effect together, or none. If any field of the organization has changed since
    the plan, the command changes nothing.
    """
    opening = open_fields(
        ctx, organization, url, field_limit=field_limit, catalog_size=catalog_size
    )
    content = file.read()
    batch = _parse_plan(name_of(file), content)
    if batch is not None and (prune or replace):
        raise click.UsageError("A plan is applied as it is: omit --prune and --replace.")
    drafts = () if batch is not None else _read_document(file.name, content, replace)
    with opening as (fields, organization_id):
        catalog = fields.list_fields(organization_id)
        refused: tuple[RefusedDraft, ...] = ()
        if batch is None:
            planned = plan_fields(catalog, drafts, prune=prune, replaceable=replace)
            batch, refused = planned.batch(), planned.refused
        with _reporting_rejection(batch):
            proposal = _propose(catalog, batch, refused)
            _require_applicable(proposal, catalog, field_limit)
            _print(proposal)
            _require_permitted(proposal)
            if not proposal.steps:
                return
            if not yes:
                confirm(f"Apply {counted(len(proposal.steps), 'change')}?")
            _apply(fields, organization_id, batch)
    note(f"Applied {counted(len(proposal.steps), 'change')}.")


def _apply(fields: RecipientFields, organization_id: OrganizationId, batch: Batch) -> None:
    try:
        fields.apply_batch(organization_id, batch)
    except StorageUnavailable as error:
        cause = str(error).removesuffix(".")
        raise click.ClickException(
            one_line(f"{cause}. The changes may be applied. To see whether they are, plan again.")
        ) from error


def _read_document(
    name: str, content: bytes, replace: Collection[FieldKey]
) -> tuple[FieldDraft, ...]:
    # Imported here because only these commands need PyYAML.
    from .files import InvalidFile, parse_file

    try:
        drafts = parse_file(content)
    except InvalidFile as error:
        _note_all(
            f"{name}:{each.place.line}:{each.place.column}: {each.message}"
            for each in error.violations
        )
        count = counted(len(error.violations), "error")
        raise click.ClickException(one_line(f"{name} has {count}.")) from None
    for key in set(replace).difference(draft.key for draft in drafts):
        raise click.UsageError(f"The document has no field {key}, which --replace names.")
    return drafts


def _note_all(messages: Iterable[str]) -> None:
    """Print the first messages, and the number of the others."""
    remaining = iter(messages)
    for message in islice(remaining, _MAX_LINES):
        note(one_line(message))
    omitted = sum(1 for _ in remaining)
    if omitted:
        note(f"… and {omitted:,} more.")


def _parse_plan(name: str, content: bytes) -> Batch | None:
    """Return the batch of a plan, or None if the content is not a plan."""
    try:
        document = parse_json(content)
    except NotJson:
        return None
    if not isinstance(document, dict) or "operations" not in document:
        return None
    if document["operations"] == []:  # A plan can be empty, but not a batch of the HTTP API.
        return Batch(())
    with reporting_violations(
        f"{name} is not a valid plan. Write it with `recipient-fields plan --out`.", file=name
    ):
        return parse_batch(document)


def _propose(catalog: Catalog, batch: Batch, refused: Sequence[RefusedDraft]) -> _Proposal:
    """Return what the batch does to the catalog.

    Raises: CatalogChanged if the batch is for another version of it; BatchRejected if an operation
    fails.
    """
    changes = batch.stage(view_of(catalog), by=API, at=system_clock()).changes()
    steps = [*_steps(changes), *(_refused_step(each, catalog) for each in refused)]
    steps.sort(key=lambda step: step.key)
    touched = {step.key for step in steps}
    managed = [field for field in catalog.fields if field.origin.source is API.source]
    unchanged = sum(field.key not in touched for field in managed)
    return _Proposal(batch, tuple(steps), unchanged)


def _steps(changes: CatalogChanges) -> Iterator[_Step]:
    created = {field.key: render_definition(field) for field in changes.created}
    for field in changes.deleted:
        after = created.pop(field.key, None)
        action = "delete" if after is None else "replace"
        yield _Step(action=action, key=field.key, before=render_definition(field), after=after)
    for update in changes.updated:
        before, after = render_definition(update.before), render_definition(update.after)
        yield _Step(action="change", key=update.after.key, before=before, after=after)
    for key, members in created.items():
        yield _Step(action="create", key=key, after=members)


def _refused_step(refused: RefusedDraft, catalog: Catalog) -> _Step:
    key, reason = refused.draft.key, refused.reason
    if any(field.key == key and field.origin.source is API.source for field in catalog.fields):
        reason = f"{reason} To do this, add --replace {key}."
    return _Step(action="refused", key=key, reason=reason)


def _require_applicable(proposal: _Proposal, catalog: Catalog, limit: int) -> None:
    """Check the limits that a batch would exceed, for one message instead of one per field."""
    managed = sum(field.origin.source is API.source for field in catalog.fields)
    created = proposal.count("create")
    count = managed + created - proposal.count("delete")
    if created and count > limit:
        raise click.ClickException(
            f"The organization would have {count:,} API-managed fields, and its limit is {limit:,}."
            " Remove fields from the document, or increase --field-limit. Nothing was changed."
        )
    operations = len(proposal.batch.operations)
    if operations > MAX_BATCH_OPERATIONS:
        raise click.ClickException(
            f"The plan has {operations:,} operations, and {MAX_BATCH_OPERATIONS:,} can be applied"
            " together. Apply a document with fewer fields first, without --prune."
            " Nothing was changed."
        )


def _require_permitted(proposal: _Proposal) -> None:
    refused = proposal.count("refused")
    if refused:
        raise click.ClickException(
            f"{counted(refused, 'field')} can't be changed as the document defines. Nothing was"
            " changed."
        )


@contextmanager
def _reporting_rejection(batch: Batch) -> Iterator[None]:
    try:
        yield
    except CatalogChanged:
        raise click.ClickException(
            "The fields have changed since the plan. Nothing was changed. Plan again."
        ) from None
    except BatchRejected as error:
        failures = error.failures.items()
        _note_all(f"{batch.operations[index].reference}: {each}" for index, each in failures)
        count = counted(len(failures), "change")
        advice = "Plan again."
        if any(isinstance(each, CatalogTooLarge) for each in error.failures.values()):
            advice = larger_catalogs(click.get_current_context())
        raise click.ClickException(
            f"{count} can't be applied. Nothing was changed. {advice}"
        ) from None


def _render(proposal: _Proposal) -> dict[str, object]:
    steps = [asdict(step, recurse=False) for step in proposal.steps]
    return {"plan": {"steps": steps, "unchanged": proposal.unchanged}}


def _print(proposal: _Proposal) -> None:
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    for step in proposal.steps:
        symbol, colour = _SYMBOLS[step.action]
        line = f"{symbol} {step.action} {step.key}"
        if step.reason is not None:
            line = f"{line}: {one_line(step.reason)}"
        print_line(click.style(line, fg=colour) if coloured else line)
        for detail in _details(step):
            print_line(f"    {one_line(detail)}")
    print_line(_summary(proposal))


def _details(step: _Step) -> Iterator[str]:
    """Yield one line per member of a new field, and per changed member of another."""
    if step.after is None:
        return
    if step.before is None:
        for name, value in without_defaults(step.after).items():
            yield f"{name}: {_shown(value)}"
        return
    for name, value in step.after.items():
        if value != step.before[name]:
            yield f"{name}: {_shown(step.before[name])} → {_shown(value)}"


def _shown(value: object) -> str:
    return render_json(value).decode("utf-8")


def _summary(proposal: _Proposal) -> str:
    counts = {action: proposal.count(action) for action in _SYMBOLS}
    parts = [f"{counts[action]:,} to {action}" for action in ("create", "change", "delete")]
    if counts["replace"]:
        parts.insert(2, f"{counts['replace']:,} to replace")
    if counts["refused"]:
        parts.append(f"{counts['refused']:,} refused")
    return f"Plan: {', '.join(parts)}, {proposal.unchanged:,} unchanged."


def _print_unplanned(planned: FieldPlan) -> None:
    if planned.unplanned:
        fields = counted(len(planned.unplanned), "API-managed field")
        note(f"Not in the document: {fields}. To delete them, add --prune.")


def _write(path: str, batch: Batch) -> None:
    try:
        Path(path).write_bytes(render_json(render_batch(batch)) + b"\n")
    except OSError as error:
        raise click.ClickException(f"Can't write {one_line(path)}: {error.strerror}.") from error
