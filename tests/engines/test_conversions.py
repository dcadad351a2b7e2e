"""A converted template renders what the source renders, for generated templates and recipients."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Mapping
from html import unescape
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attrs import evolve, frozen
from hypothesis import settings

from recipient_fields.domain import DataType, FieldDraft, define_fields
from recipient_fields.domain.content import (
    InvalidContent,
    Surface,
    parse_content,
    preview_content,
)
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportOptions, export_content
from recipient_fields.domain.esp.languages.conditions import Falsy
from recipient_fields.domain.esp.names import PORTABLE
from recipient_fields.domain.esp.profiles.profile import Engine
from recipient_fields.domain.integrations import (
    Conversion,
    ConversionOptions,
    Outcome,
    UsedField,
    convert,
)

from .conversions import (
    BOOLEANS,
    CANDIDATES,
    DATES,
    DIALECTS,
    NUMBERS,
    TEXTS,
    UNTYPED,
    Generator,
    generate_recipient,
)
from .errors import NotRendered
from .event import Sent
from .generation import Form, esp_name, stored, synced_codes, synced_fields
from .rendering import ENGINES, render_all
from .system_values import TODAY

TEMPLATES = int(os.environ.get("RECIPIENT_FIELDS_CONVERTED_TEMPLATES", settings().max_examples))
"""25 per source in `make test`, 300 in `make test-engines`, and 20,000 in `make test-long`."""
RECIPIENTS = 4
TYPES = {
    DataType.TEXT: (*TEXTS, *DATES),
    DataType.NUMBER: NUMBERS,
    DataType.BOOLEAN: BOOLEANS,
    DataType.DATE: DATES,
}

_MARK = re.compile(r"\[(?:BY HAND: line \d+|END BY HAND)\]")


@frozen
class Case:
    source: str
    converted: Conversion
    recipient: Mapping[str, object]

    def describe(self, expected: object, rendered: object) -> str:
        return (
            f"{self.source!r}\n  recipient  {dict(self.recipient)}"
            f"\n  converted  {self.converted.content!r}"
            f"\n  expected   {expected!r}\n  rendered   {rendered!r}"
        )


def generate(source: Esp, target: str, engine: Engine | None = None) -> list[Case]:
    """Return cases without tags by hand, unless the engine is the source's: it reads them, too."""
    random = Random(f"{source} {target}")
    dialect = DIALECTS[source]
    if target != PORTABLE and BUILT_IN[Esp(target)].filters.shared:
        more: dict[str, Any] = {
            name: (*getattr(dialect, name), *each) for name, each in dialect.copied.items()
        }
        dialect = evolve(dialect, **more)
    generator = Generator(random, dialect)
    cases: list[Case] = []
    kept = tags = 0
    while len(cases) < TEMPLATES:
        text = f"<p>{generator.template()}</p>"
        converted = convert(text, read=source, write=target)
        counted = converted.counts
        tags += len(converted.tags)
        kept += counted[Outcome.BY_HAND] + counted[Outcome.CONSEQUENCE]
        is_code = source == target and engine == ENGINES[source][0]
        if (is_code or not counted[Outcome.BY_HAND]) and all(map(has_its_type, converted.fields)):
            cases += [Case(text, converted, generate_recipient(random)) for _ in range(RECIPIENTS)]
    logging.info("%s to %s: %s of %s tags are by hand", source, target, kept, tags)
    return cases


def has_its_type(field: UsedField) -> bool:
    """Return whether the values of the recipients have the type that the template shows."""
    return field.key in (*TYPES[field.data_type], *UNTYPED)


def names(esp: Esp, recipient: Mapping[str, object]) -> Mapping[str, object]:
    """Return the values by their names at the ESP."""
    convention = BUILT_IN[esp].names
    return {
        convention.standard_fields.get(key, convention.derive(key)): value
        for key, value in stored(esp, recipient, Form.TYPED).items()
    }


def is_excused(case: Case, engine: Engine | None = None) -> bool:
    """Return whether a caveat names a value of the recipient, for the engine if it names one."""
    caveats = [
        reason
        for tag in case.converted.tags
        if tag.outcome is Outcome.CAVEAT
        for reason in tag.reasons
        if engine is Engine.LIQUIDJS or not reason.startswith("LiquidJS")
    ]
    return any(_names(caveat, case.recipient) for caveat in caveats)


def _names(caveat: str, recipient: Mapping[str, object]) -> bool:
    missing = [key for key in CANDIDATES if key not in recipient]
    empty = [key for key, value in recipient.items() if value == ""]
    if "missing or null" in caveat:
        return any(key in caveat for key in missing)
    if "This code reads" in caveat:
        return any(
            is_named(caveat, recipient.get(key)) for key in CANDIDATES if f" in {key} as " in caveat
        )
    if "does not show the default instead of an empty text" in caveat:
        return bool(empty)
    if "an empty text" in caveat.lower() and (empty or missing):
        return any(key in caveat for key in (*empty, *missing))
    if "shows the default instead of" in caveat:
        return 0 in recipient.values()
    if caveat.startswith("The default in this test replaces"):
        return any(not recipient.get(key, True) for key in CANDIDATES if f"in {key} at" in caveat)
    if "shows no date here that is a text" in caveat:
        return bool(recipient.get("joined"))
    if "writes a blank as + here" in caveat:
        return any(" " in str(value) for value in recipient.values())
    if "does not encode the character /" in caveat:
        return any("/" in str(value) for value in recipient.values())
    if caveat.startswith(("LiquidJS calculates", "LiquidJS divides")):
        return any(type(value) in {int, float} for value in recipient.values())
    if "in words with other characters than A to Z" in caveat:
        return any(re.search("[^A-Za-z ]", str(value)) for value in recipient.values())
    if "stores numbers, true and false as texts" in caveat:
        return any(isinstance(value, bool) for value in recipient.values())
    if caveat.startswith("LiquidJS also writes ..."):
        return bool(missing) or any(isinstance(value, str) for value in recipient.values())
    if caveat.startswith("LiquidJS does not encode"):
        return any("'" in str(value) for value in recipient.values())
    return False


FALSY: Mapping[Falsy, object] = {
    Falsy.MISSING: None,
    Falsy.FALSE: False,
    Falsy.ZERO: 0,
    Falsy.EMPTY_TEXT: "",
    Falsy.WHITE_SPACE: " ",
    Falsy.EMPTY_LIST: [],
    Falsy.EMPTY_OBJECT: {},
    Falsy.FALSE_TEXT: "false",
}


def is_named(caveat: str, value: object) -> bool:
    """Return whether a caveat about a test names the value. Only words begin with another name."""
    names = re.findall(
        r"(?:^|[ ,])(" + "|".join(each.value for each in Falsy) + ")(?=[ ,])", caveat
    )
    return any(
        FALSY[Falsy(name)] == value and type(FALSY[Falsy(name)]) is type(value) for name in names
    )


def find_wrong(
    cases: Iterable[Case],
    expected: Iterable[object],
    rendered: Iterable[object],
    engine: Engine | None = None,
) -> list[str]:
    wrong, compared = [], 0
    for case, left, right in zip(cases, expected, rendered, strict=True):
        if isinstance(left, NotRendered):
            continue
        compared += 1
        is_equal = not isinstance(right, NotRendered) and unescape(str(left)) == unescape(
            str(right)
        )
        if not is_equal and not is_excused(case, engine):
            wrong.append(case.describe(left, right))
    assert compared > TEMPLATES / 2, f"The source rejects all but {compared} templates."
    return wrong


PAIRS = [
    pytest.param(source, target, engine, id=f"{source}-{target}-{engine}")
    for source in DIALECTS
    for target in ("klaviyo", "braze", "onesignal", "customerio")
    for engine in ENGINES[Esp(target)]
]


@pytest.mark.parametrize(("source", "target", "engine"), PAIRS)
def test_a_converted_template_renders_the_same_text(source, target, engine):
    cases = generate(source, target, engine)
    expected = render_all(
        source, [(each.source, names(source, each.recipient)) for each in cases], ENGINES[source][0]
    )
    rendered = render_all(
        Esp(target),
        [
            (_MARK.sub("", each.converted.content), names(Esp(target), each.recipient))
            for each in cases
        ],
        engine,
    )
    wrong = find_wrong(cases, expected, rendered, engine)
    assert not wrong, f"{len(wrong)} of {len(cases)} are wrong, for example:\n{min(wrong, key=len)}"


WRITTEN = (
    *("{{recipient.tier}}", '{{recipient.tier | default: "there"}}', "{{recipient.visits}}"),
    *("{{recipient.tier | upper}}", "{{event.order_id}}", '{{event.order_id | default: "none"}}'),
    *("a ", "<p>", "; "),
)
WRITTEN_IN_LOOP = ("{{item.name}}", "{{item.qty}}", "{{#if item.qty > 2}}!{{/if}}", ", ")
TESTS = (
    *('recipient.tier = "gold"', 'recipient.tier != "gold"', "recipient.tier is set"),
    *("recipient.visits > 2", "recipient.visits <= 2 and recipient.visits is set"),
    *('recipient.tier = "x" or recipient.visits = 3', "not (recipient.visits >= 1)"),
    *("event.total >= 3", 'event.order_id = "gold"'),
)
TARGETS = [each.esp for each in BUILT_IN]


def written(random: Random, depth: int = 2) -> str:
    """Return content, whose code for an ESP is a template in its language."""
    kind = random.random() if depth else 0
    if kind < 0.6:
        return "".join(random.choices(WRITTEN, k=random.randint(1, 3)))
    inner, other = written(random, depth - 1), written(random, depth - 1)
    if kind < 0.85:
        return f"{{{{#if {random.choice(TESTS)}}}}}{inner}{{{{else}}}}{other}{{{{/if}}}}"
    body = "".join(random.choices(WRITTEN_IN_LOOP, k=2))
    return f"{{{{#each event.lines as item}}}}{body}{{{{else}}}}{other}{{{{/each}}}}"


def data(random: Random) -> tuple[dict[str, object], dict[str, object]]:
    """Return the values of a recipient, and those of an event."""

    def some(values: Mapping[str, object]) -> dict[str, object]:
        return {key: value for key, value in values.items() if random.random() < 0.8}

    text, number = ("gold", "x", "a b"), (1, 3, 10)
    lines = [
        {"name": random.choice(text), "qty": random.choice(number)}
        for _ in range(random.randint(0, 2))
    ]
    recipient = some({"tier": random.choice(text), "visits": random.choice(number)})
    event = {"order_id": random.choice(text), "total": random.choice(number), "lines": lines}
    return recipient, some(event)


def is_about_list(converted: Conversion, event: Mapping[str, object]) -> bool:
    """Return whether a caveat names the empty list of the event."""
    reasons = (reason for tag in converted.tags for reason in tag.reasons)
    return not event.get("lines") and any("empty list" in reason for reason in reasons)


@pytest.mark.parametrize("source", TARGETS)
def test_the_code_of_each_esp_becomes_code_of_each_other_one(source):
    """Compare the previews of the content with what the targets' engines render."""
    random, codes, fields = Random(source), synced_codes(source), synced_fields(source)
    options = ConversionOptions(names={esp_name(source, key): key for key in ("tier", "visits")})
    compared = dict.fromkeys(TARGETS, 0)
    cases: dict[Esp, list[tuple[str, Sent]]] = {target: [] for target in TARGETS}
    expected: dict[Esp, list[tuple[str, str]]] = {target: [] for target in TARGETS}
    events = BUILT_IN[source].events
    has_fields_only = isinstance(events, str) or events.write_path is None
    for _ in range(TEMPLATES):
        content = written(random)
        if has_fields_only and "event." in content:
            continue  # The code does not differ from that of a field.
        try:
            code = export_content(
                parse_content(content), codes, source, ExportOptions(surface="html")
            ).content
        except InvalidContent:
            continue
        recipient, event = data(random)
        shown = preview_content(parse_content(content), fields, recipient, event=event).content
        for target in TARGETS:
            converted = convert(code, read=source, write=target, options=options)
            if not converted.counts[Outcome.BY_HAND] and not is_about_list(converted, event):
                sent = Sent(names(target, recipient), event)
                cases[target].append((converted.content, sent))
                expected[target].append((content, shown))
    wrong = []
    for target in TARGETS:
        for engine in ENGINES[target]:
            rendered = render_all(target, cases[target], engine)
            for (content, shown), case, text in zip(
                expected[target], cases[target], rendered, strict=True
            ):
                if isinstance(text, NotRendered) or unescape(text) != unescape(shown):
                    wrong.append(f"{target} {engine}\n{content}\n{case}\n{shown!r}\n{text!r}")
        compared[target] = len(cases[target])
    logging.info("%s: %s, %s wrong", source, compared, len(wrong))
    assert not wrong, f"{len(wrong)} are wrong, for example:\n{min(wrong, key=len)}"


SETS = {
    Esp("klaviyo"): ("person.extra", "not person.extra"),
    Esp("brevo"): ("contact.EXTRA",),
    Esp("hubspot"): ("contact.extra", "contact.extra is none", "contact.extra != ''"),
    Esp("braze"): (
        *("custom_attribute.${extra}", "custom_attribute.${extra} != blank"),
        *("custom_attribute.${extra} == nil", "custom_attribute.${extra} != ''"),
        *("custom_attribute.${extra} == empty", "nil != custom_attribute.${extra}"),
        "custom_attribute.${extra} and custom_attribute.${extra} != ''",
        "custom_attribute.${extra} != nil and custom_attribute.${extra} != ''",
    ),
    Esp("sendgrid"): ("extra",),
    Esp("iterable"): ("extra",),
}
"""Tests of a value whose type no tag shows, at the ESPs whose engines read all values."""


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("target", SETS)
@pytest.mark.parametrize("source", SETS)
def test_a_test_takes_the_same_branch_for_each_value_that_no_caveat_names(source, target, exact):
    values = (*FALSY.values(), True, 1, -1, "a", "0", [0], {"a": 1})
    handlebars = ("{{#if TEST}}a{{else}}b{{/if}}", "{{#unless TEST}}c{{/unless}}")
    others = ("{% if TEST %}a{% else %}b{% endif %}", "{% if TEST %}c{% endif %}")
    options = ConversionOptions(bare="field", exact=exact, names={"EXTRA": "extra"})
    is_handlebars = source in {Esp("sendgrid"), Esp("iterable")}
    for test, form in product(SETS[source], handlebars if is_handlebars else others):
        template = form.replace("TEST", test)
        converted = convert(template, read=source, write=target, options=options)
        if converted.counts[Outcome.BY_HAND]:
            assert exact
            continue
        caveats = [each for tag in converted.tags for each in tag.reasons if "This code" in each]
        assert not (exact and caveats)
        sent = [{} if each is None else {"extra": each} for each in values]
        expected = render_all(
            source, [(template, names(source, each)) for each in sent], ENGINES[source][0]
        )
        for engine in ENGINES[target]:
            rendered = render_all(
                target, [(converted.content, names(target, each)) for each in sent], engine
            )
            for value, left, right in zip(values, expected, rendered, strict=True):
                if isinstance(left, NotRendered) or isinstance(right, NotRendered):
                    continue  # The stand-in for Jinjava does not compare lists with texts.
                is_excused = any(is_named(each, value) for each in caveats)
                assert (left == right) is not is_excused, (template, converted.content, value)


LINES_WITH_TAGS = (
    "Hi\n{{#each lines}}\n- {{name}}\n{{/each}}\nBye",
    "{{#if tier}}\r\n  a\r\n{{else}}  \r\nb\r\n  {{/if}}",
    "a {{#if tier}}\n\n\tb {{tier}}\n{{/if}} c\n\n{{!-- d --}}\n {{!e}} \nf",
    "{{#if tier}}{{#if lines}}\n{{/if}}{{/if}}\n{{tier}}\n{{~#if lines}}\n{{/if~}}\nz",
    "  {{#each lines}}\n{{#if name}}\n  {{name}}\n{{/if}}\n{{/each}}\n\n",
    r"\\{{tier}} \\\{{#if tier}}a\\{{else}}b{{/if}} {{! c}}\\{{! d}}",
)


@pytest.mark.parametrize("text", LINES_WITH_TAGS)
@pytest.mark.parametrize("source", ["sendgrid", "iterable"])
def test_a_plain_text_has_the_lines_that_handlebars_shows(source, text):
    event = {"tier": "gold", "lines": [{"name": "x"}, {"name": "y"}]}
    options = ConversionOptions(bare="event", surface=Surface.TEXT)
    (expected,) = render_all(Esp(source), [(text, Sent({}, event))], Engine.HANDLEBARS)
    for target in (Esp("braze"), Esp("klaviyo"), Esp("sendgrid")):
        content = convert(text, read=source, write=target, options=options).content
        assert render_all(target, [(content, Sent({}, event))]) == [expected], content


ORDER = Path(__file__).parents[2] / "docs/examples/emails/order-confirmation.html"
LINES: tuple[Mapping[str, object], ...] = (
    {"Quantity": 2, "Product Name": "Lamp <b> & co", "Price": 19.5, "Gift": True, "Note": "For A"},
    {"Quantity": 1, "Product Name": "Cup", "Price": "4.90", "Gift": True, "Note": ""},
    {"Quantity": 3, "Product Name": "Tray", "Price": 7, "Note": "x"},
)
ORDERS: tuple[Mapping[str, object], ...] = (
    {"OrderId": "A-17", "Lines": LINES, "Total": 61.5},
    {"OrderId": 18, "Lines": LINES[2:], "Total": 50},
    {"OrderId": "A-19", "Lines": [], "Total": 0},
    {},
)
"""The data of orders. The names are such that no method of Python hides them in Django."""


@pytest.mark.parametrize(
    ("target", "engine"),
    [
        (Esp(target), engine)
        for target in ("braze", "iterable", "sendgrid")
        for engine in ENGINES[Esp(target)]
    ],
)
def test_an_order_confirmation_of_klaviyo_renders_the_same_text(target, engine):
    source, klaviyo = ORDER.read_text(), Esp("klaviyo")
    converted = convert(source, read=klaviyo, write=target)
    recipients = [{"first_name": "Ada"}, {}]
    sent = [(recipient, order) for recipient in recipients for order in ORDERS]

    expected = render_all(klaviyo, [(source, Sent(*each)) for each in sent], Engine.DJANGO)
    rendered = render_all(
        target,
        [(converted.content, Sent(names(target, recipient), event)) for recipient, event in sent],
        engine,
    )

    assert converted.counts[Outcome.BY_HAND] == 0
    assert [" ".join(unescape(str(each)).split()) for each in rendered] == [
        " ".join(unescape(str(each)).split()) for each in expected
    ]


@pytest.mark.parametrize("source", DIALECTS)
def test_a_template_as_content_previews_the_same_text(source):
    cases = generate(source, "portable")
    expected = render_all(
        source, [(each.source, names(source, each.recipient)) for each in cases], ENGINES[source][0]
    )
    rendered = [preview(each) for each in cases]
    wrong = find_wrong(cases, expected, rendered)
    assert not wrong, f"{len(wrong)} of {len(cases)} are wrong, for example:\n{min(wrong, key=len)}"


def preview(case: Case) -> str:
    types = {each.key: each.data_type for each in case.converted.fields}
    recipient = {key: value for key, value in case.recipient.items() if key in types}
    for key in UNTYPED:
        value = recipient.get(key)
        if isinstance(value, bool | int):
            types[key] = DataType.BOOLEAN if isinstance(value, bool) else DataType.NUMBER
        elif isinstance(value, list | dict):
            recipient[key] = "a list or an object, which content does not have"
    fields = define_fields(
        FieldDraft(name=key, key=key, data_type=data_type) for key, data_type in types.items()
    )
    content = parse_content(case.converted.content)
    return preview_content(content, fields, recipient, today=TODAY).content
