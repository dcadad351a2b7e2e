"""`recipient-fields integrations names` and `match`: what fields are called at an integration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import click

from recipient_fields.application.content.code_documents import render_names
from recipient_fields.application.esp.documents import render_matches
from recipient_fields.domain import IntegrationId
from recipient_fields.domain.esp import FieldCode, Profile
from recipient_fields.domain.integrations import FieldCodes, NameMatch, SetName

from ..commands import Command
from ..fields.codes import must_be_created, name_cells, note_advice
from ..options import Parsed, flag, json_option, repeatable
from ..output import is_json, note, print_json, print_rows, print_table
from ..targets import open_for_organization
from ..violations import reporting_violations
from .options import integration_options


def _parse_assignment(text: str) -> tuple[str, str]:
    key, _, name = text.partition("=")
    if not key or not name:
        raise ValueError("use KEY=NAME, for example loyalty_tier=TIER.")
    return key, name


_ASSIGNMENT = Parsed("key=name", _parse_assignment)


@click.command(cls=Command, changes_storage=True)
@integration_options
@repeatable(
    "--set", "assignments", type=_ASSIGNMENT, text="Set the name of the field with this key."
)
@repeatable(
    "--unset", "removed", metavar="KEY", text="Remove the name that was set for this field."
)
@flag(
    "--custom",
    text="The names of --set are those of custom fields, although the ESP has standard fields with"
    " these names.",
)
@json_option
def names(
    integration_id: int,
    organization: str,
    assignments: Sequence[tuple[str, str]],
    removed: Sequence[str],
    *,
    custom: bool,
) -> None:
    """List or set what fields are called at an integration.

    Without --set and --unset, the command lists all fields, except counterparts and the synced
    fields of this integration. Otherwise, it makes all changes or none, and lists the changed
    fields.
    """
    keys = [*(key for key, _ in assignments), *removed]
    repeated = next((key for key, count in Counter(keys).items() if count > 1), None)
    if repeated is not None:
        raise click.UsageError(f"Use only one --set or --unset for {repeated}.")
    if custom and not assignments:
        raise click.UsageError("--custom requires --set.")
    changes: dict[str, SetName | None] = {key: SetName(name, custom) for key, name in assignments}
    changes |= dict.fromkeys(removed)
    with (
        reporting_violations("Nothing was changed.", as_json=is_json()),
        open_for_organization(organization) as (core, chosen),
    ):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        if changes:
            core.integrations.set_names(chosen.id, integration.id, changes)
        codes = _listed(core.content.read_codes(chosen.id), integration.id, keys)
    if changes:
        # The integration is from before the change.
        had_names = sum(
            code.field.id in integration.names for code in codes if code.field.key in removed
        )
        counts = f"{len(assignments)} set, {had_names:,} removed"
        note(f"Names at integration {integration.id}, {integration.name}: {counts}.")
    if is_json():
        print_json(render_names(codes))
    else:
        _print(core.profiles[integration.esp], codes)


def _listed(
    codes: FieldCodes, integration_id: IntegrationId, keys: Sequence[str]
) -> list[FieldCode]:
    """Return the codes of the fields with these keys, or of all whose names people set, by key."""
    names = codes.names
    listed = [names.by_key[key] for key in keys] or names.fields_to_name(integration_id)
    return [codes.get(each, integration_id) for each in sorted(listed, key=lambda each: each.key)]


def _print(profile: Profile, codes: Sequence[FieldCode]) -> None:
    print_table(
        ("KEY", "ESP NAME", "FROM", "STATE", "REASON"),
        [(code.field.key, *name_cells(code), code.refusal) for code in codes],
    )
    note_advice(codes)
    missing = sum(map(must_be_created, codes))
    if missing:
        count = "One name is" if missing == 1 else f"{missing:,} names are"
        note(
            f"{count} missing at {profile.title}. If the account calls the field differently, use"
            f" --set. Otherwise: {profile.names.creation.explain()}"
        )


@click.command(cls=Command, changes_storage=True)
@integration_options
@flag(
    "--accept-exact",
    text="Set the names of all fields with the same name, and of all standard fields.",
)
@repeatable(
    "--accept", "assignments", type=_ASSIGNMENT, text="Set a name that the command proposes."
)
@json_option
def match(
    integration_id: int,
    organization: str,
    assignments: Sequence[tuple[str, str]],
    *,
    accept_exact: bool,
) -> None:
    """Propose which field of the email service provider each field is.

    The best proposals are first. Those with a similar name, or with the same type and values, need
    a decision: accept each with --accept. The command makes all changes or none.
    """
    with (
        reporting_violations("Nothing was changed.", as_json=is_json()),
        open_for_organization(organization) as (core, chosen),
    ):
        integration = core.integrations.get_integration(chosen.id, IntegrationId(integration_id))
        matches = core.integrations.match_names(chosen.id, integration.id)
        changes = _accepted(matches, assignments, accept_exact=accept_exact)
        if changes:
            core.integrations.set_names(chosen.id, integration.id, changes)
            matches = core.integrations.match_names(chosen.id, integration.id)
    if changes:
        note(f"Names at integration {integration.id}, {integration.name}: {len(changes)} set.")
    print_rows(render_matches(matches), ("KEY", "ESP NAME", "REASON"), list(map(_row, matches)))


def _accepted(
    matches: Sequence[NameMatch], assignments: Sequence[tuple[str, str]], *, accept_exact: bool
) -> Mapping[str, SetName]:
    """Return the accepted proposals by key. One that the command does not make is a usage error."""
    proposed = {str(each.field.key): each.proposed for each in matches if each.proposed}
    for key, name in assignments:
        if proposed.get(key) != SetName(name):
            raise click.UsageError(
                f"{name} is not proposed for {key}. To set it, use `integrations names`."
            )
    keys = {key for key, _ in assignments}
    if accept_exact:
        keys.update(str(each.field.key) for each in matches if each.is_exact)
    return {key: proposed[key] for key in sorted(keys)}


def _row(match: NameMatch) -> tuple[str, str | None, str]:
    name = None if match.esp_name is None else match.esp_name.name
    advice = "" if match.creation is None else f". {match.creation}"
    return match.field.key, name, f"{match.describe()}{advice}"
