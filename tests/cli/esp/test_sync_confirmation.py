"""Syncs that remove fields: the plan, its confirmation, and the undo."""

from __future__ import annotations

import json
import shlex

import click
import pytest

from recipient_fields.application import OPERATOR_AUTHOR
from recipient_fields.domain import (
    FieldDraft,
    FieldId,
    HistoryQuery,
    RecordedOperation,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import Integration

from ...adapters.esp.accounts import BREVO, SECRET
from ...support.http_server import ReceivedRequest, Reply, stub_server
from ...support.integrations import add_integration
from ..stories import Commands

FIELDS = 50
NOTHING = '{"fields": []}'
SYNC = "integrations sync 1 --from -"


def report(names: range) -> str:
    fields = [{"name": f"F{number}", "data_type": "text"} for number in names]
    return json.dumps({"fields": fields})


ONLY_ONE = report(range(1))


@pytest.fixture
def audience(commands: Commands) -> Integration:
    """Create an integration with 50 fields."""
    integrations, acme = commands.core.integrations, commands.organization
    created = integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main list")
    assert "50 created" in commands(SYNC, stdin=report(range(FIELDS))).messages()
    return integrations.get_integration(acme, created.id)


def stored(commands: Commands) -> dict[str, int]:
    """Return the ids of the stored fields by key."""
    return {field["key"]: field["id"] for field in commands.stored}


def integrations_of(commands: Commands) -> tuple[Integration, ...]:
    return commands.core.integrations.list_integrations(commands.organization)


def test_a_mistaken_sync_is_refused_then_confirmed_and_undone(commands, audience):
    before = stored(commands)

    refused = commands(SYNC, stdin=ONLY_ONE)
    assert refused.status == 3
    assert "Would sync integration 1, Main list: 0 created, 0 updated, 49 removed" in refused.err
    assert refused.err.endswith(
        "Error: The sync would remove 49 fields, so nothing was changed. To confirm, add"
        " --allow-removals 49, or --yes for any number.\n"
    )
    assert refused.out.count("\nremoved  f") == 49
    assert stored(commands) == before
    assert integrations_of(commands) == (audience,)

    synced = commands(f"{SYNC} --allow-removals 49", stdin=ONLY_ONE)
    assert synced.out == refused.out
    assert "Synced integration 1, Main list: 0 created, 0 updated, 49 removed" in synced.messages()
    assert stored(commands).keys() == {"f0"}
    undo = "recipient-fields integrations restore 1 --organization 1"
    assert f"To undo the removals: {undo}\n" in synced.err

    restored = commands.cli(*undo.split()[1:])
    assert "Restored 49 fields of integration 1, Main list." in restored.messages()
    assert stored(commands) == before
    again = commands.cli(*undo.split()[1:])
    assert again.failure().startswith("There is nothing to restore: ")


def test_the_undo_has_the_options_that_the_sync_had(commands, audience):
    before, storage = stored(commands), commands.cli.storage

    synced = commands(f"{SYNC} --yes --storage {storage} --catalog-size 9", stdin=ONLY_ONE)

    undo = synced.err.partition("To undo the removals: recipient-fields ")[2]
    assert shlex.split(undo)[-4:] == ["--storage", storage, "--catalog-size", "9"]
    commands.cli(*shlex.split(undo))
    assert stored(commands) == before


@pytest.mark.parametrize("removals", [0, 1, 50])
def test_removals_need_a_confirmation(commands, audience, removals):
    names = range(removals, FIELDS) if removals < FIELDS else range(FIELDS, FIELDS + 1)
    reported, before = report(names), stored(commands)

    refused = commands(f"{SYNC} --json", stdin=reported)
    assert refused.status == (3 if removals else 0)
    assert len(json.loads(refused.out)["sync"]["removed"]) == removals
    too_few = commands(f"{SYNC} --allow-removals {max(removals - 1, 0)}", stdin=reported)
    assert too_few.status == (3 if removals else 0)
    assert stored(commands) == before

    run = commands(f"{SYNC} --allow-removals {removals} --json", stdin=reported)
    assert len(run.document()["sync"]["removed"]) == removals
    assert len(before.keys() - stored(commands)) == removals
    # The plan is printed before the fields are removed.
    planned, _, result = run.err.partition("Synced ")
    assert planned.count("\nremoved  f") == removals
    assert f"{removals} removed" in result


@pytest.mark.parametrize(("option", "status"), [("", 3), ("--yes", 0)])
def test_an_empty_report_is_rejected_unless_it_is_permitted(commands, audience, option, status):
    for options in ("", "--yes", "--dry-run", "--allow-removals 50"):
        assert commands(f"{SYNC} {options}", stdin=NOTHING).failure() == (
            "The report has no fields, so nothing was changed. If the account has no fields, add"
            " --allow-empty."
        )
    assert integrations_of(commands) == (audience,)

    run = commands(f"{SYNC} --allow-empty {option}", stdin=NOTHING)
    assert run.status == status
    assert len(stored(commands)) == (FIELDS if status else 0)


@pytest.mark.parametrize(
    ("reply", "status"), [("n\n", 1), ("\x04", 1), ("y\n", 0)], ids=["no", "control-D", "yes"]
)
def test_at_a_terminal_the_plan_is_printed_before_the_question(
    script, commands, audience, tmp_path, reply, status
):
    file = tmp_path / "report.json"
    file.write_text(report(range(9, FIELDS)))
    command = f"integrations sync 1 --organization 1 --from {file}"
    exit_status, shown = script.at_a_terminal(*command.split(), reply=reply)

    assert exit_status == status, shown
    question = "Remove 9 fields of integration 1, Main list, of organization 1, Acme? [y/N]: "
    plan, _, result = shown.partition(question)
    assert plan.count("removed  f") == 9
    assert "removed  f" not in result
    assert ("9 removed" in result) is (status == 0)
    assert len(stored(commands)) == (FIELDS if status else FIELDS - 9)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_catalog_that_changes_before_the_confirmation_needs_another_one(
    commands, audience, tmp_path, monkeypatch, as_json
):
    """While a person reads the plan, another field gets the key of a new one."""
    file = tmp_path / "report.json"
    file.write_text(report(range(1, FIELDS + 1)))
    shown = []

    def confirm_later(question: str, **_: object) -> bool:
        shown.append(question)
        if len(shown) == 1:
            draft = FieldDraft(name="F50", data_type="text")
            commands.core.fields.create_field(commands.organization, draft)
        return True

    monkeypatch.setattr(click, "confirm", confirm_later)
    options = "--json" if as_json else ""
    run = commands(f"integrations sync 1 --from {file} {options}", reply="y\n")

    assert len(shown) == 2
    changed = "The fields have changed since the plan was printed, so nothing was stored."
    assert changed in run.messages()
    tables = run.err if as_json else run.out
    first, _, second = tables.partition("linked f50 to F50 (Mailchimp)")
    assert "created  f50  " in first
    assert "created  f" not in second
    assert {"f50", "f50_1"} <= stored(commands).keys()
    assert "f0" not in stored(commands)


def test_the_esp_is_asked_once_for_the_fields_that_are_confirmed(commands):
    acme = commands.organization
    brevo = add_integration(commands.core, acme, "brevo", "Newsletter", "OLD")
    requests = []

    def handle(request: ReceivedRequest) -> Reply:
        requests.append(request.target)
        return BREVO.handler(request)

    with stub_server(handle) as server:
        environment = {"BREVO_API_KEY": SECRET, "BREVO_URL": server.url}
        settings = {f"RECIPIENT_FIELDS_{name}": value for name, value in environment.items()}
        sync = ("integrations", "sync", brevo.id, "--organization", acme)
        assert commands.cli(*sync, "--dry-run", **settings).status == 0
        reads, requests = requests, []
        run = commands.cli(*sync, reply="y\n", **settings)

    assert "1 removed" in run.messages()
    assert requests == reads
    assert "old" not in stored(commands)


def test_either_all_removals_are_permitted_or_a_number_of_them(commands, audience):
    usage = commands(f"{SYNC} --yes --allow-removals 1", stdin=ONLY_ONE).usage_error()
    assert usage == "Use either --yes or --allow-removals."
    negative = commands(f"{SYNC} --allow-removals -1", stdin=ONLY_ONE).usage_error()
    assert "-1 is not in the range x>=0" in negative


class TestRestoringAField:
    @pytest.fixture
    def removed(self, commands: Commands, audience: Integration) -> FieldId:
        """Remove one field, and return its id."""
        field_id = FieldId(stored(commands)["f0"])
        commands(f"{SYNC} --yes", stdin=report(range(1, FIELDS))).messages()
        return field_id

    def test_a_removed_field_gets_its_id_and_key_back(self, commands, removed):
        assert "Restored field" in commands(f"fields restore {removed}").messages()
        fields, acme = commands.core.fields, commands.organization
        field = fields.get_field(acme, removed)
        assert (field.key, field.origin.integration_id, field.version) == ("f0", 1, 2)
        newest = HistoryQuery(descending=True, limit=1)
        (record,) = fields.list_field_changes(acme, field.id, newest).records
        assert (record.operation, record.author) == (RecordedOperation.RESTORED, OPERATOR_AUTHOR)
        again = commands(f"fields restore {removed}").failure()
        assert again == f"Field {removed} is not deleted."

    def test_the_next_sync_removes_it_again_after_a_confirmation(self, commands, removed):
        commands(f"fields restore {removed}")
        run = commands(SYNC, stdin=report(range(1, FIELDS)))
        assert run.status == 3
        assert "removed  f0" in run.out
