"""The command `convert`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ..support.command_line import CommandLine, Run

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs/examples/emails/newsletter.html"
FOUND = 3
SOURCE = "Hi {{ first_name|default:'there' }}"
CONVERTED = "Hi {{${first_name} | default: 'there'}}"


@pytest.fixture
def convert(cli: CommandLine) -> Callable[..., Run]:
    """Return a function that runs the command, by default from Klaviyo to Braze."""

    def convert(*arguments: str | int, source="klaviyo", target="braze", **settings: str) -> Run:
        return cli("convert", "--from", source, "--to", target, *arguments, **settings)

    return convert


@pytest.fixture
def shop(cli: CommandLine) -> tuple[str, str]:
    """Create an organization, and return the options for it."""
    cli("organizations", "create", "Shop")
    return "--organization", "Shop"


def test_without_a_storage_the_result_is_printed_and_the_report_is_on_standard_error(convert, file):
    run = convert(stdin=SOURCE)

    assert (run.status, run.out, run.err) == (0, CONVERTED, "<stdin>: 1 converted\n")
    assert not file.exists()


def test_a_tag_that_is_by_hand_is_reported_with_its_place(convert):
    run = convert(stdin=f"\n{{{{ feeds.a }}}}{SOURCE}")

    assert (run.status, run.out) == (FOUND, f"\n{{{{ feeds.a }}}}{CONVERTED}")
    assert run.err.startswith("2:1: By hand: {{ feeds.a }} This is a member of an object or list")
    assert "<stdin>: 1 converted, 1 by hand" in run.err


def test_code_of_a_third_esp_is_text_of_the_source_with_a_warning(convert):
    run = convert(stdin=f"%%subject%% {SOURCE}")

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
def test_a_comment_stays_if_the_other_esp_has_the_same(convert, source, target, comment, *, kept):
    run = convert(source=source, target=target, stdin=f"a{comment}b")

    assert (run.status, run.out) == (0, f"a{comment}b" if kept else "ab")
    assert run.err == "<stdin>: 1 converted\n"


def test_only_the_statements_of_a_tag_that_are_by_hand_stay(convert):
    statements = 'SET @city = AttributeValue("city")\nSET @offer = Lookup("a", "b")'
    source = f"%%[\n{statements}\n]%%%%=v(@city)=%% %%=v(@offer)=%%"

    run = convert(source="sfmc", target="portable", stdin=source)

    kept = '[BY HAND: line 3]%%[ SET @offer = Lookup("a", "b")\n]%%[END BY HAND]'
    assert run.out == f"{kept}{{{{recipient.city}}}} %%=v(@offer)=%%"
    assert run.err.startswith("3:1: By hand: SET @offer = Lookup")
    assert "2 converted, 2 by hand" in run.err


@pytest.mark.parametrize("target", ["portable", "braze"])
def test_checks_and_exports_reject_a_block_that_is_by_hand(cli, convert, shop, write, target):
    block = "{% if feeds.a %}{{ feeds.b }}{% endif %}"
    write("a.html", convert(target=target, stdin=f"a\n{block}").out.replace(block, "rewritten"))
    esp = () if target == "portable" else ("--esp", target)

    run = cli("content", "check", *shop, *esp, "a.html")

    assert run.status == FOUND
    assert ":2:1: error: This block is by hand: write it " in run.out
    if target == "portable":
        export = cli("content", "export", *shop, "--esp", "braze", "a.html")
        assert (export.status, export.out) == (1, "")
        assert "Line 2, column 1: This block is by hand: write it for Braze" in export.err


def test_strict_writes_nothing_if_a_tag_has_a_caveat(convert, folder):
    options = ("--strict", "--write-fields", "fields.yaml")
    run = convert(*options, stdin="{{ person.tier }}")

    assert (run.status, run.out) == (1, "")
    assert run.err.endswith("Error: Nothing was written, because of --strict.\n")
    assert list(folder.iterdir()) == []
    assert convert(*options, stdin=SOURCE).out == CONVERTED


def test_a_folder_keeps_its_tree(convert, folder, write):
    write("in/a.html", f"\ufeff{SOURCE}")
    write("in/de/b.txt", "{{ feeds.a }}\r\n")

    run = convert("in", "--out", "out")

    assert (run.status, run.out) == (FOUND, "")
    assert (folder / "out/a.html").read_bytes() == f"\ufeff{CONVERTED}".encode()
    assert (folder / "out/de/b.txt").read_bytes() == b"{{ feeds.a }}\r\n"
    first, second, last = run.err.splitlines()
    assert first == "in/a.html: 1 converted"
    assert second.startswith("in/de/b.txt:1:1: By hand: {{ feeds.a }}")
    assert last == "in/de/b.txt: 1 by hand"


def test_of_a_folder_only_templates_are_converted_and_no_results(convert, folder, write):
    for name in ("a.html", "b.liquid"):
        write(name, SOURCE)
    for name in ("logo.png", ".git/index.html"):
        write(name, b"\xff")
    advice = "To read files with other names, add --include PATTERN.\n"

    for _ in range(2):
        run = convert(".", "--out", "out", "--include", "*.liquid")
        assert run.status == 0
        assert run.err.endswith(f"\nLeft out 1 file: logo.png. {advice}")
    assert sorted(each.name for each in (folder / "out").rglob("*")) == ["a.html", "b.liquid"]
    run = convert(".", "--out", "out", "--json")
    assert run.err == f"Left out 2 files: b.liquid, logo.png. {advice}"


def test_a_folder_without_templates_is_an_error(convert, write):
    write("a.liquid", SOURCE)

    error = convert(".", "--out", "out").usage_error()

    assert "Add --include PATTERN for files with other names." in error


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
def test_no_output_replaces_a_template_or_another_output(convert, folder, write, arguments):
    write("a.html", SOURCE)
    (folder / "link.html").symlink_to("a.html")

    run = convert(*arguments)

    assert run.status == 1
    assert "The command also reads or writes this file for something else." in run.err
    assert (folder / "a.html").read_text() == SOURCE
    assert not (folder / "names.yaml").exists()


def test_the_results_of_a_folder_can_be_above_it(convert, folder, write):
    write("in/a.html", SOURCE)

    assert convert("in", "--out", ".").status == 0
    assert (folder / "a.html").read_text() == CONVERTED


def test_a_folder_and_several_templates_require_a_folder_of_results(convert, write):
    write("in/a.html", SOURCE)
    write("b.html", SOURCE)

    for paths in (["in"], ["in/a.html", "b.html"]):
        message = "Add --out FOLDER for a folder, or for several templates."
        assert message in convert(*paths).usage_error()
    assert convert("in/a.html").out == CONVERTED


BROKEN = {
    "not UTF-8": (b"\xff", "The file is not UTF-8: byte 1. Save it as UTF-8."),
    "binary": (b"\0{{ first_name }}", "Remove the null character or lone surrogate"),
    "of another ESP": (b"*|FNAME|*", "It can be one of Mailchimp (mailchimp)."),
}


@pytest.mark.parametrize(("content", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_converted_is_reported_and_the_others_are_converted(
    cli, convert, folder, write, content, reason
):
    out = folder / "out"
    write("in/a.html", content)
    write("in/b.html", SOURCE)
    write("in/empty.html", "")

    run = convert("in", "--out", "out", "--strict")
    assert (run.status, out.exists()) == (1, False)
    run = convert("in", "--out", "out")
    assert run.status == 1
    results = {each.name: each.read_text() for each in out.iterdir()}
    assert results == {"b.html": CONVERTED, "empty.html": ""}
    first, *_, last = run.err.splitlines()
    assert first.startswith("in/a.html: ")
    assert reason in first
    assert last == "Error: Not converted: 1 of 3 templates."
    *converted, failed = json.loads(convert("in", "--json").out)
    assert [each["name"] for each in converted] == ["in/b.html", "in/empty.html"]
    assert reason in failed["violations"][0]["message"]
    alone = convert("in/a.html")
    assert (alone.status, alone.out) == (1, "")
    assert alone.err.endswith("Error: Nothing was converted.\n")
    without = cli("convert", "--to", "braze", "in", "--out", "out")
    assert "Missing option '--from'" in without.usage_error()


def test_links_are_read_and_those_in_a_circle_are_not(convert, folder, write):
    write("outside.html", SOURCE)
    (folder / "in").mkdir()
    for link, target in {
        "in/a.html": "../outside.html",
        "in/circle.html": "circle.html",
        "in/again": ".",
        "loop": "loop",
    }.items():
        (folder / link).symlink_to(target)

    run = convert("in", "--out", "out")
    assert (run.status, [each.name for each in (folder / "out").iterdir()]) == (1, ["a.html"])
    assert "in/circle.html: This link leads to no file. Correct or remove it." in run.err
    assert "Left out" not in run.err
    assert not (folder / "out/a.html").is_symlink()
    assert "Can't write" in convert("in", "--out", "loop").err


def test_a_link_to_another_folder_is_reported_and_the_rest_is_converted(convert, folder, write):
    write("in/in.html", SOURCE)
    write("shared/shared.html", SOURCE)
    (folder / "in/link").symlink_to("../shared")
    (folder / "in/.cache").symlink_to("..")

    run = convert("in", "--out", "out")
    assert (run.status, [each.name for each in (folder / "out").iterdir()]) == (1, ["in.html"])
    reported, *_, last = run.err.splitlines()
    reason = "Links to folders are not followed. Give the path of the folder itself, too."
    assert reported == f"in/link: {reason}"
    assert last == "Error: Not converted: 1 of 2 templates."
    *_, failed = json.loads(convert("in", "--json").out)
    assert failed["name"] == "in/link"
    assert failed["violations"][0]["message"] == reason
    assert convert("in", "shared", "--out", "out").status == 0
    (folder / "in/results").symlink_to("../out")
    assert convert("in", "shared", "--out", "in/results").status == 0


def test_others_can_read_new_files_as_the_system_permits(convert, folder, write):
    write("a", "")

    assert convert("--write-fields", "fields", "--out", "out", stdin=SOURCE).status == 0
    written = (*(folder / "out").iterdir(), folder / "fields")
    assert {each.stat().st_mode for each in written} == {(folder / "a").stat().st_mode}


def test_two_templates_with_one_place_are_refused(convert, write):
    for name in ("de", "en"):
        write(f"{name}/a.html", SOURCE)

    message = convert("de", "en", "--out", "out").usage_error()

    assert "Two templates have the name a.html. Convert them in two calls" in message


def test_without_from_the_command_proposes_dialects(cli):
    run = cli("convert", "--to", "braze", stdin="{{ person|lookup:'x' }}")

    assert "The templates can be those of --from klaviyo." in run.usage_error()


def test_a_template_of_another_esp_is_refused(convert):
    run = convert(stdin="*|FNAME|*")

    assert (run.status, run.out) == (1, "")
    assert "This is no template of Klaviyo. It can be one of Mailchimp (mailchimp)." in run.err


def test_names_are_written_to_be_corrected_and_read_again(convert, folder, write):
    convert("--write-names", "names", stdin="{{ person.TIER }}")
    assert (folder / "names").read_text() == "TIER: tier\n"
    write("names", "TIER: loyalty_tier\n")
    run = convert("--names", "names", target="portable", stdin="{{ person.TIER }}")

    assert run.out == "{{recipient.loyalty_tier}}"


def test_a_name_that_no_template_has_is_reported(convert, write):
    names = "ITER: tier\nlevel: loyalty_level\nin block: kept\n"
    write("names", names)
    block = "{% if feeds.a %}{{ x|lookup:'in block' }}{% endif %}"
    write("in/a.html", f"{{{{ person.TIER }}}}{block}")
    write("in/b.html", "{{ person.level }}")
    arguments = ("in", "--names", "names")

    run = convert(*arguments, "--out", "out", target="portable")

    assert "Warning: names: No template has the name `ITER`. Did you mean TIER?\n" in run.err
    assert run.err.count("Warning") == 1
    first, second = json.loads(convert(*arguments, "--json", target="portable").out)
    assert first["unused_names"] == ["ITER", "level"]
    assert second["unused_names"] == ["ITER", "in block"]
    write("names", "person.level: loyalty_level\n")
    run = convert(*arguments, "--out", "out", target="portable")
    assert "has the name `person.level`. Use --write-names FILE for those that they" in run.err


def test_a_key_that_is_none_is_an_error_with_its_line(convert, write):
    write("names", "TIER: Loyalty tier\n")

    failure = convert("--names", "names", stdin=SOURCE).failure()

    assert "names:1:7: TIER: Use lower-case letters" in failure
    assert "Did you mean loyalty_tier?" in failure


def test_names_ignore_case_where_the_language_does(convert, write):
    write("names", "loyaltytier: level\n")
    text = "%%LoyaltyTier%% %%LOYALTYTIER%%"

    run = convert("--names", "names", source="sfmc", target="portable", stdin=text)

    assert run.out == "{{recipient.level}} {{recipient.level}}"
    assert "Warning" not in run.err


def test_a_key_that_is_too_long_for_the_target_has_a_short_name(convert, folder, write):
    source = "{{ person.loyalty_status }} {{ person.loyalty_state }} {{ person.tier }}"

    run = convert("--write-names", "names", target="mailchimp", stdin=source)

    assert (run.status, run.out) == (0, "*|LOYALTY_ST|* *|LOYALTY_2|* *|TIER|*")
    reason = "The name LOYALTY_ST of loyalty_status at Mailchimp is assumed. Compare it with the"
    assert f"1:1: Caveat: {{{{ person.loyalty_status }}}} {reason}" in run.err
    assert "in a file of names, as in `loyalty_status: loyalty_st`.\n" in run.err
    names = (folder / "names").read_text()
    write("names", names.replace("loyalty_status: loyalty_status", "loyalty_status: level"))
    run = convert("--names", "names", target="mailchimp", stdin=source)
    assert run.out == "*|LEVEL|* *|LOYALTY_ST|* *|TIER|*"


def test_the_names_are_those_of_an_organization(cli, convert, shop, folder):
    cli("fields", "create", *shop, "--name", "Tier", "--data-type", "text")
    for number, (esp, name) in enumerate(
        (("klaviyo", "TIER"), ("braze", "Loyalty"), ("klaviyo", "Level")), 1
    ):
        cli("integrations", "create", *shop, "--esp", esp, "--name", esp)
        cli("integrations", "names", number, "--set", f"tier={name}", *shop)

    run = convert(*shop, "--write-fields", "fields", source=3, stdin="{{ person.Level }}")

    assert (run.status, run.out) == (0, "{{custom_attribute.${Loyalty}}}"), run.err
    assert "name: klaviyo\n  esp: klaviyo" in (folder / "fields").read_text()
    assert "several integrations with Klaviyo" in convert(*shop, stdin="").failure()
    assert "There is no such integration" in convert(*shop, source=9, stdin="").failure()
    assert "requires --organization" in convert(source=1, stdin="").usage_error()


def test_event_data_and_bare_names_are_read_as_the_options_say(convert):
    braze = "{{event_properties.${a}}}{{context.${b}}}"
    for source, options, text, converted in (
        ("braze", ["--sent-by-source", "context"], braze, "{{event_properties.${a}}}{{event.b}}"),
        ("iterable", ["--bare", "event"], "{{total}}", "{{event.total}}"),
    ):
        assert convert(*options, source=source, target="portable", stdin=text).out == converted


def test_values_are_read(convert, write):
    for values, outcome in {
        "sender.name: Acme": "Acme",
        "sender: [x]": "values:1:9: The value of sender must be a text.",
        "sender: x": "values:1:9: sender: Use one of link.unsubscribe",
    }.items():
        write("values", f"{values}\n")
        run = convert("--values", "values", stdin="{{ organization.name }}")
        assert outcome == run.out if outcome == "Acme" else outcome in run.failure()


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ('<a href="{% manage_preferences_link %}">Edit</a>', '<a href="CODE">Edit</a>'),
        ("<p>{% manage_preferences 'A & B' %}</p>", '<p><a href="CODE">A &amp; B</a></p>'),
        ("Edit: {% manage_preferences_link %}", "Edit: CODE"),
    ],
)
def test_a_value_can_be_the_tag_that_the_advice_names(cli, convert, shop, write, source, converted):
    advised = convert(stdin=source)
    assert "Or give `link.preferences` with the option `--values`." in advised.err
    (form,) = re.findall("Write `(.*?)` with this name", advised.err)
    code = form.replace("NAME", "My_Center-1")

    write("values", f"link.preferences: {code}\n")
    refused = convert("--values", "values", stdin=source).failure()
    assert "values:1:" in refused
    assert refused.endswith(" Put a text with code in quotes.")
    write("values", f"link.preferences: '{code}'\n")
    run = convert("--values", "values", stdin=source)

    assert (run.status, run.out) == (0, converted.replace("CODE", code)), run.err
    write("result.html", run.out)
    assert cli("content", "check", *shop, "--esp", "braze", "result.html").status == 0


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
def test_a_value_that_would_break_the_email_is_refused_with_its_line(convert, write, value):
    write("values", f"sender.address: Main Street\n{value}\n")

    failure = convert("--values", "values", stdin=SOURCE).failure()

    assert f"values:2:{value.index(' ') + 2}: {value.partition(':')[0]}: " in failure
    if "{{x}}" in value or "{%" in value or "recipient" in value:
        assert "Use text without code, or exactly one tag of Braze." in failure


@pytest.mark.parametrize(("flags", "allowed"), [((), False), (("--with-values",), True)])
def test_the_document_of_the_fields_can_be_applied(cli, convert, shop, folder, flags, allowed):
    source = "{% if person|lookup:'Tier A' == 'gold' %}x{% endif %}"
    convert("--write-fields", "fields", *flags, target="portable", stdin=source)
    text = (folder / "fields").read_text()
    cli("integrations", "create", *shop, "--esp", "klaviyo", "--name", "Klaviyo")

    run = cli("apply", "fields", *shop, "--yes")

    assert run.status == 0, run.err
    assert '"Tier A"' in run.out
    assert ("allowed_values" in text) is allowed
    assert ("# tier_a is compared with: gold\n" in text) is not allowed


def test_the_results_are_printed_as_json(convert):
    (document,) = convert("--json", stdin=SOURCE).document()

    assert document["name"] == "<stdin>"
    assert document["content"] == CONVERTED
    others = dict.fromkeys(("caveat", "dropped", "by_hand", "consequence"), 0)
    assert document["tags"] == {"converted": 1, **others}
    assert document["fields"] == [{"key": "first_name", "name": "first_name", "data_type": "text"}]


def test_the_readme_shows_the_result(convert):
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Check")[0]

    run = convert(EXAMPLE)

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


def test_a_caveat_is_reported_once_with_its_places_and_the_options_of_the_command(convert):
    run = convert(stdin="{{ person.tier }}{{ event.total }}\n{{ person.tier|upper }}")

    assert run.err.count("The name of tier at Braze is assumed.") == 1
    assert "    Also: line 2, column 1.\n" in run.err
    assert "use the option `--sent-by`:" in run.err
    assert "`sent_by`" not in run.err


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
            "`campaignName` is a value that Iterable itself",
        ),
        ("iterable", "{{total}}", "with the option `--bare`."),
        ("klaviyo", "{% today '%y' %}", "`today` is a value that Klaviyo itself provides."),
        ("braze", "{{campaign.${name}}}", "`campaign.name` is a value that Braze itself provides."),
        ("klaviyo", "<p>{% unsubscribe '{{ x }}' %}</p>", "The text in this tag would be read as"),
        ("klaviyo", "{{ organization.name }}", "Or give `sender.name` with the option `--values`."),
        ("sfmc", "%%Member_Busname%%", "Or give `sender.name` with the option `--values`."),
    ],
)
def test_a_reason_names_what_is_by_hand_and_the_option_for_it(convert, esp, source, reason):
    run = convert(source=esp, target="klaviyo" if esp == "braze" else "braze", stdin=source)

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
def test_another_name_of_an_esp_has_a_suggestion(convert, name, meant):
    for run in (convert(source=name), convert(source="braze", target=name)):
        assert f"Did you mean {meant}?" in run.usage_error()
