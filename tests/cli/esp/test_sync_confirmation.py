"""Syncs that remove fields: the plan, its confirmation, and the undo."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from recipient_fields.application import OPERATOR_AUTHOR, Core
from recipient_fields.domain import (
    DataType,
    FieldDraft,
    FieldId,
    HistoryQuery,
    OrganizationId,
    RecordedOperation,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspField, Integration

from ...adapters.esp.accounts import BREVO, SECRET
from ...support.command_line import CommandLine, Run, Script
from ...support.http_server import ReceivedRequest, Reply, stub_server

FIELDS = 50
NOTHING = '{"fields": []}'


def report(names: range) -> str:
    fields = [{"name": f"F{number}", "data_type": "text"} for number in names]
    return json.dumps({"fields": fields})


@pytest.fixture
def audience(cli: CommandLine, core: Core, acme: OrganizationId) -> Integration:
    """Create an integration with 50 fields."""
    created = core.integrations.create_integration(acme, esp=Esp.MAILCHIMP, name="Main list")
    run = cli(*sync_command(created), stdin=report(range(FIELDS)))
    assert "50 created" in run.messages()
    return core.integrations.get_integration(acme, created.id)


def sync_command(integration: Integration, *options: object, source: object = "-") -> list[Any]:
    organization = ("--organization", integration.organization_id)
    return ["integrations", "sync", integration.id, *organization, "--from", source, *options]


def stored(core: Core, acme: OrganizationId) -> dict[str, FieldId]:
    """Return the ids of the stored fields by key."""
    return {field.key: field.id for field in core.fields.list_fields(acme).fields}


def test_a_mistaken_sync_is_refused_then_confirmed_and_undone(
    cli: CommandLine, core: Core, acme: OrganizationId, audience: Integration
) -> None:
    before = stored(core, acme)
    only_one = report(range(1))

    refused = cli(*sync_command(audience), stdin=only_one)
    assert refused.status == 3
    assert "Would sync integration 1, Main list: 0 created, 0 updated, 49 removed" in refused.err
    assert refused.err.endswith(
        "Error: The sync would remove 49 fields, so nothing was changed. To confirm, add"
        " --allow-removals 49, or --yes for any number.\n"
    )
    assert refused.out.count("\nremoved  f") == 49
    assert stored(core, acme) == before
    assert core.integrations.list_integrations(acme) == (audience,)

    synced = cli(*sync_command(audience, "--allow-removals", 49), stdin=only_one)
    assert synced.out == refused.out
    assert "Synced integration 1, Main list: 0 created, 0 updated, 49 removed" in synced.messages()
    assert stored(core, acme).keys() == {"f0"}
    undo = "recipient-fields integrations restore 1 --organization 1"
    assert f"To undo the removals: {undo}\n" in synced.err

    restored = cli(*undo.split()[1:])
    assert "Restored 49 fields of integration 1, Main list." in restored.messages()
    assert stored(core, acme) == before
    again = cli(*undo.split()[1:])
    assert again.failure().startswith("There is nothing to restore: ")


def test_the_undo_has_the_options_that_the_sync_had(
    cli: CommandLine, core: Core, acme: OrganizationId, audience: Integration
) -> None:
    before = stored(core, acme)
    options = ("--yes", "--storage", cli.storage, "--catalog-size", 9)

    synced = cli(*sync_command(audience, *options), stdin=report(range(1)))

    undo = synced.err.partition("To undo the removals: recipient-fields ")[2]
    assert shlex.split(undo)[-4:] == ["--storage", cli.storage, "--catalog-size", "9"]
    cli(*shlex.split(undo))
    assert stored(core, acme) == before


@pytest.mark.parametrize("removals", [0, 1, 9, 10, 50])
def test_removals_need_a_confirmation(
    cli: CommandLine, core: Core, acme: OrganizationId, audience: Integration, removals: int
) -> None:
    names = range(removals, FIELDS) if removals < FIELDS else range(FIELDS, FIELDS + 1)
    before = stored(core, acme)

    refused = cli(*sync_command(audience, "--json"), stdin=report(names))
    assert refused.status == (3 if removals else 0)
    assert len(json.loads(refused.out)["sync"]["removed"]) == removals
    too_few = cli(
        *sync_command(audience, "--allow-removals", max(removals - 1, 0)), stdin=report(names)
    )
    assert too_few.status == (3 if removals else 0)
    assert stored(core, acme) == before

    run = cli(*sync_command(audience, "--allow-removals", removals, "--json"), stdin=report(names))
    assert len(run.document()["sync"]["removed"]) == removals
    assert len(before.keys() - stored(core, acme)) == removals
    # The plan is printed before the fields are removed.
    planned, _, result = run.err.partition("Synced ")
    assert planned.count("\nremoved  f") == removals
    assert f"{removals} removed" in result


@pytest.mark.parametrize(("option", "status"), [((), 3), (("--yes",), 0)])
def test_an_empty_report_is_rejected_unless_it_is_permitted(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    audience: Integration,
    option: tuple[str, ...],
    status: int,
) -> None:
    for options in ((), ("--yes",), ("--dry-run",), ("--allow-removals", 50)):
        assert cli(*sync_command(audience, *options), stdin=NOTHING).failure() == (
            "The report has no fields, so nothing was changed. If the account has no fields, add"
            " --allow-empty."
        )
    assert core.integrations.list_integrations(acme) == (audience,)

    run = cli(*sync_command(audience, "--allow-empty", *option), stdin=NOTHING)
    assert run.status == status
    assert len(stored(core, acme)) == (FIELDS if status else 0)


@pytest.mark.parametrize(("reply", "status"), [("n\n", 1), ("", 1), ("y\n", 0)])
def test_at_a_terminal_the_plan_is_printed_before_the_question(
    script: Script,
    core: Core,
    acme: OrganizationId,
    audience: Integration,
    tmp_path: Path,
    reply: str,
    status: int,
) -> None:
    file = tmp_path / "report.json"
    file.write_text(report(range(9, FIELDS)))
    # Control-D closes the input of a terminal.
    exit_status, shown = script.at_a_terminal(
        *sync_command(audience, source=file), reply=reply or "\x04"
    )

    assert exit_status == status, shown
    question = "Remove 9 fields of integration 1, Main list, of organization 1, Acme? [y/N]: "
    plan, _, result = shown.partition(question)
    assert plan.count("removed  f") == 9
    assert "removed  f" not in result
    assert ("9 removed" in result) is (status == 0)
    assert len(stored(core, acme)) == (FIELDS if status else FIELDS - 9)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_catalog_that_changes_before_the_confirmation_needs_another_one(
    cli: CommandLine,
    core: Core,
    acme: OrganizationId,
    audience: Integration,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    as_json: bool,
) -> None:
    """While a person reads the plan, another field gets the key of a new one."""
    report_file = tmp_path / "report.json"
    report_file.write_text(report(range(1, FIELDS + 1)))
    shown = []

    def confirm_later(question: str, **_: object) -> bool:
        shown.append(question)
        if len(shown) == 1:
            core.fields.create_field(acme, FieldDraft(name="F50", data_type="text"))
        return True

    monkeypatch.setattr(click, "confirm", confirm_later)
    options = ("--json",) if as_json else ()
    run = cli(*sync_command(audience, *options, source=report_file), reply="y\n")

    assert len(shown) == 2
    changed = "The fields have changed since the plan was printed, so nothing was stored."
    assert changed in run.messages()
    tables = run.err if as_json else run.out
    first, _, second = tables.partition("linked f50 to F50 (Mailchimp)")
    assert "created  f50  " in first
    assert "created  f" not in second
    assert {"f50", "f50_1"} <= stored(core, acme).keys()
    assert "f0" not in stored(core, acme)


def test_the_esp_is_asked_once_for_the_fields_that_are_confirmed(
    cli: CommandLine, core: Core, acme: OrganizationId
) -> None:
    brevo = core.integrations.create_integration(acme, esp=Esp.BREVO, name="Newsletter")
    old = EspField(name="OLD", data_type=DataType.TEXT)
    core.integrations.sync_fields(acme, brevo.id, [old])
    requests = []

    def handle(request: ReceivedRequest) -> Reply:
        requests.append(request.target)
        return BREVO.handler(request)

    with stub_server(handle) as server:
        environment = {"BREVO_API_KEY": SECRET, "BREVO_URL": server.url}
        settings = {f"RECIPIENT_FIELDS_{name}": value for name, value in environment.items()}
        sync = ("integrations", "sync", brevo.id, "--organization", acme)
        assert cli(*sync, "--dry-run", **settings).status == 0
        reads, requests = requests, []
        run = cli(*sync, reply="y\n", **settings)

    assert "1 removed" in run.messages()
    assert requests == reads
    assert "old" not in stored(core, acme)


def test_either_all_removals_are_permitted_or_a_number_of_them(
    cli: CommandLine, acme: OrganizationId, audience: Integration
) -> None:
    usage = cli(*sync_command(audience, "--yes", "--allow-removals", 1), stdin=report(range(1)))
    assert usage.usage_error() == "Use either --yes or --allow-removals."
    negative = cli(*sync_command(audience, "--allow-removals", -1), stdin=report(range(1)))
    assert "-1 is not in the range x>=0" in negative.usage_error()


class TestRestoringAField:
    @pytest.fixture
    def removed(
        self, cli: CommandLine, core: Core, acme: OrganizationId, audience: Integration
    ) -> FieldId:
        """Remove one field, and return its id."""
        field_id = stored(core, acme)["f0"]
        cli(*sync_command(audience, "--yes"), stdin=report(range(1, FIELDS))).messages()
        return field_id

    def restore(self, cli: CommandLine, field_id: FieldId) -> Run:
        return cli("fields", "restore", field_id, "--organization", 1)

    def test_a_removed_field_gets_its_id_and_key_back(
        self, cli: CommandLine, core: Core, acme: OrganizationId, removed: FieldId
    ) -> None:
        assert "Restored field" in self.restore(cli, removed).messages()
        field = core.fields.get_field(acme, removed)
        assert (field.key, field.origin.integration_id, field.version) == ("f0", 1, 2)
        newest = HistoryQuery(descending=True, limit=1)
        (record,) = core.fields.list_field_changes(acme, field.id, newest).records
        assert (record.operation, record.author) == (RecordedOperation.RESTORED, OPERATOR_AUTHOR)
        assert self.restore(cli, removed).failure() == f"Field {removed} is not deleted."

    def test_the_next_sync_removes_it_again_after_a_confirmation(
        self, cli: CommandLine, audience: Integration, removed: FieldId
    ) -> None:
        self.restore(cli, removed)
        run = cli(*sync_command(audience), stdin=report(range(1, FIELDS)))
        assert run.status == 3
        assert "removed  f0" in run.out

    def test_its_key_must_be_free(
        self, cli: CommandLine, core: Core, acme: OrganizationId, removed: FieldId
    ) -> None:
        holder = core.fields.create_field(acme, FieldDraft(name="F0", data_type="text"))
        assert self.restore(cli, removed).failure() == (
            f"Field {holder.id} has the key of field {removed}. Delete field {holder.id} first."
        )

    def test_its_integration_must_exist(
        self, cli: CommandLine, core: Core, acme: OrganizationId, removed: FieldId
    ) -> None:
        core.integrations.delete_integration(acme, core.integrations.list_integrations(acme)[0].id)
        assert self.restore(cli, removed).failure() == (
            "The integration of this field was deleted, so the field can't be restored."
        )
