"""The engines show the links, the sender and the year that the preview shows."""

from __future__ import annotations

import re

from recipient_fields.domain.content import SystemValue, parse_content
from recipient_fields.domain.esp import Esp, export_content
from recipient_fields.domain.esp.system_codes import find_system_code

from .generation import esp_name, synced_codes
from .rendering import EVERY_ENGINE, render
from .system_values import shown

SHOWN = """<a href="{0}">{0}</a> <b title='{0}'>!</b>"""
SOURCE = f"""{{{{{{{{#if recipient.tier = "gold"}}}}}}}}{SHOWN}{{{{{{{{/if}}}}}}}}"""
IN_ANOTHER_FORM = {
    (Esp.HUBSPOT, SystemValue.PREFERENCES): shown(SystemValue.UNSUBSCRIBE),
    (Esp.ACTIVECAMPAIGN, SystemValue.UNSUBSCRIBE_ALL): f"{shown(SystemValue.UNSUBSCRIBE)}&ALL",
    (Esp.ACTIVECAMPAIGN, SystemValue.SENDER_ADDRESS): (
        f"{shown(SystemValue.SENDER_NAME)}, {shown(SystemValue.SENDER_ADDRESS)}"
    ),
}


def words(text: str) -> str:
    """Return the text without the commas and blanks in which addresses differ."""
    return re.sub(r"[\s,]+", " ", text)


@EVERY_ENGINE
def test_an_engine_shows_what_the_preview_shows(esp, engine):
    for value in SystemValue:
        if isinstance(find_system_code(esp, value), str):
            continue
        source = parse_content(SOURCE.format(value))
        template = export_content(source, synced_codes(esp), esp).content
        text = render(esp, template, {esp_name(esp, "tier"): "gold"}, engine)
        expected = SHOWN.format(IN_ANOTHER_FORM.get((esp, value), shown(value)))
        assert words(text) == words(expected), value
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
