"""Realistic emails render what the preview shows, apart from differences that a warning names."""

from __future__ import annotations

from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser

import pytest

from recipient_fields.domain import DataType
from recipient_fields.domain.content import Surface, WarningCode, parse_content, preview_content
from recipient_fields.domain.esp import (
    BUILT_IN,
    Esp,
    ExportedContent,
    ExportOptions,
    export_content,
)

from .errors import NotRendered
from .generation import DATA_TYPES, Form, esp_name, stored, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render

Values = Mapping[str, object]

EMAILS = {
    "welcome": """<h1>Welcome, {{recipient.home_city | default: "friend"}}!</h1>
<p>We are glad that you are here.</p>""",
    "tier": """<p>Your tier: <b>{{recipient.tier}}</b></p>
{{#if recipient.tier = "gold"}}<p>Your gift is waiting.</p>{{/if}}""",
    "tiers": """{{#if recipient.tier = "gold"}}<p>Free shipping</p>
{{else if recipient.tier = "silver"}}<p>Half the shipping</p>
{{else}}<p>Become a member</p>{{/if}}""",
    "visits": """<p>You came {{recipient.visits}} times.</p>
{{#if recipient.visits >= 3}}<p>You are a regular.</p>{{/if}}""",
    "win back": """{{#if recipient.visits is not set or recipient.visits < 1}}<p>We miss you.</p>
{{/if}}{{#if recipient.visits > 10}}<p>Thank you for all your visits!</p>{{/if}}""",
    "zero": "{{#if recipient.visits = 0}}<p>Try us.</p>{{else}}<p>Try us again.</p>{{/if}}",
    "score": """<p>Score: {{recipient.score}}</p>
{{#if recipient.score <= 2.5}}<p>Low</p>{{else}}<p>High or unknown</p>{{/if}}""",
    "range": """{{#if recipient.score >= 0 and recipient.score <= 10}}
<p>In range</p>{{else}}<p>Out of range</p>{{/if}}""",
    "vip": "{{#if recipient.vip}}<p>Your personal contact calls you.</p>{{/if}}<p>Bye</p>",
    "not vip": """{{#if not recipient.vip and recipient.visits >= 3}}<p>Join the club.</p>
{{else}}<p>See you.</p>{{/if}}""",
    "vip is shown": "<p>Member: {{recipient.vip}}</p>",
    "city": """{{#if recipient.home_city in ("Zürich", "Bern")}}<p>Grüezi</p>
{{else}}<p>Hello {{recipient.home_city}}</p>{{/if}}""",
    "city is set": """{{#if recipient.home_city is set}}Shops in {{recipient.home_city}}
{{else}}Find a shop{{/if}}""",
    "nested": """{{#if recipient.tier is set}}<p>{{recipient.tier}}</p>
{{#if recipient.visits > 3}}<p>and {{recipient.visits}} visits</p>{{/if}}{{/if}}""",
    "either": """{{#if recipient.tier = "gold" or recipient.visits >= 3}}<p>Thank you!</p>
{{else}}<p>Hello.</p>{{/if}}""",
    "both": """{{#if recipient.tier in ("gold", "silver") and recipient.visits > 1}}
<p>Exclusive</p>{{/if}}<p>Regular</p>""",
    "excluded": """{{#if recipient.tier != "gold" and recipient.home_city != "Bern"}}
<p>Upgrade now</p>{{/if}}""",
    "white space": "Dear{{#if recipient.home_city is set}} {{/if}}{{recipient.home_city}},",
    "table": """<table><tr><td>Visits</td><td>{{recipient.visits}}</td></tr>
<tr><td>Tier</td><td>{{recipient.tier | default: "none"}}</td></tr></table>""",
    "joined": """{{#if recipient.joined is set}}<p>Member since {{recipient.joined}}</p>
{{else}}<p>Become a member</p>{{/if}}""",
}

RECIPIENTS: tuple[tuple[Form, Values], ...] = (
    (Form.TYPED, {"tier": "gold", "home_city": "Zürich", "visits": 12, "score": 2.5, "vip": True}),
    (Form.TYPED, {"tier": "silver", "home_city": "O'Fallon", "visits": 0, "vip": False}),
    (Form.TYPED, {"tier": "", "home_city": "", "score": 0, "joined": "2026-11-20"}),
    (Form.NUMBERS_AS_TEXTS, {"tier": "gold", "home_city": "Bern", "visits": 3, "score": 2.5}),
    (Form.NUMBERS_AS_TEXTS, {"tier": "bronze", "visits": 0, "score": 10, "vip": True}),
    (Form.BOOLEANS_AS_TEXTS, {"tier": "gold", "home_city": "Bern", "visits": 4, "vip": False}),
    (Form.BOOLEANS_AS_TEXTS, {"tier": "a & b", "home_city": "Rome", "visits": 1, "vip": True}),
    (Form.DECIMALS, {"tier": "silver", "home_city": "Zürich", "visits": 3, "score": 10}),
    (Form.EMPTY_TEXTS, {"tier": "gold", "visits": 3}),
    (Form.NULLS, {"home_city": "Zürich", "score": -1}),
    (Form.TYPED, {"tier": "<b>\"gold\" & 'more'</b>", "home_city": "Bern & Köln <3", "visits": 3}),
    (Form.NULLS, {"tier": "&lt;", "home_city": "日本 \U0001f680"}),
)


def shows(key: DataType, email: str) -> bool:
    return any(
        f"{{{{recipient.{name}" in email for name, type_ in DATA_TYPES.items() if type_ is key
    )


def named_difference(codes: set[WarningCode], email: str, form: Form, values: Values) -> bool:
    """Return whether one of the warnings names a difference for these values."""
    number, boolean = DataType.NUMBER, DataType.BOOLEAN
    texts = " ".join(each for each in values.values() if isinstance(each, str))
    has_html = any(each in texts for each in "<>&\"'")
    has_decimal = form is Form.DECIMALS or any(isinstance(each, float) for each in values.values())
    return any(
        code in codes and applies
        for code, applies in {
            WarningCode.SHOWN_FORM: (shows(number, email) and has_decimal) or shows(boolean, email),
            WarningCode.HTML_IN_VALUES: shows(DataType.TEXT, email) and has_html,
            WarningCode.NUMBER_AS_TEXT: form is Form.NUMBERS_AS_TEXTS,
            WarningCode.BOOLEAN_AS_TEXT: form is Form.BOOLEANS_AS_TEXTS,
            WarningCode.EMPTY_TEXT_IS_FALSE: form is Form.EMPTY_TEXTS,
            WarningCode.DEFAULT_OF_EMPTY_TEXT: form is Form.EMPTY_TEXTS or "" in values.values(),
        }.items()
    )


def exported(esp: Esp, email: str, surface: Surface | None) -> ExportedContent:
    options = ExportOptions(surface=surface)
    return export_content(parse_content(email), synced_codes(esp), esp, options)


def read(text: str, surface: Surface) -> str:
    """Return what a reader sees: HTML shows the characters of entities."""
    return unescape(text) if surface is Surface.HTML else text


@pytest.mark.parametrize(
    "surface", [None, *Surface], ids=lambda each: each.value if each else "found"
)
@pytest.mark.parametrize(
    ("esp", "engine"),
    [(esp, engine) for esp in BUILT_IN.esps for engine in BUILT_IN[esp].engines],
    ids=lambda each: each if isinstance(each, str) else each.value,
)
def test_emails_show_what_the_preview_shows(esp, engine, surface):
    fields = synced_fields(esp)
    for email in EMAILS.values():
        content = parse_content(email)
        export = exported(esp, email, surface)
        codes = {warning.code for warning in export.warnings}
        for form, recipient in RECIPIENTS:
            shown = {key: value for key, value in recipient.items() if f"recipient.{key}" in email}
            values = {esp_name(esp, key): each for key, each in stored(esp, shown, form).items()}
            try:
                text = read(render(esp, export.content, values, engine), export.surface)
            except NotRendered as rejected:
                text = str(rejected)
            preview = preview_content(content, fields, shown, surface=export.surface).content
            if text != read(preview, export.surface):
                assert named_difference(codes, email, form, shown), f"{export.content}\n{values}"


class _Titles(HTMLParser):
    """Reads the attributes `title`, as a client of the recipient does."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name == "title"]


@EVERY_ENGINE
@pytest.mark.parametrize("quote", ["'", '"', ""])
def test_a_default_arrives_in_its_attribute(esp, engine, quote):
    default = """O'Neil "B" > & é"""
    reference = r"""{{recipient.tier | default: 'O\'Neil "B" > & é'}}"""
    email = f"<p title={quote}{reference}{quote} class='a'>"
    export = exported(esp, email, None)
    titles = _Titles()
    titles.feed(render(esp, export.content, {}, engine))
    if esp == Esp("hubspot"):  # The stand-in escapes defaults, which no source establishes.
        assert WarningCode.HTML_IN_VALUES in {each.code for each in export.warnings}
        titles.found = [unescape(each or "") for each in titles.found]
    assert titles.found == [default]
