"""The commands `content`."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    ADMINISTRATOR,
    DataType,
    FieldKey,
    IntegrationId,
    OrganizationId,
)
from recipient_fields.domain.integrations import EspField, SetName

from ..support.command_line import CommandLine, Run
from ..support.fields import add_field
from ..support.integrations import add_integration

MAILCHIMP, BRAZE = 1, 2
INVALID, FOUND = 1, 3
PERMISSION = "Correct the mistakes, or permit them with --allow-mistakes."


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    add_integration(core, acme, "mailchimp", "mailchimp", "FNAME", "TIER")
    add_integration(core, acme, "braze", "braze", "LNAME", "TIER")
    add_field(core, acme, "Shop", ADMINISTRATOR, custom_insertion_code="*|SHOP|*")


@pytest.fixture
def content(cli: CommandLine, acme: OrganizationId) -> Callable[..., Run]:
    def run(text: str, command: str, *arguments: str | int | Path) -> Run:
        return cli("content", command, "--organization", acme, *arguments, stdin=text)

    return run


@pytest.fixture
def exported(content: Callable[..., Run]) -> Callable[..., Run]:
    def run(text: str, *arguments: str | int, integration: int = MAILCHIMP) -> Run:
        return content(text, "export", "--integration", integration, *arguments)

    return run


@pytest.fixture
def previewed(content: Callable[..., Run], write) -> Callable[..., Run]:
    def run(text: str, recipient: object, *arguments: str) -> Run:
        write("recipient.json", json.dumps(recipient))
        return content(text, "preview", "--recipient", "recipient.json", *arguments)

    return run


@pytest.mark.parametrize("text", ["{{recipient.tier}}", "{{#if recipient.tier is set}}x{{/if}}"])
def test_the_key_of_a_deleted_definition_is_unknown_at_each_integration(
    core, acme, content, exported, folder, text
):
    """Braze has the same name, and the name at Mailchimp was set for the definition."""
    core.integrations.sync_fields(acme, IntegrationId(MAILCHIMP), [])
    core.integrations.sync_fields(acme, IntegrationId(BRAZE), [])
    add_field(core, acme, "Tier")
    level = [EspField(name="LEVEL", data_type=DataType.TEXT)]
    core.integrations.set_names(acme, IntegrationId(MAILCHIMP), {"tier": SetName("LEVEL")})
    core.integrations.sync_fields(acme, IntegrationId(MAILCHIMP), level)
    tier = [EspField(name="tier", data_type=DataType.TEXT)]
    core.integrations.sync_fields(acme, IntegrationId(BRAZE), tier)
    core.fields.delete_field(acme, FieldKey("tier"))
    unknown = (
        "There is no field with the key tier. Create it, or write the key of a synced field: tier_2"
        " (integration 2, braze)."
    )
    export_all = ("export", "--all", "--out", "out")
    for run in (
        content(text, "check"),
        exported(text),
        exported(text, integration=BRAZE),
        content(text, *export_all),
        content(text, *export_all, "--partial"),
    ):
        assert run.status in {INVALID, FOUND}
        assert unknown in run.out + run.err
    assert list((folder / "out").iterdir()) == []
    assert "Create it" not in content(text.replace("tier", "town"), "check").out


def test_a_recipient_that_is_not_json_is_reported_with_the_name_of_the_file(content, write):
    write("a.json", "{")
    failure = content("{{recipient.shop}}", "preview", "--recipient", "a.json").failure()
    assert failure == "a.json: The document is not JSON: line 1, column 2."


def test_a_preview_escapes_values_in_html_only(previewed):
    values, options = {"shop": "A & B"}, ("--surface", "html")
    assert previewed("<p>{{recipient.shop}}</p>", values).out == "<p>A &amp; B</p>"
    assert previewed("{{recipient.shop}}", values).out == "A & B"
    assert previewed("{{recipient.shop}}", values, *options).out == "A &amp; B"


def test_a_preview_reports_mistakes(previewed):
    run = previewed("{{Recipient.shop}}", {})
    assert (run.status, run.out) == (0, "{{Recipient.shop}}")
    assert "This looks like a reference" in run.err


def test_a_check_of_standard_input_finds_nothing_in_valid_content(content):
    run = content("{{recipient.email}}{{recipient.tier}}{{link.unsubscribe}}", "check")
    assert (run.status, run.out) == (0, "")
    assert run.err == "Checked 1 file: 0 errors, 0 notes.\n"


def test_a_check_suggests_the_name_of_a_link(content):
    run = content('<a href="{{link.unsubscrib}}">Leave</a>', "check")
    message = "Content has no `link.unsubscrib`. Did you mean `{{link.unsubscribe}}`?"
    assert run.status == FOUND
    assert run.out == f"<stdin>:1:10: error: {message} [reference_lookalike]\n"


def test_a_check_permits_mistakes_as_notes(content):
    text = "{{recipient.tier}} {{recipients.tier}}"
    for options in ((), ("--strict",)):
        run = content(text, "check", *options)
        assert run.status == FOUND
        assert run.out.startswith("<stdin>:1:20: error: ")
    permitted = content(text, "check", "--allow-mistakes")
    assert permitted.status == 0
    assert permitted.out.startswith("<stdin>:1:20: note: ")


def test_a_check_finds_code_of_an_esp_which_content_for_all_does_not_have(content):
    text = "Hello *|FNAME|*,\n{% if x %}{{ person.first_name }}{% endif %}"
    run = content(text, "check")
    assert run.status == FOUND
    assert run.out.splitlines()[0] == (
        "<stdin>:1:7: error: This is code of Mailchimp. Other ESPs do not read it. Write"
        " `{{recipient.fname}}`. [foreign_code]"
    )
    places = [":".join(line.split(":")[1:3]) for line in run.out.splitlines()]
    assert places == ["1:7", "2:1", "2:11", "2:34"]
    literals = ("*|FNAME|*", "{% if x %}{{ person.first_name }}{% endif %}")
    options = [option for text in literals for option in ("--literal", text)]
    accepted = content(text, "check", "--strict", *options)
    assert (accepted.status, accepted.out) == (0, "")


def test_only_a_strict_check_fails_if_there_are_caveats(content):
    text = "100 %OFF% <script>var x = '{{ name }}'</script>"
    run = content(text, "check")
    assert (run.status, run.out.count(": note: ")) == (0, 2)
    strict = content(text, "check", "--strict")
    assert (strict.status, strict.out.count(": error: ")) == (FOUND, 2)


MISTAKES = "Use either --allow-mistakes or --strict."
USAGE_ERRORS = {
    "check --allow-mistakes --strict": MISTAKES,
    "export --esp braze --allow-mistakes --strict": MISTAKES,
    "export": "Add --esp, --integration or --all.",
    "export --esp braze --integration 1": "Use either --esp or --integration.",
    "export --all": "Use --all and --out together.",
    "export --partial --esp braze": "--partial requires --all.",
    "export --all --out . --esp braze": "Use either --all, --esp or --integration.",
    "export --all --out . --integration 1": "Use either --all, --esp or --integration.",
}


@pytest.mark.parametrize(("command", "message"), USAGE_ERRORS.items(), ids=USAGE_ERRORS)
def test_options_that_contradict_each_other_are_a_usage_error(content, command, message):
    assert content("", *command.split()).usage_error() == message


def test_an_organization_without_integrations_has_no_export_for_all(cli, core):
    empty = core.administration.create_organization("Empty").id
    export = ("content", "export", "--organization", empty, "--all", "--out", ".")
    failure = cli(*export, stdin="").failure()
    assert failure.startswith("The organization has no integrations. Create one with")


@pytest.mark.parametrize("command", ["check", "export", "preview"])
def test_an_error_in_the_syntax_does_not_hide_an_unknown_key(content, write, command):
    write("a.json", "{}")
    options = {"export": ("--esp", "braze"), "preview": ("--recipient", "a.json")}
    run = content("{{recipient.fnam}} {{/if}}", command, *options.get(command, ()))
    assert run.status == (FOUND if command == "check" else INVALID)
    shown = run.out + run.err
    assert "There is no field with the key fnam." in shown
    assert "This tag belongs to no block." in shown


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        (
            f"{'a' * 500}{{{{recipient.fnam}}}}{'b' * 500}",
            f"…{'a' * 40}{{{{recipient.fnam}}}}{'b' * 42}…",
        ),
        ("\x1b[31m{{recipient.fnam}}", r"\x1b[31m{{recipient.fnam}}"),
    ],
    ids=["a part of a long line", "control characters with escapes"],
)
def test_an_excerpt_of_the_line_is_shown(exported, text, excerpt):
    assert exported(text).err.splitlines()[1] == f"    {excerpt}"


def test_the_surface_of_an_export_is_an_option(exported):
    assert exported("Dear {{recipient.fname}}", "--surface", "subject").out == "Dear *|FNAME|*"
    assert "Did you mean subject?" in exported("Dear", "--surface", "subjekt").err


def test_an_export_replaces_references_and_nothing_else(script, acme, write, folder):
    write("in.html", "Größe [x]\r\n{{recipient.fname}} {{recipient.shop}}\r\n\r")
    export = ("content", "export", "--organization", acme, "--integration", MAILCHIMP)
    with (folder / "in.html").open("rb") as stdin, script.start(*export, stdin=stdin) as process:
        out, _ = process.communicate(timeout=60)
    assert out.decode() == "Größe [x]\r\n*|FNAME|* *|SHOP|*\r\n\r"


def test_an_export_reads_a_file(content, write):
    write("in.html", "{{recipient.fname}}")
    assert content("", "export", "--esp", "mailchimp", "in.html").out == "*|FNAME|*"


def test_tags_of_blocks_between_components_of_mjml_are_raw(exported):
    section = "<mj-section><mj-column><mj-text>Gold</mj-text></mj-column></mj-section>"
    source = (
        f'<mjml><mj-body>{{{{#if recipient.tier = "gold"}}}}{section}{{{{/if}}}}</mj-body></mjml>'
    )
    opening, closing = "<mj-raw>*|IF:TIER=gold|*</mj-raw>", "<mj-raw>*|END:IF|*</mj-raw>"
    assert exported(source).out == f"<mjml><mj-body>{opening}{section}{closing}</mj-body></mjml>"
    run = exported(source.replace("<mj-body>", "").replace("</mj-body>", ""))
    assert run.status == INVALID
    assert "Mistake: Line 1, column 7: MJML drops this code" in run.err


def test_nothing_is_exported_if_there_are_violations(exported):
    run = exported("{{recipient.fnam}}\r\n {{recipient.lnam}} {{recipient.fname}}\r\n")
    assert (run.status, run.out) == (INVALID, "")
    assert run.err.splitlines() == [
        "Line 1, column 1: There is no field with the key fnam. Did you mean fname?",
        "    {{recipient.fnam}}",
        "Line 2, column 2: There is no field with the key lnam. Did you mean lname?",
        "     {{recipient.lnam}} {{recipient.fname}}",
        "Error: Nothing was exported.",
    ]


def test_literals_stay_without_warnings(exported):
    text = "*|FNAME|* [[name]]"
    assert exported(text, integration=BRAZE).status == INVALID
    literals = ("--literal", "*|FNAME|*", "--literal", "[[name]]")
    run = exported(text, "--strict", *literals, integration=BRAZE)
    assert (run.status, run.out, run.err) == (0, text, "")


def test_there_is_a_maximum_number_of_literals(content, exported):
    literals = ("--literal", "x") * 101
    assert exported("a", *literals).err.startswith("/literals: There are at most 100 literals.\n")
    failure = content("a", "check", *literals).failure()
    assert failure == "literals: There are at most 100 literals."


def test_a_key_means_the_field_of_the_integration_with_the_same_name(exported):
    run = exported("{{recipient.tier}}", integration=BRAZE)
    assert run.out == "{{custom_attribute.${TIER}}}"
    assert run.err == "recipient.tier is tier_2, the integration's field with the same name.\n"


@pytest.mark.parametrize("options", [(), ("--strict",)], ids=["default", "strict"])
def test_an_export_writes_nothing_if_there_are_mistakes(exported, options):
    text = "{{recipients.shop}} {{recipient.shop}} {{ name }}"
    run = exported(text, *options)
    assert (run.status, run.out) == (INVALID, "")
    mistake, _, other, _, error = run.err.splitlines()
    assert mistake.startswith("Mistake: Line 1, column 1: This looks like a reference")
    assert other.startswith("Mistake: Line 1, column 40: Mailchimp does not read this code")
    assert error == f"Error: Nothing was exported. {PERMISSION}"


def test_an_export_can_permit_mistakes(exported):
    run = exported("{{recipients.shop}} {{recipient.shop}}", "--allow-mistakes")
    assert (run.status, run.out) == (0, "{{recipients.shop}} *|SHOP|*")
    assert run.err.startswith("Mistake: Line 1, column 1: ")


def test_only_a_strict_export_refuses_caveats(exported):
    text = '{{#if recipient.tier = "a"}}x{{/if}} {{#if recipient.tier = "b"}}x{{/if}}'
    run = exported(text)
    assert (run.status, run.out.count("*|IF:TIER=")) == (0, 2)
    caveat, places = run.err.splitlines()
    assert caveat.startswith("Caveat: Line 1, column 1: Mailchimp does not document whether")
    assert places == "    Also: line 1, column 38."
    refused = exported(text, "--strict")
    assert (refused.status, refused.out) == (INVALID, "")
    assert refused.err.count("Mailchimp does not document whether") == 2


def test_ten_other_places_of_a_caveat_are_printed(exported):
    run = exported('{{#if recipient.tier = "a"}}x{{/if}}\n' * 13)
    assert run.err.splitlines()[1:] == [
        "    Also: "
        + "; ".join(f"line {line}, column 1" for line in range(2, 12))
        + "; 2 other places."
    ]


def test_at_most_100_violations_are_reported(exported):
    run = exported("{{recipient.feild}}\n" * 2_000)
    lines = run.err.splitlines()
    assert len([line for line in lines if line.startswith("Line ")]) == 100
    assert lines[-2:] == ["… and 900 more.", "Error: Nothing was exported."]


def test_a_byte_order_mark_stays(exported, previewed):
    assert exported("\ufeff{{recipient.shop}}").out == "\ufeff*|SHOP|*"
    assert previewed("\ufeff{{recipient.shop}}", {"shop": "A"}).out == "\ufeffA"


def test_an_export_for_all_integrations_writes_one_file_for_each(
    content, core, acme, write, folder
):
    core.integrations.rename_integration(acme, IntegrationId(BRAZE), "Größe / ../Zwölf")
    write("welcome.html", "\ufeff{{recipient.tier}}")
    run = content("", "export", "--all", "--out", "out", "welcome.html")
    exports = {
        "out/1-mailchimp.html": "\ufeff*|TIER|*",
        "out/2-grosse-zwolf.html": "\ufeff{{custom_attribute.${TIER}}}",
    }
    assert run.out.splitlines() == list(exports)
    assert {name: (folder / name).read_text() for name in exports} == exports
    assert "Integration 2, Größe / ../Zwölf (Braze):" in run.err.splitlines()


CAVEAT = '{{#if recipient.tier = "a"}}x{{/if}}'
"""Content with a caveat for Mailchimp only."""


def test_no_file_is_written_if_the_export_fails_for_one_integration(content, folder):
    content(CAVEAT, "export", "--all", "--out", ".")
    (folder / "2-braze").unlink()
    run = content(CAVEAT, "export", "--all", "--out", ".", "--strict")
    assert (run.status, run.out) == (1, "")
    first, violation, excerpt, *_ = run.err.splitlines()
    assert first == "Integration 1, mailchimp (Mailchimp):"
    assert violation.startswith("Caveat: Line 1, column 1: Mailchimp does not document whether")
    assert excerpt == f"    {CAVEAT}"
    stale = "1-mailchimp is from an earlier export."
    assert f"Nothing was exported for this integration. {stale}" in run.err.splitlines()
    assert run.err.endswith(
        "Error: 1 of 2 exports failed, so no file was written. To write the others, add"
        " --partial.\n"
    )
    assert [each.name for each in folder.iterdir()] == ["1-mailchimp"]


def test_a_partial_export_writes_what_it_can(content, folder):
    run = content(CAVEAT, "export", "--all", "--out", ".", "--strict", "--partial")
    assert (run.status, run.out) == (1, "2-braze\n")
    assert run.err.endswith("Error: 1 of 2 exports failed.\n")
    assert [each.name for each in folder.iterdir()] == ["2-braze"]


def test_no_file_is_written_if_one_can_not_be(content, folder):
    (folder / "2-braze").mkdir()
    run = content("{{recipient.tier}}", "export", "--all", "--out", ".")
    assert run.status == 1
    assert run.err.endswith("Error: Can't write 2-braze: It is not a regular file.\n")
    assert [each.name for each in folder.iterdir()] == ["2-braze"]


@pytest.mark.parametrize("out", ["/proc/1", "a/b"])
def test_a_folder_that_can_not_be_written_is_refused_before_the_content_is_read(
    content, folder, out
):
    failure = content("{{invalid", "export", "--all", "--out", out).failure()
    assert failure.startswith(f"Can't write {out}: No such file")


def test_the_error_locates_bytes_that_are_not_utf_8(content, write):
    write("in.html", b"abc\xff")
    assert "byte 4" in content("", "export", "--esp", "braze", "in.html").failure()


def test_a_preview_shows_the_values_of_a_recipient(previewed):
    text = '{{recipient.fname | default: "you"}}: {{#if recipient.shop is set}}A{{else}}B{{/if}}\n'
    assert previewed(text, {"fname": "Ada", "shop": "Rome"}).out == "Ada: A\n"
    assert previewed(text, {}).out == "you: B\n"


def test_a_preview_shows_links_the_sender_the_address_and_the_year(previewed):
    text = "{{link.unsubscribe}} {{sender.name}} {{recipient.email}} {{today.year}}"
    year = datetime.now(UTC).year
    shown = f"https://example.com/unsubscribe Example Company recipient@example.com {year}"
    assert previewed(text, {}).out == shown
    assert "ada@example.com" in previewed(text, {"email": "ada@example.com"}).out


@pytest.mark.parametrize(
    ("recipient", "message"),
    [
        ({"fname": 3}, "/fname: "),
        ([], 'A recipient must be an object, such as {"fname": "Ada"}.'),
        (
            {"shopp": "A"},
            "/shopp: There is no recipient field with this key. Did you mean shop?",
        ),
    ],
)
def test_an_invalid_recipient_is_reported(previewed, recipient, message):
    run = previewed("{{recipient.fname}}", recipient)
    assert (run.status, run.out) == (INVALID, "")
    assert run.err.startswith(message)
    assert run.err.endswith("Error: There is no preview.\n")


def test_event_data_is_exported_in_the_chosen_way_and_previewed(exported, previewed, write):
    run = exported("{{event.a}}", "--sent-by", "context", integration=BRAZE)
    assert run.out == "{{context.${a}}}"

    write("event.json", '{"a": "b"}')
    assert previewed("{{event.a}}", {}, "--event", "event.json").out == "b"

    write("event.json", "[]")
    run = previewed("{{event.a}}", {}, "--event", "event.json")
    assert (run.status, run.out) == (2, "")
    assert 'Event data must be an object, such as {"order_id": "A-1"}.' in run.err
