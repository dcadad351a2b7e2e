"""The page that exports content and previews it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import unescape
from threading import Event, Thread
from typing import Any

import pytest
from attrs import frozen
from falcon.media.multipart import MultipartParseOptions

from recipient_fields.domain import DataType, IntegrationId
from recipient_fields.domain.content import read_content
from recipient_fields.domain.esp import BUILT_IN, Esp
from recipient_fields.domain.integrations import EspField
from recipient_fields.entrypoints.console.content import SHOWN_PLACES, SHOWN_VALUES
from recipient_fields.entrypoints.console.email_frame import EMAIL_POLICY

from ..support.waiting import eventually
from .browser import Browser, Response
from .conftest import Console
from .hostile_texts import HOSTILE

LETTER = """Hello {{recipient.first_name | default: "there"}}.
{{#if recipient.visits > 3}}You are a regular.{{/if}}"""


@frozen
class Editor:
    """The page that exports content, in a browser of an administrator."""

    console: Console
    browser: Browser

    @property
    def path(self) -> str:
        return f"/console/o/{self.console.acme.id}/content"

    def open(self) -> Response:
        return self.browser.get(self.path)

    def export(self, content: str, target: str, **changes: str) -> Response:
        """Fill in the form of an empty page, and submit it."""
        return self.browser.submit(self.open(), {"content": content, "target": target, **changes})

    def preview(self, page: Response, **changes: str) -> Response:
        """Load the frame with changed inputs."""
        inputs = {**dict(page.form().inputs), **changes}
        return self.browser.post(f"{self.path}/preview", list(inputs.items()))

    def previewed(self, page: Response, **changes: str) -> str:
        """Return the text in the frame."""
        html = self.preview(page, **changes).html
        return unescape(html.partition("<pre>")[2].partition("</pre>")[0])


@pytest.fixture
def editor(console: Console, dana: Browser) -> Editor:
    return Editor(console, dana)


@pytest.fixture
def braze(console: Console) -> str:
    first_name = EspField(name="first_name", label="First name", data_type=DataType.TEXT)
    visits = EspField(name="visits", label="Visits", data_type=DataType.NUMBER)
    return str(console.add_integration("braze", "Emails", first_name, visits).id)


def exported(page: Response, target: str = "") -> str:
    """Return the text of the read-only text area for this target, or of the first one."""
    start = page.html.index(f'readonly aria-labelledby="exported-{target}')
    area = page.html[start:].partition(">\n")[2].partition("</textarea>")[0]
    return unescape(area)


def test_content_is_exported_and_previewed_with_sample_values(editor, braze):
    page = editor.export(LETTER, braze)

    assert page.status == 200
    assert exported(page) == (
        "Hello {{custom_attribute.${first_name} | default: 'there'}}.\n"
        "{% assign visits_number = custom_attribute.${visits} | plus: 0 %}"
        "{% if visits_number > 3 %}"
        "You are a regular.{% endif %}"
    )
    assert editor.previewed(page) == "Hello First name.\n"
    assert "No warnings" in page.text
    assert [name for name, _ in page.form().inputs if name.startswith("value.")] == [
        "value.first_name",
        "value.visits",
    ]
    assert page.form().value("content") == LETTER.replace("\n", "\r\n")
    assert page.form().value("target") == braze


def test_the_surface_is_found_or_chosen(editor):
    assert "Braze Text Copy" in editor.export("Hello", "braze").text
    assert "Braze HTML Copy" in editor.export("<p>Hello</p>", "braze").text

    page = editor.export("<p>Hello</p>", "braze", surface="subject")

    assert "Braze Subject Copy" in page.text
    assert page.form().value("surface") == "subject"


def test_html_in_values_is_escaped_unless_the_esp_shows_it_as_it_does(editor, dana, braze):
    page = editor.export("<p>{{recipient.first_name}}</p>", braze)
    assert "{{custom_attribute.${first_name} | escape}}" in exported(page)
    assert page.form().values("raw") == []

    page = dana.submit(page, {"raw": "true"})

    assert exported(page) == "<p>{{custom_attribute.${first_name}}}</p>"
    assert page.form().values("raw") == ["true"]


@pytest.mark.parametrize(
    ("now", "year"),
    [
        (datetime(2026, 12, 31, 23, 59, 59, tzinfo=UTC), "2026"),
        (datetime(2027, 1, 1, tzinfo=UTC), "2027"),
    ],
)
def test_the_preview_shows_links_the_sender_the_address_and_the_year(console, now, year):
    content = "{{link.unsubscribe}} {{sender.name}} {{recipient.email}} {{today.year}}"
    console.clock.now = now
    editor = Editor(console, console.signed_in())
    page = editor.export(content, "iterable")
    assert exported(page) == ('{{unsubscribeUrl}} {{companyName}} {{email}} {{now format="yyyy"}}')
    assert editor.previewed(page) == (
        f"https://example.com/unsubscribe Example Company recipient@example.com {year}"
    )


def test_the_sample_values_can_be_changed(editor, dana, braze):
    page = editor.export(LETTER, braze)

    page = dana.submit(page, {"value.first_name": "", "value.visits": "4"})

    assert editor.previewed(page) == "Hello there.\nYou are a regular."
    assert page.form().value("value.first_name") == ""
    assert page.form().value("value.visits") == "4"


def test_sample_values_fit_their_fields(editor, console):
    fields: dict[str, dict[str, Any]] = {
        "a": {"data_type": "text"},
        "b": {"data_type": "number"},
        "c": {"data_type": "boolean"},
        "d": {"data_type": "date"},
        "e": {"data_type": "datetime"},
        "f": {"data_type": "text", "allowed_values": ["gold", "silver"]},
        "g": {"data_type": "number", "allowed_values": [0.5]},
    }
    for key, members in fields.items():
        console.add_field(key=key, custom_insertion_code=f"*|{key.upper()}|*", **members)
    content = " ".join(f"{{{{recipient.{key}}}}}" for key in fields)

    page = editor.export(content, "mailchimp")

    assert editor.previewed(page) == ("Shop 3 true 2026-11-20 2026-11-20T09:15:00.000Z gold 0.5")


def test_wrong_sample_values_are_reported_in_the_preview(editor, braze):
    page = editor.export(LETTER, braze)

    assert editor.previewed(page, **{"value.visits": "many"}) == (
        "There is no preview. Correct these sample values:\n"
        "visits: Write a number like 1234.5, without thousands separators."
    )
    changes = {"value.visits": "4", "value.first_name": "Ada"}
    assert editor.previewed(page, **changes) == "Hello Ada.\nYou are a regular."


def test_a_sample_value_that_is_not_allowed_is_shown_and_kept(editor, console, dana):
    console.add_field(
        key="sport", allowed_values=["sports", "dance"], custom_insertion_code="*|S|*"
    )
    content = '{{recipient.sport}}: {{#if recipient.sport = "sports"}}game{{else}}swing{{/if}}'
    page = editor.export(content, "mailchimp")

    page = dana.submit(page, {"value.sport": "Sports"})

    assert editor.previewed(page) == "Sports: swing"
    values = [a["value"] for tag, a in page.tags if tag == "option"][-4:]
    assert values == ["", "sports", "dance", "Sports"]


def test_sample_values_have_inputs_of_their_types(editor, console):
    for key in ("number", "date", "boolean", "text"):
        console.add_field(key=key, data_type=key, custom_insertion_code=f"*|{key.upper()}|*")
    content = "{{recipient.number}} {{recipient.date}} {{recipient.boolean}} {{recipient.text}}"

    page = editor.export(content, "mailchimp")

    shown = [(tag, a) for tag, a in page.tags if (a.get("name") or "").startswith("value.")]
    assert [(tag, a.get("type")) for tag, a in shown] == [
        ("input", "number"),
        ("input", "date"),
        ("select", None),
        ("input", "text"),
    ]


def test_another_example_shows_the_next_branch(editor, dana, braze):
    page = editor.export(LETTER, braze)
    assert editor.previewed(page) == "Hello First name.\n"

    page = dana.submit(page, press=("action", "example"))
    assert editor.previewed(page) == "Hello First name.\nYou are a regular."
    assert page.form().value("value.visits") == "4"

    page = dana.submit(page, press=("action", "example"))
    assert editor.previewed(page) == "Hello First name.\n"
    page = editor.export("Hello {{recipient.first_name}}", braze)
    assert "Another example" not in page.text


def test_the_preview_has_a_policy_and_is_shown_in_the_frame_of_the_page_only(editor, dana, braze):
    page = editor.export("<p>Hello</p>", braze)

    frame = editor.preview(page)

    assert frame.headers["content-security-policy"] == EMAIL_POLICY
    assert frame.headers["x-frame-options"] == "SAMEORIGIN"
    assert frame.headers["cache-control"] == "no-store"
    assert page.headers["x-frame-options"] == "DENY"
    refused = dana.post(f"{editor.path}/preview", [("content", "x")])
    assert refused.status == 403
    assert refused.headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in refused.headers["content-security-policy"]


def test_the_preview_is_a_rendered_email_or_a_text(editor, braze):
    content = (
        '<style>p { color: red; background: url("https://x.example/a") }</style><title>T</title>'
        '<p style="color: #111" onclick="x()">Hello {{recipient.first_name}} &amp; <b>you</b></p>'
        '<img src="https://x.example/a.png" width="200" alt="Our shop">'
        '<p><a href="https://x.example/" ping="https://x.example/p">Shop</a></p>'
        "<script>alert(1)</script>"
    )
    page = editor.export(content, braze)

    frame = editor.preview(page)

    assert '<p style="color: #111">Hello First name &amp; <b>you</b></p>' in frame.html
    assert '<span class="rf-image" style="width:200px;">Our shop</span>' in frame.html
    assert '<a href="#" title="https://x.example/">Shop</a>' in frame.html
    assert re.findall(r"alert|onclick|ping=|src=|url\(|<title>T", frame.html) == []
    assert editor.previewed(page, view="text") == ("Hello First name & you\n[Our shop]\nShop")


def test_content_without_an_export_has_no_preview(editor, braze):
    page = editor.export(LETTER, braze)
    reason = "There is no preview, because the content can't be exported. Correct it first."
    for changes in ({"content": "{{recipient.none}}"}, {"content": "{{#if"}, {"target": "none"}):
        assert editor.previewed(page, **changes).startswith(reason)


def test_exported_content_is_downloaded(editor, dana, braze):
    page = editor.export("<p>{{recipient.first_name}}</p>", braze)

    file = dana.submit(page, press=("download", braze))

    assert file.html == "<p>{{custom_attribute.${first_name} | escape}}</p>"
    assert file.headers["content-disposition"] == 'attachment; filename="content-braze.html"'
    wrong = dana.submit(page, {"content": "{{recipient.none}}"}, press=("download", braze))
    assert "The content was not exported: correct 1 place" in wrong.text


def test_the_menu_lists_fields_conditions_and_links(editor, console, braze):
    console.add_field(key="sport", name="Favourite sport", allowed_values=["ball", "dance"])
    console.add_field(key="hidden", name="Hidden", insertable=False)

    page = editor.open()

    items = {
        a["data-inserts"]: a.get("data-condition") for _, a in page.tags if "data-inserts" in a
    }
    assert items["{{recipient.sport}}"] == '{{#if recipient.sport = "ball"}}'
    assert items["{{recipient.visits}}"] == "{{#if recipient.visits is set}}"
    assert items[""] == "{{#if recipient.hidden is set}}"
    assert "{{link.unsubscribe}}" in items
    assert all(read_content(str(each).replace("KEY", "sport")).violations == () for each in items)
    assert "Favourite sport {{recipient.sport}} text" in page.text


def test_an_email_of_an_esp_is_converted(editor, dana, braze):
    text = "Hello {{custom_attribute.${first_name} | default: 'there'}}. {{custom_attribute.${x}}}"
    form = {"content": text, "source": braze}

    page = dana.submit(editor.open(), form, press=("action", "convert"))

    assert page.status == 200
    assert "The email is content now: 2 tags read." in page.text
    assert "Converted, except for 1 tag by hand By hand: Line 1:" in page.text
    assert page.form().value("content").startswith("Hello {{recipient.first_name | default:")
    assert page.form().value("content").endswith("{{custom_attribute.${x}}}")
    page = dana.submit(page, {"content": "*|FNAME|*", "source": braze}, press=("action", "convert"))
    assert page.status == 422
    assert "The content was not exported: correct 1 place" in page.text


def test_fields_are_searched_without_a_script(editor, dana, braze):
    form = {"content": LETTER, "find": "first"}

    page = dana.submit(editor.open(), form, press=("action", "find"))

    assert page.status == 200
    listed = [a["data-inserts"] for _, a in page.tags if "data-condition" in a]
    assert listed == ["{{recipient.first_name}}"]
    assert page.form().value("content") == LETTER.replace("\n", "\r\n")
    assert "Update preview" not in page.text


def test_warnings_have_kinds_lines_and_columns(editor, braze):
    content = "Hello\n{{recipients.first_name}}  {{ city }} {{ city }}"
    page = editor.export(content, braze, allow_mistakes="true")

    assert page.status == 200
    assert page.form().values("allow_mistakes") == ["true"]
    assert "1 mistake in the exported content" in page.text
    assert "Mistake: Line 2: This looks like a reference" in page.text
    assert "1 thing to know" in page.text
    assert "Note: Line 2: Braze shows nothing for `city`" in page.text
    assert "Also: line 2, column 39." in page.text
    assert "Sample values" not in page.text


def test_content_with_a_mistake_is_exported_only_if_the_form_permits_it(editor, dana, braze):
    content = "Hello\n*|FNAME|*, {{recipient.first_name}}, {{ city }}"
    page = editor.export(content, braze)

    assert page.status == 422
    assert "The content was not exported: correct 1 place" in page.text
    assert "Mistake: Line 2: Braze does not read this code of Mailchimp." in page.text
    assert "Preview" not in page.text
    assert page.form().values("allow_mistakes") == []

    page = dana.submit(page, press=("allow_mistakes", "true"))

    assert page.status == 200
    assert exported(page).startswith("Hello\n*|FNAME|*, {{custom_attribute.")
    assert "Mistake: Line 2: " in page.text
    assert page.form().values("allow_mistakes") == ["true"]


def test_invalid_content_is_reported_with_lines_and_columns(editor, braze):
    page = editor.export("Hello\n{{recipient.first_nam}}, {{#if recipient.x > 1}}", braze)

    assert page.status == 422
    assert "The content was not exported: correct 3 places" in page.text
    assert "Line 2: This block has no {{/if}}. {{recipient.first_nam}}" in page.text
    assert (
        "Line 2: There is no field with the key first_nam. Did you mean first_name?"
        " {{recipient.first_nam}}"
    ) in page.text
    assert "Line 2: There is no field with the key x." in page.text
    assert page.form().value("target") == braze


def test_sample_values_outlive_content_that_can_not_be_exported(editor, dana, braze):
    page = dana.submit(editor.export(LETTER, braze), {"value.first_name": "Ada"})
    page = dana.submit(page, {"content": "{{#if recipient.visits > 3}}"})
    assert page.status == 422

    page = dana.submit(page, {"content": LETTER})

    assert editor.previewed(page) == "Hello Ada.\n"


def test_each_integration_and_each_other_esp_is_a_target(editor, console, braze):
    console.add_integration("braze", "Other emails")

    page = editor.open()

    options = [a["value"] for tag, a in page.tags if tag == "option"]
    others = [esp for esp in BUILT_IN.esps if esp != Esp("braze")]
    assert options[:3] == ["all", "1", "2"]
    assert options[3 : 3 + len(others)] == others
    assert options[-4:] == ["", "html", "text", "subject"]
    assert (
        "All integrations Emails (Braze) Other emails (Braze) Salesforce Marketing Cloud"
        in page.text
    )


@pytest.mark.parametrize("target", ["", "braze", "999", "1 "])
def test_a_target_that_is_no_option_is_reported(editor, braze, target):
    page = editor.export(LETTER, target)

    assert page.status == 422
    assert "Export for: Choose an integration or an email service provider." in page.text
    assert page.form().value("content") == LETTER.replace("\n", "\r\n")


def test_a_key_means_the_field_of_the_chosen_integration(editor, console):
    console.add_integration("braze", "First", "tier")
    number = EspField(name="tier", label="Tier", data_type=DataType.NUMBER)
    second = console.add_integration("customerio", "Second", number)

    content = "{{recipient.tier}}{{#if recipient.tier > 2}}+{{/if}}"
    page = editor.export(content, str(second.id))

    assert exported(page).startswith("{{customer.tier}}")
    assert editor.previewed(page) == "3+"
    assert "recipient.tier means tier_2 here, a field of this integration." in page.text


def test_all_integrations_have_a_tab_each(editor, console, dana):
    console.add_integration("braze", "Emails", "loyalty_tier")
    console.add_integration("klaviyo", "Shop", "Loyalty Tier")
    console.add_integration("mailchimp", "List")
    braze, klaviyo, list_id = "123"

    page = editor.export("{{recipient.loyalty_tier}}", "all")

    assert page.status == 200
    assert exported(page, braze) == "{{custom_attribute.${loyalty_tier}}}"
    assert exported(page, klaviyo).startswith("{{ person|lookup:'Loyalty Tier'")
    assert "Not exported for List (Mailchimp): correct 1 place" in page.text
    tabs = [a["value"] for tag, a in page.tags if tag == "input" and a.get("name") == "tab"]
    assert tabs == [braze, klaviyo, list_id]
    assert editor.previewed(page) == "loyalty_tier"

    chosen = dana.submit(page, {"tab": klaviyo})

    checked = [a["value"] for tag, a in chosen.tags if "checked" in a and a.get("name") == "tab"]
    assert checked == [klaviyo]


def test_content_that_no_integration_can_export_is_reported_in_each_tab(editor, console):
    console.add_integration("braze", "Emails")
    console.add_integration("klaviyo", "Shop")

    page = editor.export("{{recipient.tier}}", "all")

    assert page.status == 422
    assert page.text.count("There is no field with the key tier.") == 2
    assert page.form().value("target") == "all"


def test_the_sample_value_of_a_field_is_kept_while_the_content_does_not_use_it(editor, dana, braze):
    page = dana.submit(editor.export(LETTER, braze), {"value.visits": "4"})

    page = dana.submit(page, {"content": "Hello {{recipient.first_name}}"})
    page = dana.submit(page, {"content": LETTER})

    assert page.form().values("value.visits") == ["4"]


def test_a_viewer_exports_content(console, viewer, braze):
    editor = Editor(console, viewer)

    assert editor.previewed(editor.export(LETTER, braze)) == "Hello First name.\n"


def test_long_lists_are_limited(editor, console):
    count = SHOWN_VALUES + 5
    for number in range(count):
        console.add_field(name=f"F{number}", key=f"f{number}", custom_insertion_code="*|A|*")
    content = " ".join(f"{{{{recipient.f{number}}}}}" for number in range(count))

    page = editor.export(content, "mailchimp")

    assert (
        len([name for name, _ in page.form().inputs if name.startswith("value.")]) == SHOWN_VALUES
    )
    assert len(page.form().inputs) <= MultipartParseOptions().max_body_part_count
    assert editor.previewed(page).endswith(f"F{count - 2} F{count - 1}")

    content = "{{recipients.f1}}\n" * (SHOWN_PLACES + 1)
    page = editor.export(content, "mailchimp", allow_mistakes="true")
    assert f"{SHOWN_PLACES + 1} mistakes in the exported content" in page.text
    assert "And 1 other place." in page.text

    page = editor.export("{{recipient.none}}\n" * (SHOWN_PLACES + 2), "mailchimp")
    assert f"correct {SHOWN_PLACES + 2} places" in page.text
    assert "And 2 other places." in page.text


def test_a_preview_that_is_too_long_is_refused(editor, braze):
    page = editor.export(LETTER, braze)
    changes = {"content": "{{recipient.first_name}}" * 5_000, "value.first_name": "x" * 1_000}

    text = editor.previewed(page, **changes)

    assert "The preview would have more than 4,194,304 characters." in text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_texts_are_only_shown(editor, console, dana, braze, text):
    console.core.integrations.rename_integration(console.acme.id, IntegrationId(int(braze)), text)
    harmless = editor.export(f"{LETTER} harmless", braze, allow_mistakes="true")

    page = editor.export(f"{LETTER} {text}", braze, allow_mistakes="true")
    submitted = dana.submit(page, {"value.first_name": text})

    start = f"Hello First name.\n {text}"
    if "HTML Copy" in page.text:
        assert "<script" not in editor.preview(page).html
    else:
        assert editor.previewed(page) == start
        value = {"value.first_name": text}
        assert editor.previewed(page, **value) == f"Hello {text}.\n {text}"
    tags = [tag for tag, _ in harmless.tags]
    assert [tag for tag, _ in page.tags][: len(tags) // 2] == tags[: len(tags) // 2]
    for each in (page, submitted):
        assert [tag for tag, _ in each.tags if tag in {"img", "style"}] == []
        assert len([tag for tag, _ in each.tags if tag == "script"]) == 1


def test_the_ids_of_the_page_are_unique(editor, braze):
    page = editor.export("{{recipient.first_nam}}", braze)

    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert editor.open().links["Skip to content"] == "#main"


def test_literals_stay_without_a_warning(editor, dana, braze):
    page = editor.export("*|CITY|* [[name]]", braze)
    assert "correct 2 places" in page.text
    page = dana.submit(page, {"literals": "*|CITY|*\n\n [[name]] "})
    assert "No warnings" in page.text
    assert page.form().value("literals").split() == ["*|CITY|*", "[[name]]"]


def test_event_data_is_exported_and_previewed(editor, braze):
    page = editor.export("{{event.a}}", braze, sent_by="context", event='{"a": "b"}')
    assert exported(page) == "{{context.${a}}}"
    assert "Event data: a" in " ".join(page.text.split())
    assert editor.previewed(page).strip() == "b"
    branch = editor.export("{{#if event.a > 1}}b{{/if}}", braze, event='{"a": 2}')
    assert editor.previewed(branch).strip() == "b"
    for text in ("[]", "{"):
        page = editor.export("{{event.a}}", braze, event=text)
        assert page.status == 422
        assert "Event data: " in page.text


def test_there_is_a_maximum_number_of_literals(editor, braze):
    literals = "\n".join(f"[[{number}]]" for number in range(100))
    assert editor.export("a", braze, literals=literals).status == 200
    page = editor.export("a", braze, literals=f"{literals}\nb\n{'c' * 1_001}")
    assert page.status == 422
    assert "Literals: There are at most 100 literals." in page.text
    page = editor.export("a", braze, literals="c" * 1_001)
    assert "Literals: A literal has at most 1,000 characters." in page.text
    assert page.form().value("content").strip() == "a"


def test_a_sample_value_has_a_maximum_length(editor, braze):
    page = editor.export(LETTER, braze)
    text = editor.previewed(page, **{"value.first_name": "x" * 100_001})
    assert "first_name: A value has at most 100,000 characters." in text


def test_long_content_is_exported_for_few_integrations_at_once(editor, console):
    for number in range(5):
        console.add_integration("braze", f"Emails {number}")
    assert editor.export("x" * 200_000, "all").status == 200
    page = editor.export("x" * 250_000, "all")
    assert page.status == 422
    assert "Content of this length has at most 4 exports at once. Choose one." in page.text


def test_long_exports_run_one_at_a_time(editor, console, braze):
    other = console.signed_in("eve@acme.example")
    conditions = "".join(
        f"{{{{#if recipient.visits > {each}}}}}a{{{{/if}}}}" for each in range(999)
    )
    form, is_seen = other.get(editor.path), Event()

    def export_repeatedly() -> None:
        while not is_seen.is_set():
            editor.export(conditions + "b" * 65_536, braze)

    def is_rejected() -> bool:
        response = other.submit(form, {"content": "b" * 65_537, "target": braze})
        return response.status == 503 and "exports other content at the moment" in response.text

    thread = Thread(target=export_repeatedly)
    thread.start()
    try:
        eventually(is_rejected, within=30)
        assert other.submit(form, {"content": "b" * 65_536, "target": braze}).status == 200
    finally:
        is_seen.set()
        thread.join()
    assert other.submit(form, {"content": "b" * 65_537, "target": braze}).status == 200
