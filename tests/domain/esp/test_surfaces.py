"""HTML in values: escaped in HTML, shown as it is elsewhere, or named in a caveat."""

from __future__ import annotations

from typing import Any

import pytest

from recipient_fields.domain import ADMINISTRATOR, DataType
from recipient_fields.domain.content import Surface, WarningCode, parse_content
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportedContent, ExportOptions
from recipient_fields.domain.esp import export_content as export
from recipient_fields.domain.esp.profiles.profile import Escaping
from recipient_fields.domain.integrations import FieldCodes

from ...support.stories import stories
from .export_stories import told

HTML = WarningCode.HTML_IN_VALUES


@pytest.fixture
def exported(make_field):
    """Export content with the field `name` for an ESP."""

    def run(esp: Esp, source: str, *, code: str | None = None, **options: Any) -> ExportedContent:
        field = make_field(ADMINISTRATOR, key="name", custom_insertion_code=code)
        visits = make_field(ADMINISTRATOR, key="visits", data_type=DataType.NUMBER)
        codes = FieldCodes.of([field, visits])
        return export(parse_content(source), codes, esp, ExportOptions(**options))

    return run


def codes_of(content: ExportedContent) -> list[WarningCode]:
    ignored = {WarningCode.ASSUMED_NAME, WarningCode.SHOWN_FORM, WarningCode.DEFAULT_OF_EMPTY_TEXT}
    return [each.code for each in content.warnings if each.code not in ignored]


STORIES = """
# each surface has its code
braze, surface=html: {{recipient.name}} => {{custom_attribute.${name} | escape}}
braze, surface=html: {{recipient.name | default: "you"}}
  => {{custom_attribute.${name} | escape | default: 'you'}}
braze, surface=text: {{recipient.name}} => {{custom_attribute.${name}}}
braze, surface=text: {{recipient.name | default: "you"}}
  => {{custom_attribute.${name} | default: 'you'}}
sendgrid, surface=html: {{recipient.name}} => {{name}}
sendgrid, surface=html: {{recipient.name | default: "you"}} => {{insert name "default=you"}}
sendgrid, surface=text: {{recipient.name}} => {{{name}}}
sendgrid, surface=text: {{recipient.name | default: "you"}}
  => {{#if name}}{{{name}}}{{else}}you{{/if}}
sendgrid, surface=subject: {{recipient.name}} => {{{name}}}
sendgrid, surface=subject: {{recipient.name | default: "you"}}
  => {{#if name}}{{{name}}}{{else}}you{{/if}}
iterable, surface=subject: {{recipient.name}} => {{{name}}}
iterable, surface=subject: {{recipient.name | default: "you"}} => {{{defaultIfEmpty name "you"}}}
klaviyo, surface=subject: {{recipient.name}} => {{ person|lookup:'name'|default_if_none:''|safe }}
klaviyo, surface=subject: {{recipient.name | default: "you"}}
  => {{ person|lookup:'name'|default:'you'|safe }}
customerio, surface=subject: {{recipient.name}} => {{customer.name}}
mailchimp, surface=subject: {{recipient.name}} => *|NAME|*
"""


@stories(STORIES)
def test_an_export(story, exported):
    told(exported, story)


def test_only_a_chosen_text_shows_values_as_they_are(exported) -> None:
    found = exported(Esp("sendgrid"), "{{recipient.name}}")
    assert (found.surface, found.content) == (Surface.TEXT, "{{name}}")
    (warning,) = (each for each in found.warnings if each.code is HTML)
    assert "Choose the surface: text or html." in warning.message
    assert exported(Esp("braze"), "{{recipient.name}}", raw=True).content.count("escape") == 0


def test_raw_values_stay_as_the_esp_shows_them(exported) -> None:
    for esp in BUILT_IN.esps:
        for surface in Surface:
            content = exported(esp, "{{recipient.name}}", surface=surface, raw=True)
            assert HTML not in codes_of(content)
            for changed in ("escape", "safe", "{{{"):
                assert changed not in content.content


def test_numbers_need_no_escaping(exported) -> None:
    for esp in BUILT_IN.esps:
        content = exported(esp, "<p>{{recipient.visits}}</p>")
        assert "escape" not in content.content
        assert HTML not in codes_of(content)


@pytest.mark.parametrize("esp", BUILT_IN.esps)
def test_html_that_can_spoil_an_email_is_one_caveat(esp, exported) -> None:
    content = exported(esp, "<p>{{recipient.name}}{{recipient.name}}</p>")
    warnings = [each for each in content.warnings if each.code is HTML]
    rules = BUILT_IN[esp].surfaces
    is_safe = rules.html is Escaping.ESCAPED or esp == Esp("braze")
    assert [len(each.places) for each in warnings] == ([] if is_safe else [1])


def test_written_code_is_inserted_verbatim_with_a_caveat(exported) -> None:
    code = "{{custom_attribute.${name} | upcase}}"
    content = exported(Esp("braze"), "<p>{{recipient.name}}</p>", code=code)
    assert content.content == f"<p>{code}</p>"
    (warning,) = (each for each in content.warnings if each.code is WarningCode.VERBATIM_CODE)
    assert "not shown escaped for HTML" in warning.message


@pytest.mark.parametrize("default", ["A &amp; B", "<b>you</b>", "it's"])
@pytest.mark.parametrize("esp", [Esp("sendgrid"), Esp("iterable")])
def test_the_html_of_a_default_is_not_escaped(esp, default, exported) -> None:
    """Handlebars escapes what its helpers return."""
    source = f'<p>{{{{recipient.name | default: "{default}"}}}}</p>'
    code = f"<p>{{{{#if name}}}}{{{{name}}}}{{{{else}}}}{default}{{{{/if}}}}</p>"
    for is_raw in (False, True):
        assert exported(esp, source, raw=is_raw).content == code


def test_a_block_that_would_show_the_default_for_zero_is_not_used(exported) -> None:
    source = """{{recipient.visits | default: "it's"}}"""
    assert "{{#if" not in exported(Esp("sendgrid"), source).content
