"""`recipient-fields plan` and `recipient-fields apply`: make fields equal to a document."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO, TypeAlias

import click

from recipient_fields.application.documents.conversion import with_suggestion
from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.application.fields.fields_as_code import (
    CatalogDocument,
    render_definition,
    render_set_name,
    without_defaults,
)
from recipient_fields.application.fields.plans import (
    FieldChange,
    Plan,
    parse_plan,
    plan_document,
    plan_saved,
    render_plan,
)
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    MAX_BATCH_OPERATIONS,
    Batch,
    BatchRejected,
    CatalogChanged,
    CatalogTooLarge,
    Change,
    FieldKey,
    RecipientField,
    Rule,
    StorageUnavailable,
    Violation,
)
from recipient_fields.domain.integrations import NamedField, SetName
from recipient_fields.domain.integrations.setting import NameChange, NamesToSet

from ...service.selection import installed_profiles
from ..accounts.audit_log import audit_log_option
from ..commands import Command
from ..failures import larger_catalogs
from ..options import (
    confirm,
    flag,
    json_option,
    path_option,
    repeatable,
    selects_service,
    setting_option,
    yes_option,
)
from ..output import complete_outputs, is_json, note, one_line, print_json, print_line
from ..repository.breaks import ContentGuard, content_options
from ..targets import FieldTarget, open_target, target_options
from ..typed_options import KEY
from ..violations import name_of, reporting_violations

CHANGES_PLANNED = 3
"""The exit status of `plan` if there is something to apply."""

_MAX_LINES = 100
"""Violations of a file, or failed changes, that are printed."""


_Step: TypeAlias = FieldChange | NameChange | Violation

_SYMBOLS = {
    "create": ("+", "green"),
    "change": ("~", "yellow"),
    "replace": ("-/+", "magenta"),
    "delete": ("-", "red"),
    "refused": ("!", "red"),
}
"""The symbol and the colour of each action."""

_prune_option = flag(
    "--prune",
    text="Delete the API-managed fields that are not in the document. At the integrations that it"
    " names, remove the names that it does not contain.",
)
_replace_option = repeatable(
    "--replace", type=KEY, text="Delete and create this field if its data type changes."
)


@click.command(cls=Command, params=[setting_option("field_limit"), setting_option("catalog_size")])
@click.argument("file", type=click.File("rb"))
@target_options
@_prune_option
@_replace_option
@path_option(
    "--out", metavar="PLAN", text="Write the plan to this file, to apply exactly this plan."
)
@flag("--exit-zero", text="Exit with 0 if there are changes, instead of 3.")
@content_options
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
    content: Sequence[str],
    broken: Sequence[FieldKey],
    *,
    prune: bool,
    exit_zero: bool,
) -> None:
    """Show how a document of fields would change the API-managed fields.

    FILE is the document, in YAML or JSON. The command changes nothing. The exit status is 0
    if there is nothing to do, 3 if there are changes, and 1 if a change is refused.
    """
    opening = open_target(organization, url, field_limit=field_limit, catalog_size=catalog_size)
    document = _read_document(file.name, file.read(), replace)
    _require_storage(document.names)
    with opening as target:
        planned = _plan(target, document, replace, prune=prune)
        planned = _guarded(planned, ContentGuard(content, broken), target)
    _require_applicable(planned, field_limit)
    if is_json():
        print_json(_render(planned))
    else:
        _print(planned)
    _require_permitted(planned)
    if out is not None:
        with complete_outputs(is_private=True) as outputs:
            outputs.open(out).write(render_plan(planned))
    ctx.exit(CHANGES_PLANNED if planned.changes and not exit_zero else 0)


@click.command(
    cls=Command,
    changes_storage=True,
    params=[setting_option("field_limit"), setting_option("catalog_size")],
)
@click.argument("file", metavar="FILE|PLAN", type=click.File("rb"))
@target_options
@_prune_option
@_replace_option
@content_options
@audit_log_option
@yes_option
def apply(
    file: BinaryIO,
    organization: str | None,
    url: str | None,
    field_limit: int,
    catalog_size: int,
    replace: Sequence[FieldKey],
    content: Sequence[str],
    broken: Sequence[FieldKey],
    *,
    prune: bool,
    yes: bool,
) -> None:
    """Apply a document of fields, or a plan, to the API-managed fields.

    FILE is the document, in YAML or JSON, and PLAN is a file that `plan --out` has written.
    All changes of fields and names take effect together, or none. If any field or name of the
    organization has changed since the plan, the command changes nothing. A plan needs --content
    again, because files change.
    """
    opening = open_target(organization, url, field_limit=field_limit, catalog_size=catalog_size)
    written = file.read()
    with reporting_violations(
        f"{name_of(file)} is not a valid plan. Write it with `recipient-fields plan --out`.",
        file=name_of(file),
    ):
        saved = parse_plan(written)
    if saved is not None and (prune or replace):
        raise click.UsageError("A plan is applied as it is: omit --prune and --replace.")
    document = _read_document(file.name, written, replace) if saved is None else CatalogDocument()
    _require_storage(document.names if saved is None else saved[1])
    with opening as target:
        planned = _plan(target, document, replace, saved, prune=prune)
        planned = _guarded(planned, ContentGuard(content, broken), target)
        _require_applicable(planned, field_limit)
        _print(planned)
        _require_permitted(planned)
        if not planned.changes:
            return
        if not yes:
            confirm(f"Apply {counted(len(planned.changes), 'change')}?")
        with _reporting_rejection(planned.batch):
            _apply(target, planned)
    note(f"Applied {counted(len(planned.changes), 'change')}.")


def _plan(
    target: FieldTarget,
    document: CatalogDocument,
    replace: Collection[FieldKey],
    saved: tuple[Batch, NamesToSet] | None = None,
    *,
    prune: bool,
) -> Plan:
    """Return what the document, or the saved plan, changes."""
    catalog = target.fields.list_fields(target.organization_id)
    integrations, profiles = target.list_integrations(), installed_profiles()
    if saved is not None:
        with _reporting_rejection(saved[0]):
            return plan_saved(catalog, *saved, integrations, profiles)
    return plan_document(
        catalog, document, integrations, prune=prune, replaceable=replace, profiles=profiles
    )


def _guarded(plan: Plan, guard: ContentGuard, target: FieldTarget) -> Plan:
    """Return the plan with a refusal for each field whose change breaks a file."""
    refusals = guard.find_refusals(target.read_names, plan.names_after)
    return plan.refuse(refusals)


def _require_storage(names: object) -> None:
    """Reject the names of a document or a plan for a service, whose API can't set them."""
    if names and selects_service(click.get_current_context()):
        raise click.ClickException(
            "--url can't set the names in `integrations`, so nothing was changed. Use --storage and"
            " --organization. Or remove this section, and set the names on the machine of the"
            " storage: `recipient-fields integrations names ID --set KEY=NAME`."
        )


def _apply(target: FieldTarget, plan: Plan) -> None:
    try:
        target.apply_plan(plan)
    except StorageUnavailable as error:
        cause = str(error).removesuffix(".")
        raise click.ClickException(
            one_line(f"{cause}. The changes may be applied. To see whether they are, plan again.")
        ) from error


def _read_document(name: str, content: bytes, replace: Collection[FieldKey]) -> CatalogDocument:
    # Imported here because only these commands need PyYAML.
    from .files import InvalidFile, parse_file

    try:
        document = parse_file(content)
    except InvalidFile as error:
        _note_all(
            f"{name}:{each.place.line}:{each.place.column}: {each.message}"
            for each in error.violations
        )
        count = counted(len(error.violations), "error")
        raise click.ClickException(one_line(f"{name} has {count}.")) from None
    for key in set(replace).difference(draft.key for draft in document.fields):
        raise click.UsageError(f"The document has no field {key}, which --replace names.")
    return document


def _note_all(messages: Iterable[str]) -> None:
    """Print the first messages, and the number of the others."""
    remaining = iter(messages)
    for message in islice(remaining, _MAX_LINES):
        note(one_line(message))
    omitted = sum(1 for _ in remaining)
    if omitted:
        note(f"… and {omitted:,} more.")


def _require_applicable(plan: Plan, limit: int) -> None:
    """Check the limits that the batch would exceed, for one message instead of one per field."""
    if plan.exceeds(limit):
        raise click.ClickException(
            f"The organization would have {plan.field_count:,} API-managed fields, and its limit is"
            f" {limit:,}. Remove fields from the document, or increase --field-limit. Nothing was"
            " changed."
        )
    if plan.is_too_long:
        raise click.ClickException(
            f"The plan has {len(plan.batch.operations):,} operations, and"
            f" {MAX_BATCH_OPERATIONS:,} can be applied together. Apply a document with fewer fields"
            " first, without --prune. Nothing was changed."
        )


def _require_permitted(plan: Plan) -> None:
    if not plan.is_permitted:
        fields = sum(isinstance(each, Violation) for each in plan.fields)
        names = sum(isinstance(each, Violation) for each in plan.names)
        refused = [counted(fields, "field")] if fields or not names else []
        refused += [counted(names, "name")] if names else []
        raise click.ClickException(
            f"{' and '.join(refused)} can't be changed as the document defines. Nothing was"
            " changed."
        )


@contextmanager
def _reporting_rejection(batch: Batch) -> Iterator[None]:
    try:
        yield
    except CatalogChanged:
        raise click.ClickException(
            "Fields or names have changed since the plan. Nothing was changed. Plan again."
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


def _render(plan: Plan) -> dict[str, object]:
    return {
        "plan": {
            "steps": [_render_step(each) for each in plan.fields],
            "unchanged": plan.unchanged,
            "names": {
                "steps": [_render_step(each) for each in plan.names],
                "unchanged": plan.unchanged_names,
            },
        }
    }


def _render_step(step: _Step) -> dict[str, object]:
    before, after = _states(step)
    return {
        "action": _action(step),
        **_subject(step),
        "before": before,
        "after": after,
        "reason": _reason(step) if isinstance(step, Violation) else None,
    }


def _action(step: _Step) -> str:
    """Return what the plan does. A field that is deleted and created again has another id."""
    match step:
        case Violation():
            return "refused"
        case Change(before=None):
            return "create"
        case Change(after=None):
            return "delete"
        case Change(before=RecipientField(id=before), after=RecipientField(id=after)):
            return "change" if before == after else "replace"
    return "change"


def _subject(step: _Step) -> dict[str, object]:
    """Return the key, after the name of the integration if the step is about a name there.

    The key is None if a whole integration is refused.
    """
    if isinstance(step, Violation):
        section, name, *key = step.path
        if section == "fields":
            return {"key": name}
        return {"integration": name, "key": key[0] if key else None}
    if isinstance(step.field, NamedField):
        return {"integration": step.field.integration.name, "key": step.field.key}
    return {"key": step.field.key}


def _states(step: _Step) -> tuple[Any, Any]:
    """Return the members of the field, or the name, before and after the change, or None."""
    if isinstance(step, Violation):
        return None, None
    return _render_state(step.before), _render_state(step.after)


def _render_state(state: RecipientField | NamedField[SetName] | None) -> object:
    if isinstance(state, NamedField):
        return render_set_name(state.esp_name)
    return None if state is None else render_definition(state)


def _print(plan: Plan) -> None:
    for each in plan.fields:
        _print_step(each, str(_subject(each)["key"]), "")
        for detail in _details(*_states(each)):
            print_line(f"    {one_line(detail)}")
    for name in plan.names:
        place, key = _subject(name).values()
        place = one_line(str(place))
        subject = f"integration {place}" if key is None else f"name {key} at {place}"
        names = " → ".join(_shown(each) for each in _states(name) if each is not None)
        _print_step(name, subject, names)
    print_line(f"Plan: {_summary(plan.fields, plan.unchanged)}")
    if plan.names or plan.unchanged_names:
        print_line(f"Names: {_summary(plan.names, plan.unchanged_names)}")
    if plan.unplanned:
        unplanned = counted(plan.unplanned, "API-managed field")
        note(f"Not in the document: {unplanned}. To delete them, add --prune.")


def _print_step(step: _Step, subject: str, detail: str) -> None:
    """Print the step with the detail, or with the reason if it is refused."""
    action = _action(step)
    symbol, colour = _SYMBOLS[action]
    if isinstance(step, Violation):
        detail = _reason(step)
    line = f"{symbol} {action} {subject}" + (f": {one_line(detail)}" if detail else "")
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print_line(click.style(line, fg=colour) if coloured else line)


def _reason(refusal: Violation) -> str:
    """Return the reason of a refused change, with the command or the option that helps."""
    advice = ""
    match refusal:
        case Violation(rule=Rule.IMMUTABLE, path=("fields", key)):
            advice = f" To do this, add --replace {key}."
        case Violation(rule=rule, path=("integrations", _)) if rule in _COMMANDS:
            advice = f" Use `{_COMMANDS[rule]}`."
    return f"{with_suggestion(refusal).message}{advice}"


_COMMANDS = {
    Rule.UNKNOWN_VALUE: "integrations create",
    Rule.DUPLICATE_ITEM: "integrations rename",
}
"""The commands that help if an integration is refused, by the rule that its name breaks."""


def _details(
    before: Mapping[str, object] | None, after: Mapping[str, object] | None
) -> Iterator[str]:
    """Yield one line per member of a new field, and per changed member of another."""
    if after is None:
        return
    if before is None:
        for name, value in without_defaults(after).items():
            yield f"{name}: {_shown(value)}"
        return
    for name, value in after.items():
        if value != before[name]:
            yield f"{name}: {_shown(before[name])} → {_shown(value)}"


def _shown(value: object) -> str:
    return render_json(value).decode("utf-8")


def _summary(steps: Iterable[_Step], unchanged: int) -> str:
    counts = Counter(map(_action, steps))
    parts = [f"{counts[action]:,} to {action}" for action in ("create", "change", "delete")]
    if counts["replace"]:
        parts.insert(2, f"{counts['replace']:,} to replace")
    if counts["refused"]:
        parts.append(f"{counts['refused']:,} refused")
    return f"{', '.join(parts)}, {unchanged:,} unchanged."
