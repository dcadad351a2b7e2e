"""Realistic emails with filters, links, sender and year render what the preview shows.

An email may differ only at a reference for whose value a caveat at this reference says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from pathlib import Path

import pytest
from attrs import frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.content import (
    Content,
    ContentWarning,
    InvalidContent,
    Surface,
    WarningCode,
    parse_content,
    preview_content,
)
from recipient_fields.domain.content.tree import Reference
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    export_content,
)
from recipient_fields.domain.esp.profiles.profile import Engine

from .caveats import CAVEATS, excluded
from .differences import inputs, names, stored
from .errors import NotRendered
from .generation import DATA_TYPES, esp_name, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render_all
from .system_values import IN_ANOTHER_FORM, TODAY

Values = Mapping[str, object]
FILES = Path(__file__).parent / "emails"
_ROW = """<tr>
<td style="padding: 8px 12px; border-bottom: 1px solid #ddd; font-family: Georgia, serif">
<a href="https://shop.example/p/{number}?from=catalog"><img src="https://shop.example/{number}.jpg"
 width="120" height="90" alt="Product {number}" style="display: block; border: 0"></a></td>
<td style="padding: 8px 12px; border-bottom: 1px solid #ddd; font-family: Georgia, serif">
<b>Product {number}</b>{{{{! The price of this week. }}}}<br>
{{{{#if recipient.tier = "gold"}}}}€ {number}.00 instead of € {number}.99
{{{{~ else if recipient.visits >= 3 ~}}}} € {number}.50{{{{else}}}}€ {number}.99{{{{/if}}}}</td>
</tr>
"""
CATALOG = (
    "<!doctype html>\n<html>\n<body>\n"
    '<h1>For {{ recipient.tier | default: "new" }} members</h1>\n<table width="600">\n'
    f"{''.join(_ROW.format(number=number) for number in range(1, 61))}</table>\n"
    '<p><a href="{{link.unsubscribe}}">Unsubscribe</a></p>\n</body>\n</html>\n'
)
EMAILS = {
    "catalog": CATALOG,
    **{each.stem: each.read_text("utf-8") for each in sorted(FILES.iterdir())},
}
_NO_FILTERS = {Esp("hubspot"), Esp("activecampaign")}
_NO_SENDER = {Esp("braze"), Esp("customerio"), Esp("onesignal")}
REFUSED: Mapping[str, set[Esp]] = {
    "abandoned-cart": {*_NO_FILTERS, Esp("sendgrid"), Esp("brevo")},
    "all-names": {*BUILT_IN.esps} - {Esp("hubspot")},
    "birthday": {*_NO_FILTERS, Esp("sendgrid"), Esp("braze"), Esp("onesignal")},
    "catalog": set(),
    "newsletter": {*_NO_SENDER, Esp("sendgrid"), Esp("brevo"), Esp("activecampaign")},
    "receipt": {*_NO_FILTERS, *_NO_SENDER, Esp("sendgrid"), Esp("brevo"), Esp("mailchimp")},
    "reminder": set(),
    "renewal": {*_NO_FILTERS, Esp("mailchimp"), Esp("brevo")},
    "survey": _NO_SENDER,
    "teaser": {*_NO_FILTERS, Esp("mailchimp"), Esp("sendgrid")},
    "win-back": {Esp("sendgrid"), Esp("brevo"), Esp("activecampaign")},
}
"""The ESPs that have no code for a filter, a link, the sender or the year in the email."""
REASON = re.compile(
    r"The filter `.+` is not possible\.|No source establishes|in this link\.|only the whole date"
    r"|only in transactional templates|has no boolean fields|no source establishes the code"
)

ORDINARY: tuple[Values, ...] = (
    {"tier": "gold", "home_city": "Bern", "visits": 12, "score": 25, "joined": "2026-03-05"},
    {"tier": "silver", "home_city": "Rome", "visits": 1, "score": 3, "joined": "2019-10-09"},
)
"""Recipients whose emails are the same at each ESP."""
RECIPIENTS: tuple[Values, ...] = (
    *ORDINARY,
    {},
    dict.fromkeys(DATA_TYPES),
    {"tier": "", "home_city": "", "visits": 0, "score": 0, "vip": False},
    {"tier": "gold", "seen": "2026-11-20T09:15:00.000Z", "vip": True},
    {"tier": "GOLD", "home_city": "Zürich ΟΔΟΣ İzmir Straße", "visits": 3},
    {"tier": "日本 \U0001f680", "home_city": "cafe\u0301 \U0001f680", "visits": 4},
    {"tier": 'say "gold"', "home_city": 'O\'Fallon "x"', "score": 2.5},
    {"tier": "<b>&amp;</b>", "home_city": "Bern & Köln <3", "visits": 11},
    {"tier": "{{x}} {% y %} %%z%% *|A|*", "home_city": "%A% \\ #{b}", "visits": 2},
    {"tier": "x" * 300, "home_city": "Llanfair " * 33 + "end", "visits": 10},
    {"tier": "silver", "visits": -3, "score": -0.004, "home_city": " Bern "},
    {"visits": 1234567, "score": 1234567.891, "joined": "2028-02-29", "vip": True},
    {"visits": 5, "score": 1.005, "joined": "1969-07-20", "seen": "2028-02-29T23:59:59.999Z"},
    {"seen": "2026-12-31T23:30:00-05:00", "joined": "2000-02-29", "home_city": "Київ"},
    {"seen": "2026-01-01T00:30:00+02:00", "joined": "2026-12-31", "tier": "gold"},
)
EMAIL = {
    **dict.fromkeys(BUILT_IN.esps, "email"),
    **dict.fromkeys((Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")), "EMAIL"),
    Esp("sfmc"): "emailaddr",
    Esp("braze"): "email_address",
}
"""The name of the address of the recipient."""
MARK = "\ue000"
"""What stands instead of values for which a caveat names a difference."""


@frozen
class Email:
    """An email, its export for an ESP, and the caveats of its references and conditions."""

    esp: Esp
    content: Content
    exported: ExportedContent

    @classmethod
    def of(cls, esp: Esp, source: str, surface: Surface | None = None) -> Email:
        """Return the email for the ESP. Raises: InvalidContent if the export refuses it."""
        content = parse_content(source)
        options = ExportOptions(surface=surface)
        return cls(esp, content, export_content(content, synced_codes(esp), esp, options))

    def render(self, recipient: Values, engine: Engine | None) -> str | NotRendered:
        """Return what a reader sees at the ESP, or why its documentation does not establish it."""
        used = set(self.content.keys())
        values = {
            esp_name(self.esp, key): stored(self.esp, value, DATA_TYPES[key])
            for key, value in recipient.items()
            if key in used
        }
        values[EMAIL[self.esp]] = "recipient@example.com"
        (text,) = render_all(self.esp, [(self.exported.content, values)], engine)
        return text if isinstance(text, NotRendered) else self.read(text)

    def expected(self, recipient: Values, differing: Iterable[Reference]) -> re.Pattern[str]:
        """Return the pattern of what the ESP shows: the preview, but anything for these references.

        The references are in order.
        """
        source = self.content.source
        for reference in reversed(list(differing)):
            end = source.index("}}", reference.start) + len("}}")
            source = source[: reference.start] + MARK + source[end:]
        for (esp, value), text in IN_ANOTHER_FORM.items():
            if esp == self.esp:
                source = re.sub(rf"\{{\{{ ?{re.escape(value.value)} ?\}}\}}", text, source)
        preview = preview_content(
            parse_content(source),
            synced_fields(self.esp),
            recipient,
            surface=self.exported.surface,
            today=TODAY,
        )
        shown = self.read(preview.content)
        return re.compile(".*".join(map(re.escape, shown.split(MARK))), re.DOTALL)

    def read(self, text: str) -> str:
        """Return what a reader sees. Engines escape different characters in HTML."""
        return unescape(text) if self.exported.surface is Surface.HTML else text

    def is_excluded(self, recipient: Values) -> bool:
        """Return whether a caveat of a condition names one of the compared values."""
        codes = {each.code for each in self.exported.warnings if each.code in CAVEATS}
        return any(
            excluded(codes, branch.condition, recipient)
            for branch in self.content.branches()
            if branch.condition is not None
        )

    def differing(self, recipient: Values) -> Iterator[Reference]:
        """Yield the references with a caveat that names a difference for this recipient."""
        caveats: dict[int, list[ContentWarning]] = {}
        for warning in self.exported.warnings:
            for position in (warning.position, *warning.places):
                offset = self.content.lines.offset_of(position)
                caveats.setdefault(offset, []).append(warning)
        for reference in self.content.references():
            value = recipient.get(reference.key)
            if any(
                names_value(each, reference, value) for each in caveats.get(reference.start, [])
            ):
                yield reference


def names_value(caveat: ContentWarning, reference: Reference, value: object) -> bool:
    """Return whether the caveat of the reference names a difference for this value."""
    match caveat.code:
        case WarningCode.SHOWN_FORM:
            return isinstance(value, (bool, float))
        case WarningCode.DEFAULT_OF_EMPTY_TEXT:
            return value == ""
        case WarningCode.HTML_IN_VALUES:
            return isinstance(value, str) and any(each in value for each in "<>&\"'")
        case WarningCode.FILTER_DIFFERENCE if value not in (None, ""):
            data_type = DATA_TYPES.get(reference.key, DataType.TEXT)
            return names(caveat.message, inputs(value, data_type, reference.filters))
    return False


@pytest.mark.parametrize("name", EMAILS)
@EVERY_ENGINE
def test_an_email_shows_what_the_preview_shows(esp, engine, name):
    if esp in REFUSED[name]:
        with pytest.raises(InvalidContent) as refused:
            Email.of(esp, EMAILS[name])
        assert all(REASON.search(each.message) for each in refused.value.violations)
        return
    is_plain = (FILES / f"{name}.txt").exists()
    for surface in (None, Surface.TEXT, Surface.SUBJECT) if is_plain else (Surface.HTML,):
        email = Email.of(esp, EMAILS[name], surface)
        assert is_plain or email.exported == Email.of(esp, EMAILS[name]).exported
        for recipient in RECIPIENTS:
            if email.is_excluded(recipient):
                assert recipient not in ORDINARY
                continue
            differing = list(email.differing(recipient))
            text = email.render(recipient, engine)
            if isinstance(text, NotRendered):
                assert differing, text
            else:
                expected = email.expected(recipient, differing)
                assert expected.fullmatch(text), f"{recipient}\n{text}"


@EVERY_ENGINE
def test_ordinary_values_need_no_excuse(esp, engine):
    emails = [Email.of(esp, EMAILS[name]) for name in EMAILS if esp not in REFUSED[name]]
    for email in emails:
        for recipient in ORDINARY:
            text = email.render(recipient, engine)
            assert email.expected(recipient, []).fullmatch(str(text)), text


def test_the_emails_are_realistic():
    assert len(EMAILS) >= 10
    assert len(CATALOG) > 30_000
    sources = "".join(EMAILS.values())
    for part in ("{{!", "{{!--", "{{~", "~}}", "{{ ", "| url", "| date", "| number", "| truncate"):
        assert part in sources
    for esp in BUILT_IN.esps:
        assert sum(esp not in refused for refused in REFUSED.values()) >= 3, esp
