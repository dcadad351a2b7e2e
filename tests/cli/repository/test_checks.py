"""The checks of files and folders with content, their baselines, and the uses of fields."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from recipient_fields.application import Core
from recipient_fields.domain import (
    DataType,
    IntegrationId,
    OrganizationId,
)
from recipient_fields.domain.integrations import EspField, SetName

from ...adapters.client.live_server import Keyring, application, live_server
from ...support.command_line import SCRIPT, CommandLine, Run, Script
from ...support.fields import add_field
from ...support.integrations import add_integration, sync_fields
from ...support.service import WITHOUT_DAC_OVERRIDE

FOUND = 3
BRAZE = IntegrationId(1)


@pytest.fixture(autouse=True)
def _fields(core: Core, acme: OrganizationId) -> None:
    """Define tier, visits and secret, of which Braze has tier as `tier_2` and visits."""
    braze = add_integration(core, acme, "braze", "Emails")
    add_integration(core, acme, "customerio", "Messages")
    add_field(core, acme, "Tier", allowed_values=["gold", "silver"])
    add_field(core, acme, "Visits", data_type=DataType.NUMBER)
    add_field(core, acme, "Secret", insertable=False)
    core.integrations.set_names(acme, braze.id, {"tier": SetName("tier_2")})
    sync_fields(core, braze, "tier_2", "visits", "town")


@pytest.fixture
def snapshot(cli: CommandLine, acme: OrganizationId, folder: Path) -> str:
    name = "recipient-fields.lock.json"
    run = cli("fields", "snapshot", "--organization", acme, "--out", name)
    assert (run.status, run.err) == (0, f"Wrote 6 fields and 2 integrations to {name}.\n")
    return name


@pytest.fixture
def check(cli: CommandLine, acme: OrganizationId) -> Callable[..., Run]:
    return lambda *arguments: cli("content", "check", "--organization", acme, *arguments)


@pytest.fixture
def run_locked(script: Script, folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs a command while its user has other permissions for a folder."""

    def run(name: str, command: str, mode: int = 0o600) -> subprocess.CompletedProcess[str]:
        words = [*WITHOUT_DAC_OVERRIDE, SCRIPT, "--storage", script.storage, *command.split()]
        (folder / name).chmod(mode)
        try:
            return subprocess.run(words, capture_output=True, text=True, check=False)
        finally:
            (folder / name).chmod(0o700)

    return run


def without_storage() -> CommandLine:
    return CommandLine("sqlite:/missing/fields.db")


def test_each_finding_has_its_file_line_and_column(write, check):
    write("emails/a.html", 'Dear {{recipient.teir}},\n{{#if recipient.tier = "golf"}}x{{/if}}')
    write("emails/b.txt", "{{recipient.secret}}\n *|FNAME|* {{recipient.visits}}")
    write("emails/c.md", "{{recipient.unknown}}")
    run = check("emails")
    assert run.status == FOUND
    assert run.out.startswith("""\
emails/a.html:1:6: error: There is no field with the key teir. Did you mean tier? [unknown_field]
emails/a.html:2:24: error: This is not one of the field's allowed values. Did you mean gold?\
 [unknown_value]
emails/b.txt:1:1: error: The field secret is not insertable. Remove it, or make the field\
 insertable. [not_applicable]
emails/b.txt:2:2: error: This is code of Mailchimp. Other ESPs do not read it. Write\
 `{{recipient.KEY}}`. [foreign_code]
""")
    assert "emails/b.txt:2:12: note: Customer.io does not send the message" in run.out
    assert run.err == (
        "Checked 2 files: 4 errors, 1 note.\n"
        "Left out 1 file: emails/c.md. To read files with other names, add --include PATTERN.\n"
    )
    assert check("emails/c.md").status == FOUND
    assert "emails/c.md:1:1" in check("emails", "--include", "*.md").out


def test_the_names_of_event_data_in_all_files_are_listed(write, check):
    write("a.txt", "{{#each event.items as item}}{{item.name}}{{/each}}{{event.order.id}}")
    write("b.txt", "{{#if event.order.id is set}}{{event.city}}{{/if}}")
    write("c.txt", "{{event_properties.${price}}}")
    run = check("a.txt", "b.txt")
    assert run.err == "Event data: city, items, order.id.\nChecked 2 files: 0 errors, 0 notes.\n"
    listed = json.loads(check("a.txt", "b.txt", "--json").out)["event"]
    assert listed == ["city", "items", "order.id"]
    assert "Event data" not in check("c.txt", "--esp", "braze").err


def test_a_missing_default_is_a_note_unless_a_value_is_certain(write, check):
    certain = "{{#if recipient.tier is set}}{{recipient.tier}}{{/if}}"
    write("a.txt", f'{{{{recipient.visits | default: "0"}}}}{certain}')
    assert check("a.txt").out == ""
    write("b.txt", "{{recipient.visits}}")
    assert (check("b.txt").status, check("b.txt", "--strict").status) == (0, FOUND)
    assert "[missing_value_stops]" in check("b.txt").out


def test_a_name_that_the_last_sync_did_not_find_is_a_note(core, acme, write, check):
    core.integrations.sync_fields(acme, BRAZE, [EspField(name="visits", data_type=DataType.TEXT)])
    write("a.txt", '{{recipient.tier | default: "x"}}')
    write("b.txt", "{{custom_attribute.${tier_2}}}")
    for name, options in (("a.txt", ()), ("b.txt", ("--esp", "braze"))):
        run = check(name, *options)
        assert run.status == 0
        assert f"{name}:1:1: note: " in run.out
        assert "[missing_name]" in run.out


def test_code_of_an_esp_is_read_by_its_grammar(write, check):
    """The names are those at Braze: `tier` is not one, because another one is set for the field."""
    write(
        "braze/a.html",
        "{% assign city = custom_attribute.${town} %}{{ city }}{{ ${first_name} }}\n"
        '{% if custom_attribute.${tier_2} == "golf" %}{{custom_attribute.${teir_2}}}{% endif %}\n'
        "{{ person.x }} {{recipient.tier}}",
    )
    write("other/b.html", "Hi {{custom_attribute.${town}}}")
    run = check(".", "--native", "braze/**=braze")
    lines = [line.split(": ", 2) for line in run.out.splitlines()]
    assert [(place, kind) for place, kind, _ in lines] == [
        ("braze/a.html:2:1", "error"),
        ("braze/a.html:2:46", "error"),
        ("braze/a.html:3:1", "error"),
        ("braze/a.html:3:16", "note"),
        ("braze/a.html:3:16", "error"),
        ("other/b.html:1:4", "error"),
    ]
    assert lines[1][2] == (
        "There is no field with the name teir_2 at Braze. Did you mean tier_2? [unknown_field]"
    )
    assert check("other/b.html", "--esp", "braze").out == ""


@pytest.mark.parametrize(
    ("esp", "code", "name", "meant"),
    [
        ("mailchimp", "*|FNMAE|*", "FNMAE", "FNAME"),
        ("mailchimp", "*|IF:PIONTS|*x*|END:IF|*", "PIONTS", "POINTS"),
        ("sfmc", "%%LstName%%", "LstName", "LastName"),
        ("sfmc", '%%=AttributeValue("last_nam")=%%', "last_nam", "LastName"),
        ("brevo", "{{ contact.PIONTS }}", "PIONTS", "POINTS"),
        ("activecampaign", "%PIONTS%", "PIONTS", "POINTS"),
        ("klaviyo", "{{ person|lookup:'pionts' }}", "pionts", "Points"),
    ],
)
def test_the_proposal_for_a_misspelled_name_is_the_name_that_a_sync_found(
    core, acme, write, check, esp, code, name, meant
):
    for each in ("First Name", "Last Name", "Points"):
        add_field(core, acme, each)
    add_integration(core, acme, esp, "Other", meant)
    write("a.html", code)
    (found,) = check("a.html", "--esp", esp).out.splitlines()
    assert f"There is no field with the name {name} at " in found
    assert found.endswith(f" Did you mean {meant}? [unknown_field]")


def test_a_name_of_event_data_is_a_note_unless_it_is_similar_to_that_of_a_field(write, check):
    write("a.txt", "{{order_id}} {{visit}} {{visits}} {{#each items}}{{teir}}{{/each}}")
    run = check("a.txt", "--esp", "sendgrid")
    places = [line.split(": ", 2)[:2] for line in run.out.splitlines()]
    assert places == [["a.txt:1:1", "note"], ["a.txt:1:14", "error"], ["a.txt:1:35", "note"]]


def test_a_file_that_cannot_be_read_is_reported_and_the_rest_goes_on(write, check, folder):
    write("emails/a.txt", b"abc\xff")
    write("emails/b.txt", "{{recipient.teir}}")
    run = check("emails")
    assert run.out.splitlines()[0] == (
        "emails/a.txt:1:1: error: The file is not UTF-8: byte 4. Save it as UTF-8. [unreadable]"
    )
    assert run.out.splitlines()[1].startswith("emails/b.txt:1:1: ")
    assert check("missing").failure() == "There is no file or folder missing. Correct the path."
    assert check("n" * 300).failure().startswith(f"Can't read {'n' * 300}: ")


LOCKED = "emails/locked"
LISTED = f"Error: Can't list the folder {LOCKED}"


@pytest.mark.parametrize(
    ("inner", "mode", "status", "printed"),
    [
        (
            "a.txt",
            0o600,
            FOUND,
            f"{LOCKED}/a.txt:1:1: error: Can't read the file: Permission denied. [unreadable]\n",
        ),
        ("folder/a.txt", 0o600, 1, f"{LISTED}/folder: Permission denied.\n"),
        ("a.txt", 0, 1, f"{LISTED}: Permission denied.\n"),
    ],
    ids=("not entered", "not entered, with a folder", "not listed"),
)
def test_a_folder_that_cannot_be_read_is_reported(
    write, run_locked, acme, inner, mode, status, printed
):
    write(f"{LOCKED}/{inner}", "")
    run = run_locked(LOCKED, f"content check --organization {acme} emails", mode)
    assert (run.returncode, printed) == (status, run.stdout or run.stderr)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        ("check locked/a.txt", "Error: Can't read locked/a.txt: Permission denied."),
        ("content check locked/a.txt", "Error: Can't read locked/a.txt: Permission denied."),
        ("content check a.txt --write-baseline locked/b", "Error: Can't write locked/b: "),
        ("fields uses locked/a.txt", "Error: Can't read locked/a.txt: Permission denied."),
        ("fields snapshot --out locked/b", "Error: Can't write locked/b: Permission denied."),
        ("plan names.yaml --content locked/a.txt", "Error: Can't read locked/a.txt: "),
        ("plan locked/a.txt", "Error: Invalid value for 'FILE': 'locked/a.txt': Permission denied"),
        ("convert --from braze --to portable a.txt --write-names locked/b", "Error: Can't write "),
        ("convert --from braze --to portable a.txt --names locked/a.txt", "'locked/a.txt'"),
        ("convert --from braze --to portable locked/a.txt", "'locked/a.txt'"),
    ],
)
def test_a_path_in_a_folder_that_cannot_be_entered_is_reported(
    write, run_locked, acme, arguments, printed
):
    write("locked/a.txt", "")
    write("a.txt", "{{${first_name}}}")
    write("names.yaml", "fields: {}")
    write("recipient-fields.toml", f'organization = "{acme}"')
    needs_it = arguments.startswith(("content", "fields", "plan"))
    run = run_locked("locked", f"{arguments} --organization {acme}" if needs_it else arguments)
    assert run.returncode in {1, 2, FOUND}
    assert printed in run.stdout + run.stderr
    assert "Traceback" not in run.stderr


def test_a_baseline_keeps_the_findings_of_a_file_that_may_exist(write, run_locked, acme, folder):
    for name in ("locked/a.txt", "a.txt"):
        write(name, "")
    finding = {"code": "unknown_field", "message": "No field.", "count": 1}
    found = [{"file": file, **finding} for file in ("gone.txt", "locked/a.txt")]
    write("baseline.json", json.dumps({"findings": found}))
    command = f"content check a.txt --write-baseline baseline.json --organization {acme}"
    run = run_locked("locked", command)
    assert (run.returncode, run.stderr) == (0, "Wrote 0 findings to baseline.json.\n")
    kept = json.loads((folder / "baseline.json").read_text())["findings"]
    assert [each["file"] for each in kept] == ["locked/a.txt"]


def test_a_name_of_a_file_that_is_not_utf_8_has_escapes(write, check):
    write("emails/\udcff.txt", "{{recipient.teir}}")
    write("emails/\udcfe.md", "")
    for options in ((), ("--format", "github")):
        assert check("emails", *options).out.startswith(r"emails/\udcff.txt:1:1: error: ")
    document = json.loads(check("emails", "--json").out)
    assert document["findings"][0]["file"] == "emails/\udcff.txt"
    assert document["left_out"] == ["emails/\udcfe.md"]


@pytest.mark.parametrize("has_git", [False, True])
def test_a_link_to_a_folder_that_is_not_read_is_reported(write, check, folder, has_git):
    write("emails/a.txt", "Hello")
    write("shared/b.txt", "{{recipient.teir}}")
    for link, target in {
        "link": "../shared",
        "again": ".",
        "b.txt": "b.txt",
        "c.txt": "gone.txt",
        ".#a.txt": "user@host.123",  # A lock of an editor
    }.items():
        (folder / "emails" / link).symlink_to(target)
    write("emails/gone.html", "")
    if has_git:
        git("init", "-q")
        git("add", ".")
    (folder / "emails" / "gone.html").unlink()
    gone = "".join(
        f"emails/{each}.txt:1:1: error: This link leads to no file. Correct or remove it."
        " [unreadable]\n"
        for each in ("b", "c")
    )
    run = check("emails")
    assert run.out == (
        f"{gone}emails/link:1:1: error: Links to folders are not followed. Give the path of the"
        " folder itself, too. [unreadable]\n"
    )
    assert run.err == "Checked 4 files: 3 errors, 0 notes.\n"
    assert check("emails", "shared").out.startswith(f"{gone}shared/b.txt:1:1: ")


def test_files_of_a_folder_that_are_left_out_are_counted_and_named(write, check, cli, acme, folder):
    for name in ("a.txt", "b.liquid", "c.liquid", "de/d.liquid", "logo.png", "Makefile", ".keep"):
        write(f"emails/{name}", "Hello")
    (folder / "emails" / "link.png").symlink_to("gone")
    os.mkfifo(folder / "emails" / "pipe.txt")  # The advice is no help for it.
    left_out = (
        "Left out 6 files: emails/Makefile, emails/b.liquid and 2 more .liquid, emails/link.png and"
        " 1 more .png. To read files with other names, add --include PATTERN.\n"
    )
    run = check("emails")
    assert run.err == f"Checked 1 file: 0 errors, 0 notes.\n{left_out}"
    assert check("emails", "emails/de", "emails/logo.png").err.startswith(
        "Checked 2 files: 0 errors, 0 notes.\nLeft out 5 files: "
    )
    uses = cli("fields", "uses", "--organization", acme, "emails")
    assert (uses.status, uses.err) == (0, left_out)
    included = check("emails", "--include", "*.liquid", "--include", "*")
    assert included.err == "Checked 8 files: 1 error, 0 notes.\n"
    names = [f"emails/{each}" for each in ("b.liquid", "c.liquid", "logo.png")]
    listed = json.loads(check("emails", "--json").out)["left_out"]
    assert [each for each in listed if each in names] == names
    for number in range(20):
        write(f"emails/many.{number}", "")
    assert check("emails").err.count("many.") == 7
    settings = f'organization = "{acme}"\ninclude = ["many.*", "*.png"]\n'
    write("recipient-fields.toml", f'{settings}content = ["emails"]')
    err = cli("check").err
    assert "\nLeft out 4 files: emails/Makefile, emails/b.liquid and 2 more " in err
    assert err.endswith("other names, set include in the nearest recipient-fields.toml.\n")
    write("recipient-fields.toml", settings)
    run = cli("check")
    assert (run.status, "Left out" in run.err) == (FOUND, False)


def test_only_the_files_that_git_tracks_are_read_in_a_repository(write, check, folder):
    write("emails/a.txt", "{{recipient.teir}}")
    write("emails/build/b.txt", "{{recipient.teir}}")
    write(".drafts/c.txt", "{{recipient.teir}}")
    assert check(".").err.startswith("Checked 3 files: ")
    git("init", "-q")
    git("add", "emails/a.txt")
    assert check(".").err == "Checked 1 file: 1 error, 0 notes.\n"
    assert check("emails/build/b.txt").err == "Checked 1 file: 1 error, 0 notes.\n"
    nothing = check("emails/build").err
    assert nothing.startswith("Checked 0 files: 0 errors, 0 notes.\nIn folders, *.html, ")
    assert nothing.endswith(" In a repository, Git must track them: `git add` new ones.\n")


def test_findings_are_a_json_document_or_commands_of_github(write, check):
    write("a,b.txt", "100% {{recipient.teir}}\n{{recipient.x}}")
    document = json.loads(check("a,b.txt", "--json").out)
    assert (document["files"], document["known"], document["event"]) == (1, 0, [])
    place = {"file": "a,b.txt", "line": 1, "column": 6}
    message = "There is no field with the key teir. Did you mean tier?"
    finding = {"code": "unknown_field", "message": message, "level": "error"}
    assert document["findings"][0] == {**place, **finding}
    run = check("a,b.txt", "--format", "github")
    commands = [line for line in run.out.splitlines() if line.startswith("::")]
    assert len(run.out.splitlines()) == 2 * len(commands) == 4
    assert commands[0] == (
        "::error file=a%2Cb.txt,line=1,col=6,title=recipient-fields unknown_field::There is no"
        " field with the key teir. Did you mean tier?"
    )


def test_a_percent_sign_is_escaped_in_a_command_of_github(write, check):
    write("a.txt", "100 %OFF%")
    out = check("a.txt", "--format", "github").out
    assert out.splitlines()[1].partition("::`")[2].startswith("%25OFF%25` may be code of")


def test_a_baseline_counts_old_findings_and_loses_those_that_are_gone(write, check, folder):
    for number in range(501):
        write(f"old/{number}.txt", "{{recipient.first_name}} *|FNAME|*")
    written = check("old", "--write-baseline", "baseline.json")
    assert written.status == 0
    assert written.err.endswith("Wrote 1,002 findings to baseline.json.\n")
    run = check("old", "--baseline", "baseline.json")
    assert (run.status, run.out) == (0, "")
    assert run.err.endswith(
        "Checked 501 files: 0 errors, 0 notes. 1,002 findings of the baseline left out.\n"
    )
    write("old/7.txt", "\n{{recipient.first_name}} {{recipient.first_name}}")
    run = check("old", "--baseline", "baseline.json")
    assert run.out.splitlines() == [
        "old/7.txt:2:26: error: There is no field with the key first_name. [unknown_field]"
    ]
    (folder / "old/8.txt").unlink()
    check("old/7.txt", "--write-baseline", "baseline.json")
    known = json.loads((folder / "baseline.json").read_text())["findings"]
    assert [each["count"] for each in known if each["file"] == "old/7.txt"] == [2]
    assert sum(each["count"] for each in known) == 1002 - 2 - 2 + 2


def test_an_interrupted_check_keeps_the_baseline(script, acme, write, folder):
    write("a.txt", "{{recipient.teir}}")
    write("baseline.json", '{"findings": []}')
    os.mkfifo(folder / "b.txt")
    options = ("--organization", acme, "--write-baseline", "baseline.json")
    with (
        script.start("content", "check", "a.txt", "b.txt", *options) as process,
        (folder / "b.txt").open("wb"),  # The command is waiting for the rest of this file.
    ):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode != 0
    assert (folder / "baseline.json").read_text() == '{"findings": []}'
    assert sorted(each.name for each in folder.iterdir()) == ["a.txt", "b.txt", "baseline.json"]


def test_a_snapshot_replaces_the_storage(write, check, snapshot):
    write("a.txt", "{{recipient.tier}} {{recipient.teir}} {{recipient.secret}}")
    write("b.txt", "{{custom_attribute.${tier_2}}} {{custom_attribute.${town}}} {{ ${x} }}")
    for options in (("a.txt",), ("b.txt", "--esp", "braze")):
        run = without_storage()("content", "check", "--snapshot", snapshot, *options)
        assert run.out == check(*options).out != ""
        assert run.err.startswith(f"The snapshot {snapshot} is less than a day old.\n")


def test_a_snapshot_of_a_service_has_the_same_fields(cli, core, acme, snapshot, folder):
    keys = Keyring(core.storage)
    with live_server(application(core.storage, core.fields)) as url:
        run = cli(
            *("fields", "snapshot", "--url", url, "--out", "service.json"),
            RECIPIENT_FIELDS_API_KEY=keys[acme],
        )
    assert run.status == 0
    paths = (folder / snapshot, folder / "service.json")
    stored, served = (json.loads(path.read_text()) for path in paths)
    assert stored.pop("taken_at") <= served.pop("taken_at")
    assert served == stored


def test_an_invalid_snapshot_says_how_to_write_it(write, snapshot):
    for content in ("{", '{"taken_at": 1}'):
        write("x.json", content)
        failure = without_storage()("content", "check", "--snapshot", "x.json", "x.json").failure()
        assert failure.endswith("Write it with `recipient-fields fields snapshot --out`.")


def test_uses_are_listed_per_field_with_their_lines(write, cli, acme):
    block = '{{#if recipient.tier = "gold"}}{{recipient.visits}}{{/if}}'
    write("a.html", f"{{{{recipient.tier}}}}\n{block}")
    write("braze/b.html", "\n{{custom_attribute.${tier_2}}}")
    options = ("--organization", acme, "--native", "braze/**=braze")
    run = cli("fields", "uses", ".", *options)
    assert run.table() == [
        "KEY     FILE          LINES",
        "tier    a.html        1, 2",
        "tier    braze/b.html  2",
        "visits  a.html        2",
    ]
    visits = cli("fields", "uses", ".", *options, "--key", "visits").table()
    assert visits[1:] == ["visits  a.html  2"]
    assert cli("fields", "uses", ".", *options, "--unused").table() == ["secret", "town"]
    document = cli("fields", "uses", "braze", *options, "--json").document()
    use = {"file": "braze/b.html", "line": 2, "column": 1, "esp": "braze"}
    assert document == {"fields": [{"key": "tier", "uses": [{**use, "esp_field_name": "tier_2"}]}]}
    unknown = cli("fields", "uses", ".", *options, "--key", "teir").failure()
    assert unknown == "There is no field with the key teir. Did you mean tier?"


def test_the_nearest_configuration_applies_to_each_file(write, snapshot, folder):
    """A repository with two teams, of which one has fields of its own."""
    run = without_storage()
    write("recipient-fields.toml", f'snapshot = "{snapshot}"\nliterals = ["*|OLD|*"]')
    write("emails/a.html", "{{recipient.teir}} *|OLD|*")
    write(
        "shop/recipient-fields.toml",
        'snapshot = "f.json"\ncontent = ["mail"]\n'
        'documents = ["fields.yaml"]\n[native]\n"mail/braze/**" = "braze"',
    )
    document = json.loads((folder / snapshot).read_text())
    document["recipient_fields"], document["integrations"] = [], []
    write("shop/f.json", json.dumps(document))
    write("shop/fields.yaml", "fields:\n  no: {name: No, data_type: text}\n")
    write("shop/mail/a.html", "{{recipient.tier}} *|OLD|*")
    write("shop/mail/braze/b.html", "{{custom_attribute.${tier_2}}}")
    write("shop/c.html", "{{recipient.tier}}")
    write("emails/x.png", "")
    found = [
        "shop/fields.yaml:2:3: error",
        "emails/a.html:1:1: error",
        "shop/mail/a.html:1:1: error",
        "shop/mail/a.html:1:20: error",
        "shop/mail/braze/b.html:1:1: error",
    ]
    checked = run("check")
    assert checked.status == FOUND
    assert [": ".join(line.split(": ")[:2]) for line in checked.out.splitlines()] == found
    changed = run("check", "shop/mail/a.html", "shop/c.html", "emails/x.png").out.splitlines()
    places = [line.split(": ")[0] for line in changed]
    assert places == ["shop/mail/a.html:1:1", "shop/mail/a.html:1:20"]
    for source in ("shop/f.json", "shop/fields.yaml", "shop/recipient-fields.toml", "shop"):
        assert len(run("check", source).out.splitlines()) == 4
    assert len(run("check", snapshot).out.splitlines()) == 1
    assert len(run("check", "shop/mail").out.splitlines()) == 3
    missing = run("check", "shop/mail/a.htm").failure()
    assert missing == "There is no file or folder shop/mail/a.htm. Correct the path."


def test_a_configuration_names_a_baseline(write, snapshot):
    run = without_storage()
    write("recipient-fields.toml", f'snapshot = "{snapshot}"\nbaseline = "known.json"')
    write("a.html", "{{recipient.teir}}")
    assert "Error: known.json: " in run("check").err
    assert run("check", "--write-baseline", "known.json").status == 0
    assert run("check").err.endswith("1 finding of the baseline left out.\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("snapshots = 'x'", "snapshots: There is no such member. Did you mean snapshot?"),
        ("literals = 'x'", "literals: This must be an array."),
        ("[native]\n'**' = 'brase'", "native"),
        ("url = 'https://x'\norganization = 'y'", "Use either url or organization."),
        ("x", "Expected '=' after a key"),
    ],
)
def test_an_error_in_a_configuration_has_its_file(write, folder, text, message):
    write("a/recipient-fields.toml", text)
    write("a/b.html", "x")
    for arguments in (("check",), ("content", "check", "a/b.html")):
        failure = without_storage()(*arguments).failure()
        assert failure.startswith("a/recipient-fields.toml: ")
        assert message in failure


def test_a_check_without_a_configuration_or_fields_says_what_to_write(write, folder):
    failure = without_storage()("check").failure()
    assert failure == "There is no recipient-fields.toml here, above or below. Write one."
    write("a.html", "x")
    error = without_storage()("content", "check", "a.html").usage_error()
    assert error.startswith("Add --organization, --url or --snapshot, or write one of them into")


@pytest.mark.slow
def test_a_thousand_files_with_20_mb_take_20_s_at_most(write, check):
    paragraph = '<p style="color:#333">Hello {{recipient.tier | default: "there"}}.</p>\n'
    block = "<td>{{#if recipient.visits > 3}}You are a regular.{{/if}}</td>\n"
    text = (paragraph + block + "<p>Lorem ipsum dolor sit amet, consectetur.</p>\n" * 12) * 30
    for number in range(1_000):
        write(f"emails/{number}.html", f"<h1>{number}</h1>{text}"[:20_000].rpartition("\n<p")[0])
    started = process_time()
    run = check("emails")
    assert "Checked 1,000 files: 0 errors" in run.err
    assert process_time() - started < 20


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)
