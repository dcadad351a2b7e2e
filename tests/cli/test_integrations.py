"""`recipient-fields integrations`, `esp`, `fields check` and `export`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import ADMINISTRATOR, DataType, FieldDraft, IntegrationId
from recipient_fields.domain.esp import DIALECTS, Esp, EspField, Integration

from ..support.command_line import NOT_CONFIRMED, CommandLine, Script

FNAME = {"name": "FNAME", "label": "First name", "data_type": "text"}
OURS = ("--organization", 1)
TIER = {"name": "TIER", "data_type": "text", "allowed_values": ["gold", "silver"]}


@pytest.fixture
def audience(core: Core, acme) -> Integration:
    return core.integrations.create_integration(acme, esp=Esp.MAILCHIMP, name="Main list")


def report(*fields: Any) -> str:
    return json.dumps({"fields": fields})


class TestIntegrations:
    def test_are_created_and_listed(self, cli: CommandLine, acme):
        made = cli(
            *("integrations", "create", "--organization", acme, "--esp", "mailchimp"),
            *("--name", " Main list ", "--json"),
        ).document()["integration"]
        assert {**made, "created_at": ""} == {
            "id": 1,
            "organization_id": acme,
            "esp": "mailchimp",
            "name": "Main list",
            "created_at": "",
            "last_synced_at": None,
        }
        listed = cli("integrations", "list", "--organization", acme, "--json").document()
        assert listed == {"integrations": [made]}
        assert cli("integrations", "list", "--organization", acme).table() == [
            "ID  ESP        NAME       LAST SYNCED",
            "1   mailchimp  Main list  -",
        ]

    def test_are_renamed(self, cli: CommandLine, audience):
        renamed = cli("integrations", "rename", audience.id, *OURS, "--name", "Second", "--json")
        assert renamed.document()["integration"]["name"] == "Second"

    @pytest.mark.parametrize(
        ("arguments", "failure"),
        [
            (("create", "--organization", 9, "--esp", "braze", "--name", "x"), "no organization 9"),
            (("create", "--organization", 1, "--esp", "braze", "--name", " "), "name: This must"),
            (("list", "--organization", 9), "no organization 9"),
            (("rename", 9, *OURS, "--name", "x"), "no such integration"),
            (("delete", 9, *OURS, "--yes"), "no such integration"),
            (("sync", 9, *OURS, "--from", "-"), "no such integration"),
        ],
    )
    def test_that_can_not_be_are_refused_in_a_line(
        self, cli: CommandLine, acme, arguments, failure
    ):
        assert failure in cli("integrations", *arguments).failure()

    def test_of_an_unknown_esp_are_misuse(self, cli: CommandLine, acme):
        run = cli(
            *["integrations", "create", "--esp", "mailchump", "--name", "x", "--organization"], acme
        )
        assert "'mailchimp'" in run.misuse()

    @pytest.mark.parametrize(
        "command",
        [
            ("rename", 1, "--name", "x"),
            ("delete", 1, "--yes"),
            ("sync", 1, "--from", "-"),
        ],
        ids=lambda command: command[0],
    )
    def test_are_changed_for_their_organization_alone(
        self, cli: CommandLine, core: Core, acme, audience, command
    ):
        other = core.administration.create_organization("Globex")

        missing = cli("integrations", *command, typed=report(FNAME)).misuse()
        theirs = cli("integrations", *command, "--organization", other.id, typed=report(FNAME))

        assert missing.startswith("Missing option '--organization'.")
        assert theirs.failure() == "There is no such integration in this organization."
        assert core.integrations.list_integrations(acme) == (audience,)
        assert core.fields.list_fields(acme).fields == ()

    @pytest.mark.parametrize("answer", ["n\n", ""])
    def test_are_deleted_after_a_question_that_names_their_fields(
        self, cli: CommandLine, core: Core, acme, audience, answer
    ):
        cli("integrations", "sync", audience.id, *OURS, "--from", "-", typed=report(FNAME, TIER))
        delete = ("integrations", "delete", audience.id, *OURS)
        run = cli(*delete, answer=answer)
        assert run.status == 1
        assert run.err.startswith("fname  First name\ntier  TIER\n")
        question = "Delete integration 1, Main list, of organization 1, Acme, and its 2 fields?"
        assert question in run.err
        assert cli(*delete, typed="y\n").failure() == NOT_CONFIRMED
        assert len(core.fields.list_fields(acme).fields) == 2

        told = cli(*delete, answer="y\n").told()
        assert "Deleted integration 1, Main list, with 2 fields." in told
        assert core.fields.list_fields(acme).fields == ()
        assert core.integrations.list_integrations(acme) == ()


class TestSync:
    def test_reports_by_keys_and_changes_the_fields(
        self, cli: CommandLine, core: Core, acme, audience, tmp_path: Path
    ):
        file = tmp_path / "report.json"
        file.write_text(report(FNAME, TIER, {"name": "IF", "data_type": "text"}))
        run = cli("integrations", "sync", audience.id, *OURS, "--from", file, "--json")
        assert run.document() == {
            "sync": {
                "created": ["fname", "tier"],
                "updated": [],
                "removed": [],
                "unchanged": 0,
                "refused": [{"name": "IF", "reason": "Mailchimp reads this name as code."}],
            }
        }
        (synced,) = core.integrations.list_integrations(acme)
        assert synced.last_synced_at is not None

    def test_from_standard_input_as_a_table(self, cli: CommandLine, audience):
        cli("integrations", "sync", audience.id, *OURS, "--from", "-", typed=report(FNAME, TIER))
        changed = report({**FNAME, "label": "Given name"}, {"name": "AGE", "data_type": "number"})
        run = cli("integrations", "sync", audience.id, *OURS, "--from", "-", typed=changed)
        assert run.table() == [
            "CHANGE   KEY    ESP FIELD  REASON",
            "created  age    AGE        -",
            "updated  fname  FNAME      -",
            "removed  tier   TIER       -",
        ]
        assert "1 created, 1 updated, 1 removed, 0 unchanged, 0 refused" in run.told()

    def test_that_is_tried_gives_the_same_report_and_changes_nothing(
        self, cli: CommandLine, core: Core, acme, audience
    ):
        before = core.fields.list_fields(acme)
        sync = ("integrations", "sync", audience.id, *OURS, "--from", "-", "--json")
        tried = cli(*sync, "--dry-run", typed=report(FNAME, TIER)).document()
        assert core.fields.list_fields(acme) == before
        assert core.integrations.list_integrations(acme) == (audience,)
        assert cli(*sync, typed=report(FNAME, TIER)).document() == tried

    @pytest.mark.parametrize(
        ("typed", "failure"),
        [
            ("", "The document is not JSON: line 1, column 1."),
            ("[]", 'This must be an object. A report looks like {"fields": [{"name": '),
            ("{}", "fields: Send this member. A report looks like "),
            ('{"fields": [], "next": 2}', "next: There is no such member. A report looks like "),
            ('{"fields": {}}', "fields: This must be an array. A report looks like "),
            (r'{"fields": [], "\u0000": 1}', "There is no such member."),
            (report(FNAME, "TIER"), "fields.1: This must be an object."),
            (
                report({**FNAME, "nmae": 1}),
                "fields.0.nmae: There is no such member. Did you mean name?",
            ),
            (report({"data_type": "text"}), "fields.0.name: Send this member."),
            (report({**FNAME, "name": 5}), "fields.0.name: This must be a string."),
            (report({**FNAME, "data_type": "txt"}), "fields.0.data_type: "),
            (report({**FNAME, "standard": "no"}), "fields.0.standard: This must be true or false."),
            (report({**FNAME, "allowed_values": "ab"}), "fields.0.allowed_values: This must be a"),
            ('{"fields": [{"name": "A", "name": "B"}]}', "the same member twice"),
        ],
    )
    def test_of_a_malformed_report_says_where_and_changes_nothing(
        self, cli: CommandLine, core: Core, acme, audience, typed, failure
    ):
        run = cli("integrations", "sync", audience.id, *OURS, "--from", "-", typed=typed)
        assert failure in run.failure()
        assert core.integrations.list_integrations(acme) == (audience,)

    def test_tells_at_most_ten_things_that_are_wrong(self, cli: CommandLine, audience):
        wrong = report(*({"name": n, "data_type": "text"} for n in range(5_000)))
        run = cli("integrations", "sync", audience.id, *OURS, "--from", "-", typed=wrong)
        assert run.failure().count("This must be a string.") == 10

    def test_without_a_file_needs_the_esps_credentials(self, cli: CommandLine, audience):
        failure = cli("integrations", "sync", audience.id, *OURS).failure()
        assert "RECIPIENT_FIELDS_MAILCHIMP_API_KEY" in failure

    def test_shows_no_name_that_would_steer_the_terminal(self, cli: CommandLine, audience):
        name = "\x1b[31mRED\x07\ncreated  hacked  ADMIN  -\u202e"
        run = cli(
            *("integrations", "sync", audience.id, *OURS, "--from", "-"),
            typed=report({"name": name, "data_type": "text"}),
        )
        (_, refused) = run.table()
        assert r"\x1b[31mRED\x07\ncreated  hacked  ADMIN  -\u202e" in refused

    def test_with_a_setting_that_can_not_be_sent_names_it(self, cli: CommandLine, audience):
        settings = {"RECIPIENT_FIELDS_MAILCHIMP_API_KEY": "x-us1"}
        settings["RECIPIENT_FIELDS_MAILCHIMP_LIST_ID"] = "\udcff"
        failure = cli("integrations", "sync", audience.id, *OURS, **settings).failure()
        assert failure.startswith("Remove the control characters")
        assert "RECIPIENT_FIELDS_MAILCHIMP_LIST_ID" in failure

    def test_of_a_missing_file_is_misuse(self, cli: CommandLine, audience):
        assert (
            "nowhere.json"
            in cli("integrations", "sync", 1, *OURS, "--from", "nowhere.json").misuse()
        )


class TestSnippets:
    def test_every_esp_is_listed(self, cli: CommandLine):
        listed = cli("esp", "list", "--json").document()["esps"]
        assert [each["id"] for each in listed] == [esp.value for esp in DIALECTS]
        assert len(cli("esp", "list").table()) == 11

    def test_are_derived(self, cli: CommandLine):
        snippet = cli("esp", "snippet", "--esp", "sfmc", "First Name", "--json").document()
        assert snippet == {
            "snippet": {
                "insertion_code": "%%=v(@First_Name)=%%",
                "value_expression": "@First_Name",
                "prelude": '%%[ SET @First_Name = AttributeValue("First Name") ]%%',
            }
        }

    def test_know_standard_fields_types_and_defaults(self, cli: CommandLine):
        standard = cli("esp", "snippet", "--esp", "braze", "first_name", "--standard")
        assert "insertion_code    {{${first_name}}}" in standard.table()
        default = ("--default", "there")
        assert "'there'" in cli("esp", "snippet", "--esp", "brevo", "X", *default).out
        number = ("--data-type", "number")
        refused = cli("esp", "snippet", "--esp", "brevo", "X", *number, *default).failure()
        assert refused.startswith("default: ")

    def test_without_a_safe_form_are_refused(self, cli: CommandLine):
        assert "SendGrid" in cli("esp", "snippet", "--esp", "sendgrid", "First Name").failure()


class TestCheck:
    CREATE = ("fields", "create", "--name", "City", "--data-type", "text", "--organization")
    DOUBTFUL = ("--insertion-code", "{{ city", "--value-expression", "town")

    def test_doubts_are_listed_and_refuse_nothing(self, cli: CommandLine, acme):
        run = cli(*self.CREATE, acme, *self.DOUBTFUL)
        assert run.told().count("Warning: ") == 2
        assert cli("fields", "check", "--organization", acme, "--json").document() == {
            "warnings": [
                {
                    "id": 1,
                    "key": "city",
                    "code": "expression_missing",
                    "message": "The insertion code does not contain the value expression.",
                },
                {
                    "id": 1,
                    "key": "city",
                    "code": "unbalanced_delimiters",
                    "message": (
                        "The insertion code has an opening or closing delimiter without a match."
                    ),
                },
            ]
        }
        assert len(cli("fields", "check", "--organization", acme).table()) == 3

    def test_warnings_leave_the_json_alone(self, cli: CommandLine, acme):
        run = cli(*self.CREATE, acme, *self.DOUBTFUL, "--json")
        assert len(run.document()["recipient_field"]) == 13
        assert run.err.count("Warning: ") == 2

    def test_an_update_warns_as_well(self, cli: CommandLine, acme, manual):
        update = ("fields", "update", manual.key, "--organization", acme)
        assert "Warning: " not in cli(*update, "--insertion-code", "{{ shop }}").told()
        assert "Warning: " in cli(*update, "--insertion-code", "{{ shop").told()

    def test_nothing_doubtful_is_an_empty_list(self, cli: CommandLine, acme, foreign):
        document = cli("fields", "check", "--organization", acme, "--json").document()
        assert document == {"warnings": []}


class TestRefusalsOfAnEsp:
    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"API_KEY": "no centre-"}, ""),
            ({"API_KEY": "k-us1", "URL": "ftp://x"}, ", RECIPIENT_FIELDS_MAILCHIMP_URL"),
            ({"API_KEY": "no centre-", "URL": " "}, ""),
        ],
    )
    def test_name_the_variables_it_was_asked_with(self, cli: CommandLine, audience, settings, told):
        variables = {f"RECIPIENT_FIELDS_MAILCHIMP_{k}": v for k, v in settings.items()}
        run = cli(
            *("integrations", "sync", audience.id, *OURS),
            RECIPIENT_FIELDS_MAILCHIMP_LIST_ID="list",
            **variables,
        )
        assert run.failure().endswith(
            " The credentials are in RECIPIENT_FIELDS_MAILCHIMP_API_KEY,"
            f" RECIPIENT_FIELDS_MAILCHIMP_LIST_ID{told}."
        )


class TestExport:
    @pytest.fixture(autouse=True)
    def _fields(self, core: Core, acme, audience):
        core.integrations.sync_fields(
            acme, audience.id, [EspField(name="FNAME", data_type=DataType.TEXT)]
        )
        other = core.integrations.create_integration(acme, esp=Esp.BRAZE, name="Other")
        core.integrations.sync_fields(
            acme, other.id, [EspField(name="LNAME", data_type=DataType.TEXT)]
        )
        shop = FieldDraft(name="Shop", data_type=DataType.TEXT, custom_insertion_code="*|SHOP|*")
        core.fields.through(ADMINISTRATOR).create_field(acme, shop)

    def test_replaces_placeholders_and_touches_nothing_else(self, script: Script, acme, tmp_path):
        content = "Größe {{x}}\r\n{{recipient.fname}} {{recipient.shop}}\r\n\r"
        file = tmp_path / "in.html"
        file.write_bytes(content.encode())
        with (
            file.open("rb") as stdin,
            script.start(
                *("export", "--organization", acme, "--integration", 1), stdin=stdin
            ) as process,
        ):
            out, _ = process.communicate(timeout=60)
        assert out.decode() == "Größe {{x}}\r\n*|FNAME|* *|SHOP|*\r\n\r"

    def test_of_what_can_not_be_replaced_tells_every_place(self, cli: CommandLine, acme):
        content = "{{recipient.fnam}}\n {{recipient.lname}} {{recipient.fname}} {{recipient.zip}}"
        run = cli("export", "--organization", acme, "--integration", 1, typed=content)
        assert (run.status, run.out) == (1, "")
        assert run.err.splitlines() == [
            "line 1, column 1: fnam: There is no field with this key. Did you mean fname?",
            "line 2, column 2: lname: This field is of integration 2.",
            "line 2, column 42: zip: There is no field with this key.",
            "Error: Nothing was exported: 3 placeholders can't be replaced.",
        ]

    def test_names_the_option_that_a_field_of_an_integration_needs(self, cli: CommandLine, acme):
        run = cli("export", "--organization", acme, typed="{{recipient.lname}}")
        assert run.err.splitlines()[0] == (
            "line 1, column 1: lname: This field is of integration 2. Add --integration 2."
        )

    def test_warns_of_what_only_looks_like_a_placeholder(self, cli: CommandLine, acme):
        content = "{{ recipient.shop }} {{recipient.a-b}} {{{recipient.shop}}} {{recipient.shop}}"
        run = cli("export", "--organization", acme, typed=content)
        assert run.out == "{{ recipient.shop }} {{recipient.a-b}} {{{recipient.shop}}} *|SHOP|*"
        assert [line.partition(": this")[0] for line in run.err.splitlines()] == [
            "Warning: line 1, column 1",
            "Warning: line 1, column 22",
        ]

    def test_tells_a_hundred_places_at_most_and_soon(self, cli: CommandLine, core: Core, acme):
        core.integrations.sync_fields(
            acme,
            IntegrationId(2),
            [EspField(name=f"field {n}", data_type=DataType.TEXT) for n in range(3_000)],
        )
        content = "".join(f"{{{{recipient.feild_{n}x}}}}\n" for n in range(20_000))
        run = cli("export", "--organization", acme, "--integration", 2, typed=content)
        assert len(run.err.splitlines()) == 102
        assert "… and 19,900 more." in run.err

    def test_keeps_a_byte_order_mark_in_front(self, cli: CommandLine, acme):
        run = cli("export", "--organization", acme, typed="\ufeff{{recipient.shop}}")
        assert run.out == "\ufeff*|SHOP|*"

    def test_without_an_integration_inserts_what_people_wrote(self, cli: CommandLine, acme):
        export = ("export", "--organization", acme)
        assert cli(*export, typed="{{recipient.shop}}").table() == ["*|SHOP|*"]
        assert cli(*export, typed="{{recipient.fname}}").status == 1

    def test_for_an_integration_that_is_not_the_organizations_is_refused(
        self, cli: CommandLine, core: Core
    ):
        theirs = core.administration.create_organization("Other").id
        run = cli("export", "--organization", theirs, "--integration", IntegrationId(1), typed="")
        assert "no such integration" in run.failure()

    def test_of_what_is_not_utf_8_says_where(self, script: Script, acme, tmp_path):
        file = tmp_path / "in.html"
        file.write_bytes(b"abc\xff")
        assert "byte 4" in script("export", "--organization", acme, file).failure()
