"""The command `convert`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = "docs/examples/emails/newsletter.html"
FOUND = 3
SOURCE = "Hi {{ first_name|default:'there' }}"
CONVERTED = "Hi {{${first_name} | default: 'there'}}"


def test_the_result_is_printed_and_the_report_is_on_standard_error(cli):
    run = cli("convert", "--from", "klaviyo", "--to", "braze", stdin=SOURCE)

    assert (run.status, run.out) == (0, CONVERTED)
    assert run.err == "<stdin>: 1 converted\n"


def test_a_tag_that_is_by_hand_is_reported_with_its_place(cli):
    run = cli("convert", "--from", "klaviyo", "--to", "braze", stdin=f"\n{{{{ feeds.a }}}}{SOURCE}")

    assert (run.status, run.out) == (FOUND, f"\n{{{{ feeds.a }}}}{CONVERTED}")
    assert run.err.startswith("2:1: By hand: {{ feeds.a }} This is a member of an object or list")
    assert "<stdin>: 1 converted, 1 by hand" in run.err


def test_code_of_a_third_esp_is_text_of_the_source_with_a_warning(cli):
    run = cli("convert", "--from", "klaviyo", "--to", "braze", stdin=f"%%subject%% {SOURCE}")

    assert (run.status, run.out) == (0, f"%%subject%% {CONVERTED}")
    assert run.err == (
        "Mistake: Line 1, column 1: Braze does not read this code of Salesforce Marketing Cloud.\n"
        "<stdin>: 1 converted\n"
    )


@pytest.mark.parametrize(
    ("source", "target", "comment", "kept"),
    [
        ("braze", "customerio", "{%- comment -%} a note {%- endcomment %}", True),
        ("braze", "customerio", "{% comment %}{{ x }}{% endcomment %}", False),
        ("klaviyo", "hubspot", "{# a note #}", True),
        ("sendgrid", "iterable", "{{! a note }}", False),
        ("klaviyo", "portable", "{# a note #}", False),
        ("braze", "klaviyo", "{%- comment -%}a note{%- endcomment -%}", False),
        ("braze", "mailchimp", "{% comment %}a note{% endcomment %}", False),
    ],
)
def test_a_comment_stays_if_the_other_esp_has_the_same(cli, source, target, comment, *, kept):
    run = cli("convert", "--from", source, "--to", target, stdin=f"a{comment}b")

    assert (run.status, run.out) == (0, f"a{comment}b" if kept else "ab")
    assert run.err == "<stdin>: 1 converted\n"


def test_only_the_statements_of_a_tag_that_are_by_hand_stay(cli):
    statements = 'SET @city = AttributeValue("city")\nSET @offer = Lookup("a", "b")'
    source = f"%%[\n{statements}\n]%%%%=v(@city)=%% %%=v(@offer)=%%"

    run = cli("convert", "--from", "sfmc", "--to", "portable", stdin=source)

    kept = '[BY HAND: line 3]%%[ SET @offer = Lookup("a", "b")\n]%%[END BY HAND]'
    assert run.out == f"{kept}{{{{recipient.city}}}} %%=v(@offer)=%%"
    assert run.err.startswith("3:1: By hand: SET @offer = Lookup")
    assert "2 converted, 2 by hand" in run.err


@pytest.mark.parametrize("target", ["portable", "braze"])
def test_checks_and_exports_reject_a_block_that_is_by_hand(cli, tmp_path, target):
    cli("organizations", "create", "Shop")
    file = tmp_path / "a.html"
    block = "a\n{% if feeds.a %}{{ feeds.b }}{% endif %}"
    converted = cli("convert", "--from", "klaviyo", "--to", target, stdin=block).out
    file.write_text(converted.replace("{% if feeds.a %}{{ feeds.b }}{% endif %}", "rewritten"))
    shop = "--organization", "Shop"
    esp = () if target == "portable" else ("--esp", target)

    run = cli("content", "check", *shop, *esp, str(file))

    assert run.status == FOUND
    assert ":2:1: error: This block is by hand: write it " in run.out
    if target == "portable":
        export = cli("content", "export", *shop, "--esp", "braze", str(file))
        assert (export.status, export.out) == (1, "")
        assert "Line 2, column 1: This block is by hand: write it for Braze" in export.err


def test_strict_writes_nothing_if_a_tag_has_a_caveat(cli, tmp_path):
    fields = tmp_path / "fields.yaml"

    arguments = ("--from", "klaviyo", "--to", "braze", "--strict", "--write-fields")
    run = cli("convert", *arguments, fields, stdin="{{ person.tier }}")

    assert (run.status, run.out) == (1, "")
    assert run.err.endswith("Error: Nothing was written, because of --strict.\n")
    assert not fields.exists()
    assert cli("convert", *arguments, fields, stdin=SOURCE).out == CONVERTED


def test_a_folder_keeps_its_tree(cli, tmp_path):
    source, out = tmp_path / "templates", tmp_path / "out"
    (source / "de").mkdir(parents=True)
    (source / "a.html").write_bytes(b"\xef\xbb\xbf" + SOURCE.encode())
    (source / "de" / "b.txt").write_text("{{ feeds.a }}\r\n", newline="")

    run = cli("convert", "--from", "klaviyo", "--to", "braze", source, "--out", out)

    assert (run.status, run.out) == (FOUND, "")
    assert (out / "a.html").read_bytes() == b"\xef\xbb\xbf" + CONVERTED.encode()
    assert (out / "de" / "b.txt").read_bytes() == b"{{ feeds.a }}\r\n"
    first, second, last = run.err.splitlines()
    assert first == f"{source}/a.html: 1 converted"
    assert second.startswith(f"{source}/de/b.txt:1:1: By hand: {{{{ feeds.a }}}}")
    assert last == f"{source}/de/b.txt: 1 by hand"


def test_of_a_folder_only_templates_are_converted_and_no_results(cli, tmp_path):
    (tmp_path / ".git").mkdir()
    for name in ("a.html", "b.liquid"):
        (tmp_path / name).write_text(SOURCE)
    for name in ("logo.png", ".git/index.html"):
        (tmp_path / name).write_bytes(b"\xff")
    out = tmp_path / "out"
    arguments = ("--from", "klaviyo", "--to", "braze", tmp_path, "--out", out)
    left_out = "To read files with other names, add --include PATTERN.\n"

    for _ in range(2):
        run = cli("convert", *arguments, "--include", "*.liquid")
        assert run.status == 0
        assert run.err.endswith(f"\nLeft out 1 file: {tmp_path}/logo.png. {left_out}")
    assert sorted(each.name for each in out.rglob("*")) == ["a.html", "b.liquid"]
    run = cli("convert", *arguments, "--json")
    assert run.err == f"Left out 2 files: {tmp_path}/b.liquid, {tmp_path}/logo.png. {left_out}"


def test_a_folder_without_templates_is_an_error(cli, tmp_path):
    (tmp_path / "a.liquid").write_text(SOURCE)

    run = cli("convert", "--from", "klaviyo", "--to", "braze", tmp_path, "--out", tmp_path / "out")

    assert "Add --include PATTERN for files with other names." in run.usage_error()


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.html", "--write-fields", "a.html"),
        ("a.html", "--write-names", "link.html"),
        ("a.html", "--out", "."),
        (".", "--out", "."),
        ("a.html", "--out", "out", "--write-fields", "names.yaml", "--write-names", "names.yaml"),
    ],
)
def test_no_output_replaces_a_template_or_another_output(cli, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    Path("a.html").write_text(SOURCE)
    Path("link.html").symlink_to("a.html")

    run = cli("convert", "--from", "klaviyo", "--to", "braze", *arguments)

    assert run.status == 1
    assert "The command also reads or writes this file for something else." in run.err
    assert Path("a.html").read_text() == SOURCE
    assert not Path("names.yaml").exists()


def test_the_results_of_a_folder_can_be_above_it(cli, tmp_path):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "a.html").write_text(SOURCE)

    arguments = ("--from", "klaviyo", "--to", "braze", tmp_path / "templates", "--out", tmp_path)

    assert cli("convert", *arguments).status == 0
    assert (tmp_path / "a.html").read_text() == CONVERTED


def test_a_folder_and_several_templates_require_a_folder_of_results(cli, tmp_path):
    for name in ("a.html", "b.html"):
        (tmp_path / name).write_text(SOURCE)

    arguments = ("convert", "--from", "klaviyo", "--to", "braze")
    message = "Add --out FOLDER for a folder, or for several templates."

    assert message in cli(*arguments, tmp_path / "a.html", tmp_path / "b.html").usage_error()
    (tmp_path / "b.html").unlink()
    assert message in cli(*arguments, tmp_path).usage_error()
    assert cli(*arguments, tmp_path / "a.html").out == CONVERTED


BROKEN = {
    "not UTF-8": (b"\xff", "The file is not UTF-8: byte 1. Save it as UTF-8."),
    "binary": (b"\0{{ first_name }}", "Remove the null character or lone surrogate"),
    "of another ESP": (b"*|FNAME|*", "It can be one of Mailchimp (mailchimp)."),
}


@pytest.mark.parametrize(("content", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_converted_is_reported_and_the_others_are_converted(
    cli, tmp_path, content, reason
):
    templates, out = tmp_path / "in", tmp_path / "out"
    templates.mkdir()
    (templates / "a.html").write_bytes(content)
    (templates / "b.html").write_text(SOURCE)
    (templates / "empty.html").write_bytes(b"")
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", templates)

    run = cli(*arguments, "--out", out, "--strict")
    assert (run.status, out.exists()) == (1, False)
    run = cli(*arguments, "--out", out)
    assert run.status == 1
    assert {each.name: each.read_text() for each in out.iterdir()} == {
        "b.html": CONVERTED,
        "empty.html": "",
    }
    first, *_, last = run.err.splitlines()
    assert first.startswith(f"{templates}/a.html: ")
    assert reason in first
    assert last == "Error: Not converted: 1 of 3 templates."
    *converted, failed = json.loads(cli(*arguments, "--json").out)
    assert [each["name"] for each in converted] == [
        f"{templates}/{name}.html" for name in ("b", "empty")
    ]
    assert reason in failed["violations"][0]["message"]
    alone = cli(*arguments[:-1], templates / "a.html")
    assert (alone.status, alone.out) == (1, "")
    assert alone.err.endswith("Error: Nothing was converted.\n")
    without = cli("convert", "--to", "braze", templates, "--out", out)
    assert "Missing option '--from'" in without.usage_error()


def test_links_are_read_and_those_in_a_circle_are_not(cli, tmp_path):
    templates, out = tmp_path / "in", tmp_path / "out"
    templates.mkdir()
    (tmp_path / "outside.html").write_text(SOURCE)
    (templates / "a.html").symlink_to("../outside.html")
    (templates / "circle.html").symlink_to("circle.html")
    (templates / "again").symlink_to(".")
    (tmp_path / "loop").symlink_to("loop")
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", templates, "--out")

    run = cli(*arguments, out)
    assert (run.status, [each.name for each in out.iterdir()]) == (1, ["a.html"])
    assert f"{templates}/circle.html: This link leads to no file. Correct or remove it." in run.err
    assert "Left out" not in run.err
    assert not (out / "a.html").is_symlink()
    assert "Can't write" in cli(*arguments, tmp_path / "loop").err


def test_a_link_to_another_folder_is_reported_and_the_rest_is_converted(cli, tmp_path):
    templates, shared, out = tmp_path / "in", tmp_path / "shared", tmp_path / "out"
    for folder in (templates, shared):
        folder.mkdir()
        (folder / f"{folder.name}.html").write_text(SOURCE)
    (templates / "link").symlink_to(shared)
    (templates / ".cache").symlink_to(tmp_path)
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", templates)

    run = cli(*arguments, "--out", out)
    assert (run.status, [each.name for each in out.iterdir()]) == (1, ["in.html"])
    reported, *_, last = run.err.splitlines()
    reason = "Links to folders are not followed. Give the path of the folder itself, too."
    assert reported == f"{templates}/link: {reason}"
    assert last == "Error: Not converted: 1 of 2 templates."
    *_, failed = json.loads(cli(*arguments, "--json").out)
    assert failed["name"] == f"{templates}/link"
    assert failed["violations"][0]["message"] == reason
    assert cli(*arguments, shared, "--out", out).status == 0
    (templates / "results").symlink_to(out)
    assert cli(*arguments, shared, "--out", templates / "results").status == 0


def test_others_can_read_new_files_as_the_system_permits(cli, tmp_path):
    other, out, fields = (tmp_path / name for name in ("a", "b", "fields.yaml"))
    other.touch()
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", "--write-fields", fields)

    assert cli(*arguments, "--out", out, stdin=SOURCE).status == 0
    assert {each.stat().st_mode for each in (*out.iterdir(), fields)} == {other.stat().st_mode}


def test_two_templates_with_one_place_are_refused(cli, tmp_path):
    for name in ("de", "en"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.html").write_text(SOURCE)
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", tmp_path / "de", tmp_path / "en")

    message = cli(*arguments, "--out", tmp_path / "out").usage_error()

    assert "Two templates have the name a.html. Convert them in two calls" in message


def test_without_from_the_command_proposes_dialects(cli):
    run = cli("convert", "--to", "braze", stdin="{{ person|lookup:'x' }}")

    assert "The templates can be those of --from klaviyo." in run.usage_error()


def test_a_template_of_another_esp_is_refused(cli):
    run = cli("convert", "--from", "klaviyo", "--to", "braze", stdin="*|FNAME|*")

    assert (run.status, run.out) == (1, "")
    assert "This is no template of Klaviyo. It can be one of Mailchimp (mailchimp)." in run.err


def test_names_are_written_to_be_corrected_and_read_again(cli, tmp_path):
    names = tmp_path / "names.yaml"
    source = "{{ person.TIER }}"

    cli("convert", "--from", "klaviyo", "--to", "braze", "--write-names", names, stdin=source)
    assert names.read_text() == "TIER: tier\n"
    names.write_text("TIER: loyalty_tier\n")
    run = cli("convert", "--from", "klaviyo", "--to", "portable", "--names", names, stdin=source)

    assert run.out == "{{recipient.loyalty_tier}}"


def test_a_name_that_no_template_has_is_reported(cli, tmp_path):
    names, folder = tmp_path / "names.yaml", tmp_path / "templates"
    names.write_text("ITER: tier\nlevel: loyalty_level\nin block: kept\n")
    folder.mkdir()
    (folder / "a.html").write_text(
        "{{ person.TIER }}{% if feeds.a %}{{ x|lookup:'in block' }}{% endif %}"
    )
    (folder / "b.html").write_text("{{ person.level }}")
    arguments = ("convert", "--from", "klaviyo", "--to", "portable", folder, "--names", names)

    run = cli(*arguments, "--out", tmp_path / "out")

    assert f"Warning: {names}: No template has the name `ITER`. Did you mean TIER?\n" in run.err
    assert run.err.count("Warning") == 1
    names.write_text("person.level: loyalty_level\n")
    run = cli(*arguments, "--out", tmp_path / "out")
    assert "has the name `person.level`. Use --write-names FILE for those that they" in run.err
    names.write_text("ITER: tier\nlevel: loyalty_level\nin block: kept\n")
    first, second = json.loads(cli(*arguments, "--json").out)
    assert first["unused_names"] == ["ITER", "level"]
    assert second["unused_names"] == ["ITER", "in block"]


def test_a_key_that_is_none_is_an_error_with_its_line(cli, tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text("TIER: Loyalty tier\n")

    run = cli("convert", "--from", "klaviyo", "--to", "braze", "--names", names, stdin=SOURCE)

    assert f"{names}:1:7: TIER: Use lower-case letters" in run.failure()
    assert "Did you mean loyalty_tier?" in run.err


def test_names_ignore_case_where_the_language_does(cli, tmp_path):
    names = tmp_path / "names.yaml"
    names.write_text("loyaltytier: level\n")
    arguments = ("convert", "--from", "sfmc", "--to", "portable", "--names", names)

    run = cli(*arguments, stdin="%%LoyaltyTier%% %%LOYALTYTIER%%")

    assert run.out == "{{recipient.level}} {{recipient.level}}"
    assert "Warning" not in run.err


def test_a_key_that_is_too_long_for_the_target_has_a_short_name(cli, tmp_path):
    names = tmp_path / "names.yaml"
    arguments = ("convert", "--from", "klaviyo", "--to", "mailchimp")
    source = "{{ person.loyalty_status }} {{ person.loyalty_state }} {{ person.tier }}"

    run = cli(*arguments, "--write-names", names, stdin=source)

    assert (run.status, run.out) == (0, "*|LOYALTY_ST|* *|LOYALTY_2|* *|TIER|*")
    reason = "The name LOYALTY_ST of loyalty_status at Mailchimp is assumed. Compare it with the"
    assert f"1:1: Caveat: {{{{ person.loyalty_status }}}} {reason}" in run.err
    assert "in a file of names, as in `loyalty_status: loyalty_st`.\n" in run.err
    corrected = names.read_text().replace("loyalty_status: loyalty_status", "loyalty_status: level")
    names.write_text(corrected)
    run = cli(*arguments, "--names", names, stdin=source)
    assert run.out == "*|LEVEL|* *|LOYALTY_ST|* *|TIER|*"


def test_the_names_are_those_of_an_organization(cli, tmp_path):
    fields = tmp_path / "fields.yaml"
    cli("organizations", "create", "Shop")
    cli("fields", "create", "--organization", "Shop", "--name", "Tier", "--data-type", "text")
    for number, (esp, name) in enumerate(
        (("klaviyo", "TIER"), ("braze", "Loyalty"), ("klaviyo", "Level")), 1
    ):
        cli("integrations", "create", "--organization", "Shop", "--esp", esp, "--name", esp)
        cli("integrations", "names", number, "--set", f"tier={name}", "--organization", "Shop")
    arguments = ("convert", "--organization", "Shop", "--to", "braze", "--from")

    run = cli(*arguments, 3, "--write-fields", fields, stdin="{{ person.Level }}")

    assert (run.status, run.out) == (0, "{{custom_attribute.${Loyalty}}}"), run.err
    assert "name: klaviyo\n  esp: klaviyo" in fields.read_text()
    assert "several integrations with Klaviyo" in cli(*arguments, "klaviyo", stdin="").failure()
    assert "There is no such integration" in cli(*arguments, 9, stdin="").failure()
    without = cli("convert", "--from", 1, "--to", "braze", stdin="")
    assert "requires --organization" in without.usage_error()


def test_event_data_and_bare_names_are_read_as_the_options_say(cli):
    arguments = ("convert", "--to", "portable", "--from")
    braze = "{{event_properties.${a}}}{{context.${b}}}"

    run = cli(*arguments, "braze", "--sent-by-source", "context", stdin=braze)
    assert run.out == "{{event_properties.${a}}}{{event.b}}"
    run = cli(*arguments, "iterable", "--bare", "event", stdin="{{total}}")
    assert run.out == "{{event.total}}"


def test_values_are_read(cli, tmp_path):
    values = tmp_path / "values.yaml"
    values.write_text("sender.name: Acme\n")
    arguments = ("convert", "--from", "klaviyo", "--to", "braze", "--values", str(values))

    assert cli(*arguments, stdin="{{ organization.name }}").out == "Acme"
    values.write_text("sender: [x]\n")
    assert (
        f"{values}:1:9: The value of sender must be a text." in cli(*arguments, stdin="").failure()
    )
    values.write_text("sender: x\n")
    message = f"{values}:1:9: sender: Use one of link.unsubscribe"
    assert message in cli(*arguments, stdin="").failure()


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ('<a href="{% manage_preferences_link %}">Edit</a>', '<a href="CODE">Edit</a>'),
        ("<p>{% manage_preferences 'A & B' %}</p>", '<p><a href="CODE">A &amp; B</a></p>'),
        ("Edit: {% manage_preferences_link %}", "Edit: CODE"),
    ],
)
def test_a_value_can_be_the_tag_that_the_advice_names(cli, tmp_path, source, converted):
    values, result = tmp_path / "values.yaml", tmp_path / "result.html"
    arguments = ("convert", "--from", "klaviyo", "--to", "braze")
    advised = cli(*arguments, stdin=source)
    assert "Or give `link.preferences` with the option `--values`." in advised.err
    (form,) = re.findall("Write `(.*?)` with this name", advised.err)
    code = form.replace("NAME", "My_Center-1")

    values.write_text(f"link.preferences: {code}\n")
    assert f"{values}:1:" in (
        refused := cli(*arguments, "--values", values, stdin=source).failure()
    )
    assert refused.endswith(" Put a text with code in quotes.")
    values.write_text(f"link.preferences: '{code}'\n")
    run = cli(*arguments, "--values", values, stdin=source)

    assert (run.status, run.out) == (0, converted.replace("CODE", code)), run.err
    result.write_text(run.out)
    cli("organizations", "create", "Shop")
    check = ("content", "check", "--organization", "Shop", "--esp", "braze", result)
    assert cli(*check).status == 0


@pytest.mark.parametrize(
    "value",
    [
        "link.preferences: 'javascript:alert(1)'",
        "link.preferences: 'javascript:{{x}}'",
        "link.preferences: '{{preference_center.${a}}}{{x}}'",
        "link.preferences: '{{preference_center.${a}'",
        "link.preferences: '{{preference_center.${a} b}}'",
        "link.preferences: '{{link.preferences}}'",
        "link.preferences: '*|UNSUB|*'",
        "sender.name: '{% assign x = 1 %}'",
        "sender.name: '{% if x %}a{% endif %}'",
        "sender.name: '{% x %}'",
        "sender.name: '{{recipient.tier | upper}}'",
        "link.preferences: 'https://a.example/\"onclick='",
        "sender.name: ''",
        'sender.name: "a\\nb"',
        "sender.name: '{{recipient.tier}}'",
        "sender.name: '{% if x %}'",
    ],
)
def test_a_value_that_would_break_the_email_is_refused_with_its_line(cli, tmp_path, value):
    values = tmp_path / "values.yaml"
    values.write_text(f"sender.address: Main Street\n{value}\n")

    run = cli("convert", "--from", "klaviyo", "--to", "braze", "--values", values, stdin=SOURCE)

    assert f"{values}:2:{value.index(' ') + 2}: {value.partition(':')[0]}: " in run.failure()
    if "{{x}}" in value or "{%" in value or "recipient" in value:
        assert "Use text without code, or exactly one tag of Braze." in run.err
    assert run.out == ""


@pytest.mark.parametrize(("flags", "allowed"), [((), False), (("--with-values",), True)])
def test_the_document_of_the_fields_can_be_applied(cli, tmp_path, flags, allowed):
    fields = tmp_path / "fields.yaml"
    source = "{% if person|lookup:'Tier A' == 'gold' %}x{% endif %}"
    arguments = ("--from", "klaviyo", "--to", "portable", "--write-fields")
    cli("convert", *arguments, fields, *flags, stdin=source)
    text = fields.read_text()
    cli("organizations", "create", "Shop")
    cli("integrations", "create", "--organization", "Shop", "--esp", "klaviyo", "--name", "Klaviyo")

    run = cli("apply", fields, "--organization", "Shop", "--yes")

    assert run.status == 0, run.err
    assert '"Tier A"' in run.out
    assert ("allowed_values" in text) is allowed
    assert ("# tier_a is compared with: gold\n" in text) is not allowed


def test_the_results_are_printed_as_json(cli):
    (document,) = cli(
        "convert", "--from", "klaviyo", "--to", "braze", "--json", stdin=SOURCE
    ).document()

    assert document["name"] == "<stdin>"
    assert document["content"] == CONVERTED
    assert document["tags"] == {
        "converted": 1,
        "caveat": 0,
        "dropped": 0,
        "by_hand": 0,
        "consequence": 0,
    }
    assert document["fields"] == [{"key": "first_name", "name": "first_name", "data_type": "text"}]


def test_no_storage_is_needed(script, tmp_path):
    run = script("convert", "--from", "klaviyo", "--to", "braze", str(ROOT / EXAMPLE))

    assert run.status == FOUND
    assert "{{${first_name} | escape | default: 'there'}}" in run.out


def test_the_readme_shows_the_result(cli):
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Check")[0]

    run = cli("convert", "--from", "klaviyo", "--to", "braze", ROOT / EXAMPLE)

    for shown in (
        "Hello {{${first_name} | escape | default: 'there'}},",
        '{% if custom_attribute.${loyalty_tier} == "gold" %}',
        '<a href="{{${set_user_to_unsubscribed_url}}}">Unsubscribe</a>',
    ):
        assert shown in readme
        assert shown in run.out
    reported = [line.removeprefix(f"{ROOT}/") for line in run.err.splitlines()]
    for line in re.findall(r"^(?:\d+:\d+|docs/examples/.*?): .*", readme, re.MULTILINE):
        assert any(each.startswith(line) for each in reported), line


def test_a_caveat_is_reported_once_with_its_places_and_the_options_of_the_command(cli):
    source = "{{ person.tier }}{{ event.total }}\n{{ person.tier|upper }}"

    run = cli("convert", "--from", "klaviyo", "--to", "braze", stdin=source)

    assert run.err.count("The name of tier at Braze is assumed.") == 1
    assert "    Also: line 2, column 1.\n" in run.err
    assert "use the option `--sent-by`:" in run.err
    assert "`sent_by`" not in run.err


def test_a_reason_names_the_option_of_the_command(cli):
    run = cli("convert", "--from", "iterable", "--to", "braze", stdin="{{total}}")

    assert run.status == FOUND
    assert "with the option `--bare`." in run.err


@pytest.mark.parametrize(
    ("esp", "source", "reason"),
    [
        ("hubspot", "{{ contact.firstname|upper }}", "HubSpot applies no filters to the"),
        ("hubspot", "{% if contact.tier|lower == 'a' %}x{% endif %}", "HubSpot applies no filters"),
        ("sfmc", '%%=ProperCase(Concat(FirstName, " ", LastName))=%%', "`Concat` joins values"),
        ("sfmc", "%%[IF ProperCase([A]) == 'x' THEN]%%x%%[ENDIF]%%", "`ProperCase` changes this"),
        ("klaviyo", "{% if person.tier|lower == 'a' %}x{% endif %}", "`lower` changes this one."),
        ("braze", "{% if ${tier}|downcase == 'a' %}x{% endif %}", "filters, such as `downcase`."),
        ("iterable", "{{#urlEncode}}{{city}} a{{/urlEncode}}", "`urlEncode` is a tag of Iterable"),
        ("iterable", "{{#upper}}{{city}}{{/upper}}", "`upper` is a tag of Iterable that content"),
        ("iterable", "{{#items}}{{city}}{{/items}}", "`{{#items}}` shows its text for each item"),
        (
            "iterable",
            "{{campaignName}}",
            "`campaignName` is a value that Iterable itself provides.",
        ),
        ("klaviyo", "{% today '%y' %}", "`today` is a value that Klaviyo itself provides."),
        ("braze", "{{campaign.${name}}}", "`campaign.name` is a value that Braze itself provides."),
        ("klaviyo", "<p>{% unsubscribe '{{ x }}' %}</p>", "The text in this tag would be read as"),
        ("klaviyo", "{{ organization.name }}", "Or give `sender.name` with the option `--values`."),
        ("sfmc", "%%Member_Busname%%", "Or give `sender.name` with the option `--values`."),
    ],
)
def test_a_reason_names_what_is_by_hand(cli, esp, source, reason):
    target = "klaviyo" if esp == "braze" else "braze"

    run = cli("convert", "--from", esp, "--to", target, stdin=source)

    assert run.status == FOUND
    assert reason in run.err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("salesforce", "sfmc"),
        ("Salesforce Marketing Cloud", "sfmc"),
        ("customer.io", "customerio"),
        ("active-campaign", "activecampaign"),
        ("klavio", "klaviyo"),
    ],
)
def test_another_name_of_an_esp_has_a_suggestion(cli, name, meant):
    assert f"Did you mean {meant}?" in cli("convert", "--from", name, "--to", "braze").usage_error()
    assert f"Did you mean {meant}?" in cli("convert", "--from", "braze", "--to", name).usage_error()
