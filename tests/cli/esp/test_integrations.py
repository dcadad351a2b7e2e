"""The commands `integrations`, `esp` and `fields check`."""

from __future__ import annotations

import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import Integration

from ...support.command_line import NOT_CONFIRMED, Run
from ...support.fields import add_field
from ..stories import Commands

FNAME = {"name": "FNAME", "label": "First name", "data_type": "text"}
ACME = ("--organization", 1)
TIER = {"name": "TIER", "data_type": "text", "allowed_values": ["gold", "silver"]}

DEFAULT_AT_MAILCHIMP = (
    'Mailchimp has its own default, "silver", which can appear for a missing value, also if the'
    " content has another default."
)


@pytest.fixture
def audience(core: Core, acme) -> Integration:
    return core.integrations.create_integration(acme, esp=Esp("mailchimp"), name="Main list")


def report(*fields: Any) -> str:
    return json.dumps({"fields": fields})


@pytest.fixture
def sync(commands: Commands, audience: Integration) -> Callable[..., Run]:
    """Return a function that syncs the integration with a report of these fields."""

    def sync(*fields: Any, options: str = "") -> Run:
        return commands(f"integrations sync 1 --from - {options}", stdin=report(*fields))

    return sync


class TestIntegrations:
    def test_a_created_integration_is_listed(self, commands, acme):
        create = "integrations create --esp mailchimp --name ' Main list ' --json"
        created = commands(create).document()["integration"]
        assert {**created, "created_at": ""} == {
            "id": 1,
            "organization_id": acme,
            "esp": "mailchimp",
            "name": "Main list",
            "created_at": "",
            "last_synced_at": None,
        }
        listed = commands("integrations list --json").document()
        assert listed == {"integrations": [created]}
        assert commands("integrations list").table() == [
            "ID  ESP        NAME       LAST SYNCED",
            "1   mailchimp  Main list  -",
        ]

    def test_an_integration_is_renamed(self, commands, audience):
        renamed = commands("integrations rename 1 --name Second --json")
        assert renamed.document()["integration"]["name"] == "Second"

    @pytest.mark.parametrize(
        ("arguments", "failure"),
        [
            (("create", "--organization", 9, "--esp", "braze", "--name", "x"), "no organization 9"),
            (("create", "--organization", 1, "--esp", "braze", "--name", " "), "name: This must"),
            (("list", "--organization", 9), "no organization 9"),
            (("rename", 9, *ACME, "--name", "x"), "no such integration"),
            (("delete", 9, *ACME, "--yes"), "no such integration"),
            (("sync", 9, *ACME, "--from", "-"), "no such integration"),
        ],
    )
    def test_an_invalid_command_is_reported_on_one_line(self, cli, acme, arguments, failure):
        assert failure in cli("integrations", *arguments).failure()

    def test_an_unknown_esp_is_a_usage_error_with_a_suggestion(self, commands):
        error = commands("integrations create --esp mailchump --name x").usage_error()
        assert error.endswith(" Did you mean mailchimp?")

    @pytest.mark.parametrize(
        "command",
        [("rename", 1, "--name", "x"), ("delete", 1, "--yes"), ("sync", 1, "--from", "-")],
        ids=lambda command: command[0],
    )
    def test_a_change_requires_the_organization_of_the_integration(
        self, cli, core, acme, audience, command
    ):
        other = core.administration.create_organization("Globex")

        missing = cli("integrations", *command, stdin=report(FNAME)).usage_error()
        rejected = cli("integrations", *command, "--organization", other.id, stdin=report(FNAME))

        assert missing.startswith("Missing option '--organization'.")
        assert rejected.failure() == (
            "There is no such integration in this organization."
            " `recipient-fields integrations list` shows their ids."
        )
        assert core.integrations.list_integrations(acme) == (audience,)
        assert core.fields.list_fields(acme).fields == ()

    @pytest.mark.parametrize("reply", ["n\n", ""])
    def test_delete_lists_the_fields_of_the_integration_and_prompts(
        self, commands, core, acme, sync, reply
    ):
        sync(FNAME, TIER)
        run = commands("integrations delete 1", reply=reply)
        assert run.status == 1
        assert run.err.startswith("fname  First name\ntier  TIER\n")
        question = "Delete integration 1, Main list, of organization 1, Acme, and its 2 fields?"
        assert question in run.err
        assert commands("integrations delete 1", stdin="y\n").failure() == NOT_CONFIRMED
        assert len(core.fields.list_fields(acme).fields) == 2

        message = commands("integrations delete 1", reply="y\n").messages()
        assert "Deleted integration 1, Main list, with 2 fields." in message
        assert core.fields.list_fields(acme).fields == ()
        assert core.integrations.list_integrations(acme) == ()


class TestSync:
    def test_a_sync_changes_the_fields_and_reports_their_keys(
        self, commands, core, acme, audience, write
    ):
        tier = {**TIER, "default": "silver"}
        write("report.json", report(FNAME, tier, {"name": "IF", "data_type": "text"}))
        run = commands("integrations sync 1 --from report.json --json")
        assert run.document()["sync"] == {
            "linked": [],
            "created": ["fname", "tier"],
            "updated": [],
            "removed": [],
            "unchanged": 0,
            "refused": [{"name": "IF", "reason": "Mailchimp reads this name as code."}],
            "name_changes": [],
            "caveats": [{"name": "TIER", "message": DEFAULT_AT_MAILCHIMP}],
        }
        (synced,) = core.integrations.list_integrations(acme)
        assert synced.last_synced_at is not None

    def test_a_sync_lists_the_changes_of_esp_names(self, core, acme, sync):
        for name in ("Tier", "Shop"):
            add_field(core, acme, name)
        for options in ("--dry-run", ""):
            run = sync(TIER, options=options)
            assert run.table() == [
                "linked tier to TIER (Mailchimp)",
                "",
                "KEY   INTEGRATION  ESP NAME BEFORE  ESP NAME AFTER",
                "tier  1            TIER (unknown)   TIER (found)",
                "shop  1            SHOP (unknown)   SHOP (missing)",
            ]
            assert ": 1 linked, 0 created, 0 updated, 0 removed, 0 unchanged, 0 refused" in run.err
            assert run.err.endswith("0 refused, 2 ESP names changed.\n")
        more = [{"name": name, "data_type": "text"} for name in ("SHOP", "CITY")]
        document = sync(TIER, *more, options="--json").document()["sync"]
        assert document["created"] == ["city"]
        assert document["linked"] == [
            {"key": "shop", "esp_field_name": "SHOP", "counterpart": "shop_1"}
        ]
        assert document["name_changes"] == [
            {
                "key": "shop",
                "integration_id": 1,
                "before": {"esp_field_name": "SHOP", "name_from": "convention", "state": "missing"},
                "after": {"esp_field_name": "SHOP", "name_from": "sync", "state": "found"},
            }
        ]

    def test_a_sync_beyond_the_limit_of_bytes_stores_nothing_and_says_so(
        self, commands, core, acme, sync
    ):
        values = [f"{number:03}{'x' * 240}" for number in range(250)]
        tiers = [{**TIER, "name": f"TIER{n}", "allowed_values": values} for n in range(20)]
        failure = sync(*tiers, options="--catalog-size 1").failure()
        assert "The list of all fields would have more than 1,048,576 bytes" in failure
        assert failure.endswith(
            "To permit more, add --catalog-size, and use the same value for `serve`."
        )
        assert core.fields.list_fields(acme).fields == ()
        assert "20 created" in sync(*tiers, options="--catalog-size 2").messages()
        create = "fields create --name 'One more' --data-type text --key one_more --catalog-size 1"
        assert "Delete fields that are not needed" in commands(create).failure()

    def test_a_default_at_the_esp_is_reported_each_time(self, sync):
        tier = {**TIER, "default": "silver"}
        assert sync(tier).table()[2:] == [f"caveat   -     TIER       {DEFAULT_AT_MAILCHIMP}"]
        assert sync(tier, options="--dry-run").table()[1:] == [
            f"caveat  -    TIER       {DEFAULT_AT_MAILCHIMP}"
        ]

    def test_a_report_can_be_on_standard_input(self, sync):
        sync(FNAME, TIER)
        age = {"name": "AGE", "data_type": "number"}
        run = sync({**FNAME, "label": "Given name"}, age, options="--yes")
        assert run.table() == [
            "CHANGE   KEY    ESP FIELD  REASON",
            "created  age    AGE        -",
            "updated  fname  FNAME      -",
            "removed  tier   TIER       -",
        ]
        assert "1 created, 1 updated, 1 removed, 0 unchanged, 0 refused" in run.messages()

    def test_a_dry_run_reports_the_same_changes_and_changes_nothing(
        self, core, acme, audience, sync
    ):
        before = core.fields.list_fields(acme)
        tried = sync(FNAME, TIER, options="--json --dry-run").document()
        assert core.fields.list_fields(acme) == before
        assert core.integrations.list_integrations(acme) == (audience,)
        assert sync(FNAME, TIER, options="--json").document() == tried

    @pytest.mark.parametrize(
        ("stdin", "failure"),
        {
            "[]": "<stdin>: This must be an object.",
            "{}": "<stdin>: /fields: Add this member.",
            '{"fields": [], "next": 2}': "<stdin>: /next: There is no such member.",
            '{"fields": {}}': "<stdin>: /fields: This must be an array.",
            r'{"fields": [], "\u0000": 1}': r"<stdin>: /\x00: There is no such member.",
            report(FNAME, "TIER"): "<stdin>: /fields/1: This must be an object.",
            report({**FNAME, "nmae": 1}): (
                "<stdin>: /fields/0/nmae: There is no such member. Did you mean name?"
            ),
            report({"data_type": "text"}): "<stdin>: /fields/0/name: Add this member.",
            report({**FNAME, "name": 5}): "<stdin>: /fields/0/name: This must be a string.",
            report({**FNAME, "data_type": "txt"}): "<stdin>: /fields/0/data_type: *",
            report({**FNAME, "standard": "no"}): (
                "<stdin>: /fields/0/standard: This must be true or false."
            ),
            report(
                {**FNAME, "allowed_values": "ab"}
            ): "<stdin>: /fields/0/allowed_values: This must be a*",
            "": "Error: <stdin>: The document is empty. Begin it with `{`.*",
            '{"fields": [{"name": "A", "name": "B"}]}': (
                "Error: <stdin>: An object in the JSON document has the same member twice.*"
            ),
        }.items(),
    )
    def test_the_error_locates_an_invalid_member_and_nothing_is_changed(
        self, commands, core, acme, audience, stdin, failure
    ):
        run = commands("integrations sync 1 --from -", stdin=stdin)
        assert (run.status, run.out) == (1, "")
        assert fnmatchcase(run.err.splitlines()[0], failure)
        assert core.integrations.list_integrations(acme) == (audience,)

    def test_each_violation_is_one_line_with_the_name_of_the_file(self, commands, audience, write):
        write("audience.json", report({"name": 5, "data_type": "text"}, {"name": "AGE"}))
        run = commands("integrations sync 1 --from audience.json")
        assert (run.status, run.out) == (1, "")
        assert run.err.splitlines() == [
            "audience.json: /fields/0/name: This must be a string.",
            "audience.json: /fields/1/data_type: Add this member.",
            (
                "Error: audience.json is not a valid report. A report looks like"
                ' {"fields": [{"name": "FNAME", "data_type": "text"}]}.'
            ),
        ]

    def test_at_most_a_hundred_violations_are_reported(self, sync):
        run = sync(*({"name": n, "data_type": "text"} for n in range(5_000)))
        assert run.err.count("This must be a string.") == 100
        assert "… and 900 more." in run.err

    def test_a_sync_without_a_file_requires_the_credentials_of_the_esp(self, commands, audience):
        assert commands("integrations sync 1").failure() == (
            "The integration is not connected. Connect it to its account first."
            " `recipient-fields integrations connect` stores the credentials."
        )

    def test_control_characters_in_a_name_are_escaped(self, sync):
        name = "\x1b[31mRED\x07\ncreated  hacked  ADMIN  -\u202e"
        (_, rejected) = sync({"name": name, "data_type": "text"}).table()
        assert r"\x1b[31mRED\x07\ncreated  hacked  ADMIN  -\u202e" in rejected

    def test_a_setting_with_invalid_characters_is_named_in_the_error(self, commands, audience):
        settings = {"RECIPIENT_FIELDS_MAILCHIMP_API_KEY": "x-us1"}
        settings["RECIPIENT_FIELDS_MAILCHIMP_LIST_ID"] = "\udcff"
        failure = commands("integrations sync 1", **settings).failure()
        assert failure.startswith("Remove the control characters")
        assert "RECIPIENT_FIELDS_MAILCHIMP_LIST_ID" in failure

    def test_a_missing_file_is_a_usage_error(self, commands, audience):
        error = commands("integrations sync 1 --from nowhere.json").usage_error()
        assert "nowhere.json" in error


class TestCodes:
    def test_every_esp_is_listed(self, cli):
        listed = cli("esp", "list", "--json").document()["esps"]
        assert [each["id"] for each in listed] == list(BUILT_IN.esps)
        assert len(cli("esp", "list").table()) == len(BUILT_IN) + 1

    def test_the_codes_are_derived_from_the_name(self, cli):
        codes = cli("esp", "codes", "--esp", "sfmc", "First Name", "--json").document()
        assert codes == {
            "codes": {
                "insertion_code": "%%=v(@First_Name)=%%",
                "value_expression": "@First_Name",
                "prelude": '%%[ SET @First_Name = AttributeValue("First Name") ]%%',
            }
        }

    def test_standard_fields_data_types_and_defaults_are_supported(self, cli):
        standard = cli("esp", "codes", "--esp", "braze", "first_name", "--standard")
        assert "insertion_code    {{${first_name}}}" in standard.table()
        default = ("--default", "there")
        assert "there{% endif %}" in cli("esp", "codes", "--esp", "brevo", "X", *default).out
        number = ("--data-type", "number")
        failure = cli("esp", "codes", "--esp", "brevo", "X", *number, *default).failure()
        assert failure.startswith("default: ")

    def test_a_field_without_a_safe_code_is_rejected(self, cli):
        assert "SendGrid" in cli("esp", "codes", "--esp", "sendgrid", "First Name").failure()


class TestCheck:
    CREATE = "fields create --name City --data-type text"
    SUSPICIOUS = f"{CREATE} --insertion-code '{{{{ city' --value-expression town"

    def test_warnings_are_listed_and_reject_nothing(self, commands):
        assert commands(self.SUSPICIOUS).messages().count("Warning: ") == 2
        assert commands("fields check --json").document() == {
            "warnings": [
                {"id": 1, "key": "city", "code": code, "message": message}
                for code, message in (
                    (
                        "expression_missing",
                        "The insertion code does not contain the value expression.",
                    ),
                    (
                        "unbalanced_delimiters",
                        "The insertion code has an opening or closing delimiter without a match.",
                    ),
                )
            ]
        }
        assert len(commands("fields check").table()) == 3

    def test_warnings_do_not_change_the_json_document(self, commands):
        run = commands(f"{self.SUSPICIOUS} --json")
        assert len(run.document()["recipient_field"]) == 13
        assert run.err.count("Warning: ") == 2

    def test_an_update_prints_warnings(self, commands, manual):
        update = f"fields update {manual.key} --insertion-code"
        assert "Warning: " not in commands(update, "{{ shop }}").messages()
        assert "Warning: " in commands(update, "{{ shop").messages()

    def test_without_warnings_the_list_is_empty(self, commands, foreign):
        assert commands("fields check --json").document() == {"warnings": []}


@pytest.mark.parametrize(
    ("settings", "also_named"),
    [
        ({"API_KEY": "no centre-"}, ""),
        ({"API_KEY": "k-us1", "URL": "ftp://x"}, ", RECIPIENT_FIELDS_MAILCHIMP_URL"),
        ({"API_KEY": "no centre-", "URL": " "}, ""),
    ],
)
def test_the_error_names_the_variables_of_rejected_credentials(
    commands, audience, settings, also_named
):
    members = {**settings, "LIST_ID": "list"}
    variables = {f"RECIPIENT_FIELDS_MAILCHIMP_{k}": v for k, v in members.items()}
    run = commands("integrations sync 1", **variables)
    assert run.status == 1
    assert run.err.endswith(
        " The credentials are in RECIPIENT_FIELDS_MAILCHIMP_API_KEY,"
        f" RECIPIENT_FIELDS_MAILCHIMP_LIST_ID{also_named}.\n"
    )
