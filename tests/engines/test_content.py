"""Exported content renders what the preview shows, for generated content and recipients."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

import pytest
from attrs import frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.conditions import AllOf, Condition, format_condition
from recipient_fields.domain.content import InvalidContent, parse_content, preview_content
from recipient_fields.domain.content.tree import Block, Node, Text
from recipient_fields.domain.esp import BUILT_IN, Esp, export_content
from recipient_fields.domain.esp.profiles.profile import Engine, SystemCode

from .caveats import CAVEATS, excluded
from .errors import NotRendered
from .generation import (
    DATA_TYPES,
    NO_EMPTY_TEXTS,
    Form,
    esp_name,
    generate_condition,
    generate_recipients,
    stored,
    synced_codes,
    synced_fields,
)
from .rendering import EVERY_ENGINE, render, render_all
from .system_values import IN_ANOTHER_FORM, TODAY

CONTENTS = int(os.environ.get("RECIPIENT_FIELDS_CONDITION_PAIRS", "1000")) // 5
RECIPIENTS_PER_CONTENT = 4

TEXTS = (
    *("Hello ", "a", " ", "\n", " \n ", "\n\n", "<p>", "</p>", '<i class="', '">', "<i id='", "'>"),
    *("{", "}", " { ", " }", "{}", ".a{color:red}", "%", "50% ", "100%", "*", "|", "\\", "'", '"'),
    *(" {{! note }} ", "\n{{~!-- {{/if}} --}}", "{{! x ~}}\n"),
    *("Zürich", "日本", "\U0001f680", "$", "@", "#", "&amp;", "=", "<style>p{x:", "}</style>"),
)
VALUES: Mapping[str, Sequence[str | int]] = {
    "tier": ["gold", "Zürich 1"],
    "home_city": ["silver", "x"],
    "visits": [1, 3, -1, 10],
}
"""The fields that content shows, and values that every engine writes in the same way."""
SYSTEM_NAMES: Mapping[Esp, Sequence[str]] = {
    esp: [
        value.value
        for value, code in BUILT_IN[esp].system_codes.items()
        if isinstance(code, SystemCode) and (esp, value) not in IN_ANOTHER_FORM
    ]
    for esp in BUILT_IN.esps
}
"""The links, the sender and the year that each ESP shows as the preview does."""
UNESTABLISHED = {
    **dict.fromkeys(BUILT_IN.esps, re.compile(r"\{[{%#]|[}%#]\}")),
    Esp("activecampaign"): re.compile("%"),
    Esp("sfmc"): re.compile("%%"),
    Esp("mailchimp"): re.compile(r"[*|]{2}"),
}
"""Texts whose meaning outside of tags no source establishes."""
KEY = re.compile(r"""\"(?:[^"\\]|\\.)*"|\b(?P<key>{})\b""".format("|".join(DATA_TYPES)))


@frozen
class Case:
    """Content, a recipient, what the ESP renders, and what the preview shows."""

    source: str
    recipient: Mapping[str, object]
    template: str
    expected: str


@frozen
class Generator:
    """Generated content for one ESP, and the numbers of contents."""

    esp: Esp
    random: Random
    counts: dict[str, int]

    def cases(self) -> Iterator[Case]:
        """Yield cases without end."""
        fields, codes = synced_fields(self.esp), synced_codes(self.esp)
        while True:
            conditions: list[Condition] = []
            source = self._content(conditions, depth=2)
            self.counts["generated"] += 1
            content = parse_content(source)
            if any(map(UNESTABLISHED[self.esp].search, text_runs(content.nodes))):
                continue
            try:
                exported = export_content(content, codes, self.esp)
            except InvalidContent:
                continue
            self.counts["exported"] += 1
            caveats = {each.code for each in exported.warnings if each.code in CAVEATS}
            for recipient in self._recipients(conditions):
                if not any(excluded(caveats, each, recipient) for each in conditions):
                    expected = preview_content(content, fields, recipient, today=TODAY).content
                    yield Case(source, recipient, exported.content, expected)

    def _content(self, conditions: list[Condition], depth: int) -> str:
        pieces = [self._piece(conditions, depth) for _ in range(self.random.randint(0, 4))]
        return "".join(pieces)

    def _piece(self, conditions: list[Condition], depth: int) -> str:
        kind = self.random.random()
        if kind < 0.4:
            return self.random.choice(TEXTS)
        if kind < 0.5:
            return self._tag(self.random.choice(SYSTEM_NAMES[self.esp]))
        if kind < 0.8 or depth == 0:
            key = self.random.choice(tuple(VALUES))
            default = ' | default: "there"' if self.random.random() < 0.3 else ""
            return self._tag(f"recipient.{key}{default}")
        opening = self._tag(f"#if {self._condition(conditions)}")
        parts = [f"{opening}{self._content(conditions, depth - 1)}"]
        for _ in range(self.random.choice((0, 0, 1))):
            body = self._content(conditions, depth - 1)
            parts.append(self._tag(f"else if {self._condition(conditions)}") + body)
        if self.random.random() < 0.5:
            parts.append(self._tag("else") + self._content(conditions, depth - 1))
        return "".join([*parts, self._tag("/if")])

    def _tag(self, code: str) -> str:
        """Return the tag, sometimes with blanks, or with tildes that remove white space."""
        before, after = self.random.choices(("", " ", "~"), weights=(4, 1, 1), k=2)
        return f"{{{{{before}{code}{after}}}}}"

    def _condition(self, conditions: list[Condition]) -> str:
        condition = generate_condition(self.random, depth=2)
        conditions.append(condition)
        return with_prefixes(format_condition(condition))

    def _recipients(self, conditions: list[Condition]) -> Iterator[Mapping[str, object]]:
        together = AllOf(tuple(conditions))
        for values in generate_recipients(self.random, together, RECIPIENTS_PER_CONTENT):
            shown: dict[str, object] = {
                key: self.random.choice(each) for key, each in VALUES.items()
            }
            for key in VALUES:
                is_text = DATA_TYPES[key] is DataType.TEXT
                if is_text and self.esp not in NO_EMPTY_TEXTS and self.random.random() < 0.15:
                    shown[key] = ""
                elif self.random.random() < 0.15:
                    del shown[key]
            others = {key: value for key, value in values.items() if key not in VALUES}
            yield {**others, **shown}


def text_runs(nodes: Iterable[Node]) -> Iterator[str]:
    """Yield the texts between the references and blocks. Removed comments join texts."""
    run = ""
    for node in nodes:
        if isinstance(node, Text):
            run += node.text
            continue
        yield run
        run = ""
        if isinstance(node, Block):
            for branch in node.branches:
                yield from text_runs(branch.nodes)
    yield run


def with_prefixes(condition: str) -> str:
    """Return the condition with `recipient.` before each key."""
    return KEY.sub(lambda match: f"recipient.{match[0]}" if match["key"] else match[0], condition)


@EVERY_ENGINE
def test_an_engine_renders_what_the_preview_shows(esp, engine):
    generator = Generator(esp, Random(esp), {"generated": 0, "exported": 0})
    generated = generator.cases()
    cases = [next(generated) for _ in range(CONTENTS)]
    values = [
        {
            esp_name(esp, key): value
            for key, value in stored(esp, case.recipient, Form.TYPED).items()
        }
        for case in cases
    ]
    templates = [case.template for case in cases]
    rendered = render_all(esp, list(zip(templates, values, strict=True)), engine)
    wrong = [
        f"{case.source!r}\n  recipient  {dict(case.recipient)}\n  template   {case.template!r}"
        f"\n  expected   {case.expected!r}\n  rendered   {text!r}"
        for case, text in zip(cases, rendered, strict=True)
        if isinstance(text, NotRendered) or text != case.expected
    ]
    names = sum(each in case.source for case in cases for each in SYSTEM_NAMES[esp])
    logging.info(
        "%s exports %s of %s contents; %s of %s pairs with %s links, senders and years are wrong",
        *(esp, generator.counts["exported"], generator.counts["generated"]),
        *(len(wrong), CONTENTS, names),
    )
    assert not wrong, f"{len(wrong)} of {CONTENTS} are wrong, for example:\n{min(wrong, key=len)}"
    assert generator.counts["exported"] >= 0.25 * generator.counts["generated"]


LADDER_TESTS = (
    *("visits >= 10", "visits >= 3", "visits > 1", "visits < 3", "visits <= 10", "visits = 1"),
    *("visits is set", "visits is not set", 'visits >= 3 and tier = "gold"', "not visits > 1"),
    *('visits < 3 or tier = "gold"', "visits >= 1 and visits <= 3", 'tier = "gold"'),
)
LADDER_RECIPIENTS = tuple(
    {**({} if visits is None else {"visits": visits}), **({} if tier is None else {"tier": tier})}
    for visits in (None, 0, 1, 3, 10)
    for tier in (None, "gold", "x")
)


@EVERY_ENGINE
def test_branches_about_one_field_show_what_the_preview_shows(esp, engine):
    random, fields, codes = Random(esp), synced_fields(esp), synced_codes(esp)
    cases: list[tuple[str, Mapping[str, object]]] = []
    expected: list[str] = []
    for _ in range(CONTENTS // 20):
        first, *others = map(with_prefixes, random.choices(LADDER_TESTS, k=random.randint(2, 5)))
        branches = [f"{{{{else if {test}}}}}{number}" for number, test in enumerate(others)]
        source = f"{{{{#if {first}}}}}first{''.join(branches)}{{{{else}}}}other{{{{/if}}}}"
        content = parse_content(source)
        exported = export_content(content, codes, esp)
        for recipient in LADDER_RECIPIENTS:
            values = stored(esp, recipient, Form.TYPED)
            named = {esp_name(esp, key): value for key, value in values.items()}
            cases.append((exported.content, named))
            expected.append(preview_content(content, fields, recipient).content)
    assert render_all(esp, cases, engine) == expected


@pytest.mark.parametrize(
    ("esp", "engine"),
    [
        (Esp("braze"), Engine.RUBY_LIQUID),
        (Esp("customerio"), Engine.RUBY_LIQUID),
        (Esp("hubspot"), Engine.JINJAVA),
    ],
)
def test_an_engine_shows_a_comment_in_a_raw_part(esp, engine):
    source = "{% raw %}a {{! b }} c{% endraw %}{{! d }}"
    template = export_content(parse_content(source), synced_codes(esp), esp).content
    assert render(esp, template, {}, engine) == "a {{! b }} c"
