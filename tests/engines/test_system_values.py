"""The engines show the links, the sender and the year that the preview shows."""

from __future__ import annotations

from recipient_fields.domain.content import SystemValue, parse_content
from recipient_fields.domain.esp import PROFILES, Esp, export_content

from .generation import esp_name, synced_codes
from .rendering import EVERY_ENGINE, render
from .system_values import IN_ANOTHER_FORM, shown

SHOWN = """<a href="{0}">{0}</a> <b title='{0}'>!</b>"""
SOURCE = f"""{{{{{{{{#if recipient.tier = "gold"}}}}}}}}{SHOWN}{{{{{{{{/if}}}}}}}}"""


@EVERY_ENGINE
def test_an_engine_shows_what_the_preview_shows(esp, engine):
    for value in SystemValue:
        if isinstance(PROFILES[esp].find_system_code(value), str):
            continue
        source = parse_content(SOURCE.format(value))
        template = export_content(source, synced_codes(esp), esp).content
        text = render(esp, template, {esp_name(esp, "tier"): "gold"}, engine)
        expected = SHOWN.format(IN_ANOTHER_FORM.get((esp, value), shown(value)))
        assert text == expected, value
        assert render(esp, template, {esp_name(esp, "tier"): "silver"}, engine) == ""


def test_the_web_version_of_mailchimp_has_no_link_to_itself():
    source = f'<p><a href="{SystemValue.VIEW_IN_BROWSER}"><b>Open</b></a></p>'
    template = export_content(
        parse_content(source), synced_codes(Esp.MAILCHIMP), Esp.MAILCHIMP
    ).content
    assert render(Esp.MAILCHIMP, template, {}) == source.replace(
        str(SystemValue.VIEW_IN_BROWSER), shown(SystemValue.VIEW_IN_BROWSER)
    )
    assert render(Esp.MAILCHIMP, template, {"ARCHIVE_PAGE": "1"}) == "<p></p>"
