"""Exported content with event data and loops renders what the preview shows."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from random import Random

import pytest
from attrs import frozen

from recipient_fields.domain.content import InvalidContent, parse_content, preview_content
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportOptions, export_content
from recipient_fields.domain.esp.profiles.profile import Engine, EventData

from .errors import NotRendered
from .event import Sent
from .generation import esp_name, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render_all

PAIRS = int(os.environ.get("RECIPIENT_FIELDS_EVENT_PAIRS", "150"))
EVENTS_PER_CONTENT = 3
WITHOUT_EVENTS = {each.esp for each in BUILT_IN if not isinstance(each.events, EventData)}
ESCAPED = {Esp("klaviyo"), Esp("braze"), Esp("customerio"), Esp("sendgrid"), Esp("iterable")}
"""The ESPs whose caveats do not say that HTML in values can spoil the email."""

TEXTS = ("a", " ", "\n", "<p>", "</p>", "; ")
WORDS = ("gold", "Zürich", "a b", "x")
HTML = ("<b>", "a & b", "it's", 'say "x"', "a=b")
NUMBERS = (1, 3, -1, 10, 2.5)
UNLIKE_THE_PREVIEW: Mapping[Esp, tuple[object, ...]] = {
    Esp("sfmc"): ("Zürich",),
    Esp("brevo"): (2.5,),
}
"""The values that the caveats of an ESP name: other letters in filters, and decimals."""
VALUES = (
    *("event.order_id", "event.customer.City", 'event.customer["Full Name"]', "event.items.0.name"),
    *("event.lines[0].name", "event.lines[1].qty", "event.total", "event.missing.member"),
    *('event.order_id | default: "none"', "event.order_id | upper", "event.total | number: 2"),
    *('event.order_id | lower | default: "none"', "recipient.tier", "event.tags | first | upper"),
    *('event.tags | join: ", "', 'event.customer.tags | join: " - " | default: "none"'),
    *("event.total | times: 1.2 | minus: 3 | number: 2", "event.total | plus: -1 | number: 1"),
)
IN_LOOP = (
    *("item.name", "item.qty", "item.name | upper", "item.qty | number: 2", "loop.number"),
    *('item.tags | join: ", " | lower', "item.tags | first", "item.qty | times: 9.9 | number: 1"),
)
CONDITIONS = (
    *("event.total > 2", 'event.order_id = "gold"', "event.paid", "event.order_id is set"),
    *("event.total >= 0 and event.paid", 'not (event.customer.City = "x")', "event.total is set"),
    *('event.order_id in ("x", "gold") or event.total < 0', 'recipient.tier = "gold"'),
    *("event.paid = false", "event.total = 0", "event.missing.member is not set"),
)
CONDITIONS_IN_LOOP = (
    *("item.qty > 2", 'item.name = "gold"', "loop is first", "loop is last", "loop is not first"),
    *("item.name is set and loop.number > 1", "item.gift", "not item.gift"),
)
QUOTES = re.compile("&#x27;|&#39;|&quot;|&#34;|&#x3D;")
DECODED = {"&#x27;": "'", "&#39;": "'", "&quot;": '"', "&#34;": '"', "&#x3D;": "="}


@frozen
class Case:
    """Content, the values for which it is sent, what the ESP has, and what the preview shows."""

    source: str
    recipient: Mapping[str, object]
    event: Mapping[str, object]
    template: str
    expected: str


@frozen
class Generator:
    """Generated content with event data for one ESP."""

    esp: Esp
    random: Random
    counts: dict[str, int]

    def cases(self) -> Iterator[Case]:
        """Yield cases without end."""
        fields, codes = synced_fields(self.esp), synced_codes(self.esp)
        options = ExportOptions(surface="html")
        while True:
            source = self.content()
            self.counts["generated"] += 1
            try:
                exported = export_content(parse_content(source), codes, self.esp, options)
            except InvalidContent:
                continue
            self.counts["exported"] += 1
            self.counts["loops"] += "{{#each" in source
            for _ in range(EVENTS_PER_CONTENT):
                recipient, event = {"tier": self.random.choice(WORDS)}, self.event()
                shown = preview_content(
                    parse_content(source), fields, recipient, event=event, surface="html"
                )
                yield Case(source, recipient, event, exported.content, shown.content)

    def content(self, *, in_loop: bool = False, depth: int = 2) -> str:
        """Return content of a few pieces."""
        pieces = [self.piece(in_loop, depth) for _ in range(self.random.randint(1, 3))]
        return "".join(pieces)

    def piece(self, in_loop: bool, depth: int) -> str:
        """Return a text, a reference, a condition or a loop."""
        kind = self.random.random()
        if kind < 0.25:
            return self.random.choice(TEXTS)
        if kind < 0.6 or depth == 0:
            values = IN_LOOP if in_loop and self.random.random() < 0.6 else VALUES
            return f"{{{{{self.random.choice(values)}}}}}"
        inner = self.content(in_loop=in_loop, depth=depth - 1)
        otherwise = "{{else}}" + self.random.choice(("none", "")) if kind < 0.8 else ""
        if kind < 0.75:
            conditions = CONDITIONS_IN_LOOP if in_loop and kind < 0.7 else CONDITIONS
            condition = self.random.choice(conditions)
            return f"{{{{#if {condition}}}}}{inner}{otherwise}{{{{/if}}}}"
        if in_loop:
            tag = self.random.choice(("{{tag}}", "{{tag | upper}}", "{{tag}}{{event.order_id}}"))
            return f"{{{{#each item.tags as tag}}}}{tag}{otherwise}{{{{/each}}}}"
        items = self.random.choice(("event.lines", "event.items", "event.customer.lines"))
        body = self.content(in_loop=True, depth=depth - 1)
        loop = f"{{{{#each {items} as item}}}}{body}{otherwise}{{{{/each}}}}"
        return re.sub(r"\bitem\b", self.random.choice(("item", "customer", "person")), loop)

    def event(self) -> Mapping[str, object]:
        """Return the data of an event, of which each value can be missing."""
        return self.some(
            order_id=self.text(),
            total=self.number(),
            paid=self.random.random() < 0.5,
            customer=self.some(
                City=self.text(),
                lines=self.lines(),
                tags=self.texts(),
                **{"Full Name": self.text()},
            ),
            tags=self.texts(),
            lines=self.lines(),
            items=self.lines(),
        )

    def lines(self) -> object:
        """Return the lines of an order, which can be empty or null."""
        if self.random.random() < 0.1:
            return None
        return [
            self.some(
                name=self.text(),
                qty=self.number(),
                gift=self.random.random() < 0.5,
                tags=self.texts(),
            )
            for _ in range(self.random.randint(0, 3))
        ]

    def some(self, **values: object) -> Mapping[str, object]:
        """Return some of the values."""
        return {key: value for key, value in values.items() if self.random.random() < 0.8}

    def texts(self) -> list[str]:
        """Return a list of up to two texts."""
        return [self.text() for _ in range(self.random.randint(0, 2))]

    def text(self) -> str:
        """Return a text that the ESP shows as the preview does."""
        texts = (*WORDS, *HTML) if self.esp in ESCAPED else WORDS
        return self.random.choice([each for each in texts if each not in self.unlike])

    def number(self) -> float:
        """Return a number that the ESP shows as the preview does."""
        return self.random.choice([each for each in NUMBERS if each not in self.unlike])

    @property
    def unlike(self) -> tuple[object, ...]:
        """The values that the ESP shows in another way than the preview."""
        return UNLIKE_THE_PREVIEW.get(self.esp, ())


def without_quotes(text: str) -> str:
    """Return the text with decoded quotes: engines encode them in different ways."""
    return QUOTES.sub(lambda found: DECODED[found[0]], text)


@EVERY_ENGINE
def test_an_engine_renders_event_data_and_loops_as_the_preview_shows_them(esp, engine):
    if esp in WITHOUT_EVENTS:
        with pytest.raises(InvalidContent):
            export_content(parse_content("{{event.a}}"), synced_codes(esp), esp)
        return
    generator = Generator(esp, Random(esp), dict.fromkeys(("generated", "exported", "loops"), 0))
    generated = generator.cases()
    cases = [next(generated) for _ in range(PAIRS)]
    values = [
        Sent({esp_name(esp, key): value for key, value in case.recipient.items()}, case.event)
        for case in cases
    ]
    rendered = render_all(
        esp, [(case.template, value) for case, value in zip(cases, values, strict=True)], engine
    )
    wrong = [
        f"{case.source!r}\n  event      {dict(case.event)}\n  template   {case.template!r}"
        f"\n  expected   {case.expected!r}\n  rendered   {text!r}"
        for case, text in zip(cases, rendered, strict=True)
        if isinstance(text, NotRendered) or without_quotes(text) != without_quotes(case.expected)
    ]
    logging.info("%s %s: %s, %s of %s wrong", esp, engine, generator.counts, len(wrong), PAIRS)
    assert not wrong, f"{len(wrong)} of {PAIRS} are wrong, for example:\n{min(wrong, key=len)}"


def test_django_differs_for_the_example_of_joined_items() -> None:
    content, klaviyo = parse_content("{{event.tags | join: ', '}}"), Esp("klaviyo")
    event = {"tags": ["a & b", "c"]}
    exported = export_content(
        content, synced_codes(klaviyo), klaviyo, ExportOptions(surface="text")
    )
    (text,) = render_all(klaviyo, [(exported.content, Sent({}, event))], Engine.DJANGO)

    assert any("can show & in an item" in each.message for each in exported.warnings)
    assert preview_content(content, [], {}, event=event, surface="text").content == "a & b, c"
    assert text == "a &amp; b, c"
