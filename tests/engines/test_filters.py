"""Values with filters render what the preview shows, for generated filters and values."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from html import unescape
from itertools import islice
from random import Random

import pytest
from attrs import frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.conditions import Value
from recipient_fields.domain.content import (
    InvalidContent,
    Surface,
    WarningCode,
    parse_content,
    preview_content,
)
from recipient_fields.domain.content.filters import (
    DATE_PART,
    DATE_PARTS,
    DATE_STYLES,
    Filter,
    FilterName,
    apply_filters,
)
from recipient_fields.domain.content.syntax import MAX_FILTERS
from recipient_fields.domain.esp import BUILT_IN, Esp, ExportOptions, export_content
from recipient_fields.domain.esp.profiles.profile import Engine, FilterForm

from .differences import CAVEATS, EXAMPLES, inputs, names, read_value, stored
from .errors import NotRendered
from .generation import DATA_TYPES, esp_name, synced_codes, synced_fields
from .rendering import ENGINES, render, render_all

PAIRS = int(os.environ.get("RECIPIENT_FIELDS_CONDITION_PAIRS", "1000"))
VALUES_PER_REFERENCE = 10

KEYS = {
    DataType.TEXT: ("tier", "home_city"),
    DataType.NUMBER: ("visits", "score"),
    DataType.DATE: ("joined",),
    DataType.DATETIME: ("seen",),
}
TEXT_FILTERS = (FilterName.UPPER, FilterName.LOWER, FilterName.TITLE, FilterName.URL)
TEXTS = (
    *("gold", "New York", "Zürich", "JEAN-LUC", "o'neil", "it's", "McDonald", "1st a_b", "Straße"),
    *("ΟΔΟΣ", "İstanbul", "ﬁn", "ǆ", "ŉ", "日本語", "cafe\u0301", "\U0001f680 go", "é" * 300),
    *("x" * 300, "a  b\tc", '"q"', "<b>&amp;</b>", "a&b=c/d?e#f", "!'()*~-_.", "50%", "a+b", " "),
    *("%%=v(@x)=%%", "{{x}}", "{% x %}", "*|A|*", "\\", "\u2019tis", "x\u00a0y"),
)
ARITHMETIC = (FilterName.PLUS, FilterName.MINUS, FilterName.TIMES)
LISTS = (FilterName.FIRST, FilterName.JOIN)
"""The filters of event data, which `test_events.py` executes."""
ALPHABET = "abcXYZ éÉßñΣσςÅи'-_.&<>\"+%/日🚀\u0301"
NUMBERS = (
    *(0, 1, -1, 3, 0.5, -0.5, 2.5, 1.005, -1.005, 2.675, 0.125, -0.001, 0.1, 1e-7, 9.995),
    *(1234567.891, -1234567, 9007199254740991, -9007199254740991),
)
DATES = (
    *(date(2028, 2, 29), date(2000, 2, 29), date(1970, 1, 1), date(1969, 12, 31)),
    *(date(2026, 3, 5), date(2026, 12, 31), date(1900, 1, 1), date(2026, 9, 9)),
)
INSTANTS = (
    *("2026-11-20T09:15:00.000Z", "2026-12-31T23:59:59.999Z", "2028-02-29T00:00:00.000Z"),
    *("2026-11-20T00:30:00+02:00", "2026-11-20T23:30:00-05:00", "1969-07-20T20:17:00.000Z"),
)


@frozen
class Case:
    """A reference, a value, what its filters read, what the ESP renders and the preview shows."""

    source: str
    value: object
    inputs: tuple[object, ...]
    template: str
    stored: object
    key: str
    expected: str
    surface: Surface
    differences: tuple[str, ...]

    def is_shown(self, text: str) -> bool:
        """Return whether a reader sees what is expected. Engines escape different characters."""
        if self.surface is Surface.HTML:
            return unescape(text) == unescape(self.expected)
        return text == self.expected

    @property
    def is_excused(self) -> bool:
        return any(names(each, self.inputs) for each in self.differences)


def generate_filters(random: Random, data_type: DataType) -> tuple[Filter, ...]:
    """Return filters for values of this type, at most as many as a reference can have."""
    filters: list[Filter] = []
    if data_type is DataType.NUMBER:
        while random.random() < 0.3 and len(filters) < MAX_FILTERS - 1:
            name, number = random.choice(ARITHMETIC), random.choice((1, -3, 100, 0.5, 1.2))
            filters.append(Filter(name, number))
        filters.append(Filter(FilterName.NUMBER, random.choice((0, 1, 2, 2, 3, 4))))
    elif data_type is not DataType.TEXT:
        filters.append(Filter(FilterName.DATE, generate_format(random)))
        if random.random() < 0.7:
            return tuple(filters)
    for _ in range(0 if data_type is DataType.NUMBER else random.choice((1, 1, 1, 2, 3))):
        if random.random() < 0.25:
            filters.append(Filter(FilterName.TRUNCATE, random.choice((1, 2, 4, 5, 20, 300))))
        else:
            filters.append(Filter(random.choice(TEXT_FILTERS)))
    return tuple(filters)


def generate_format(random: Random) -> str:
    """Return one of the formats of dates with a name, or one with several parts."""
    if random.random() < 0.3:
        return random.choice([*DATE_STYLES.values()])
    parts = random.choices([*DATE_PARTS], k=random.randint(2, 5))
    return random.choice((" ", ", ", "/", "-", ".", "")).join(parts)


def generate_value(random: Random, data_type: DataType) -> object:
    if random.random() < 0.1:
        return random.choice((None, ""))
    is_listed = random.random() < 0.6
    match data_type:
        case DataType.TEXT:
            length = random.randint(1, 12)
            return (
                random.choice(TEXTS) if is_listed else "".join(random.choices(ALPHABET, k=length))
            )
        case DataType.NUMBER:
            return random.choice(NUMBERS) if is_listed else round(random.uniform(-1e4, 1e4), 4)
        case DataType.DATE:
            day = date(1900, 1, 1) + timedelta(days=random.randrange(73_000))
            return (random.choice(DATES) if is_listed else day).isoformat()
    instant = datetime(1980, 1, 1, tzinfo=UTC) + timedelta(minutes=random.randrange(30_000_000))
    return random.choice(INSTANTS) if is_listed else instant.strftime("%Y-%m-%dT%H:%M:00.000Z")


def generate(esp: Esp, random: Random, counts: Counter[str]) -> Iterator[Case]:
    """Yield cases without end."""
    fields, codes = synced_fields(esp), synced_codes(esp)
    while True:
        data_type = random.choice(tuple(KEYS))
        key = random.choice(KEYS[data_type])
        filters = generate_filters(random, data_type)
        default = random.choice(("", "", ' | default: "Nobody & <you>"'))
        source = f"{{{{recipient.{key} | {' | '.join(map(str, filters))}{default}}}}}"
        content = parse_content(source)
        surface = random.choice(tuple(Surface))
        counts["generated"] += 1
        try:
            exported = export_content(content, codes, esp, ExportOptions(surface=surface))
        except InvalidContent:
            continue
        counts["exported"] += 1
        differences = tuple(each.message for each in exported.warnings if each.code in CAVEATS)
        for _ in range(VALUES_PER_REFERENCE):
            value = generate_value(random, data_type)
            shown = preview_content(content, fields, {key: value}, surface=surface).content
            yield Case(
                source=source,
                value=value,
                inputs=tuple(inputs(value, data_type, filters)),
                template=f"<p>{exported.content}</p>",
                stored=stored(esp, value, data_type),
                key=key,
                expected=f"<p>{shown}</p>",
                surface=surface,
                differences=differences,
            )


WITHOUT_FILTERS = {Esp("hubspot"), Esp("activecampaign")}


@pytest.mark.parametrize(
    ("esp", "engine"),
    [
        (esp, engine)
        for esp, engines in ENGINES.items()
        for engine in engines
        if esp not in WITHOUT_FILTERS
    ],
)
def test_an_engine_renders_what_the_preview_shows(esp, engine):
    counts: Counter[str] = Counter()
    cases = list(islice(generate(esp, Random(esp), counts), PAIRS))
    batch = [(case.template, {esp_name(esp, case.key): case.stored}) for case in cases]
    rendered = render_all(esp, batch, engine)
    different = [
        (case, text)
        for case, text in zip(cases, rendered, strict=True)
        if isinstance(text, NotRendered) or not case.is_shown(text)
    ]
    wrong = [
        f"{case.source}\n  value     {case.value!r}\n  template  {case.template}"
        f"\n  expected  {case.expected!r}\n  rendered  {text!r}"
        for case, text in different
        if not case.is_excused
    ]
    logging.info(
        "%s exports %s of %s references; %s of %s pairs are wrong, and caveats excuse %s",
        *(esp, counts["exported"], counts["generated"]),
        *(len(wrong), PAIRS, len(different) - len(wrong)),
    )
    assert not wrong, f"{len(wrong)} of {PAIRS} are wrong, for example:\n{min(wrong, key=len)}"


ORDINARY: Mapping[FilterName, tuple[str, Value]] = {
    **dict.fromkeys((*TEXT_FILTERS, FilterName.TRUNCATE), ("tier", "gold")),
    **dict.fromkeys((*ARITHMETIC, FilterName.NUMBER), ("visits", 2.24)),
    FilterName.DATE: ("joined", "2026-03-05"),
}
FORMS = [
    pytest.param(esp, engine, name, id=f"{esp}-{engine.value if engine else ''}-{name.value}")
    for esp in BUILT_IN.esps
    for name, form in BUILT_IN[esp].filters.forms.items()
    if isinstance(form, FilterForm) and name not in LISTS
    for engine in ENGINES[esp]
]
ARGUMENTS = {
    FilterName.TRUNCATE: (4, 20),
    FilterName.NUMBER: (0, 1, 3),
    FilterName.DATE: (*DATE_STYLES.values(), "%a, %b %-d, %y", "%-m/%-d"),
    **dict.fromkeys(ARITHMETIC, (3, -1, 1.2)),
}


@pytest.mark.parametrize(("esp", "engine", "name"), FORMS)
def test_an_ordinary_value_needs_no_excuse(esp, engine, name):
    key, value = ORDINARY[name]
    for argument in ARGUMENTS.get(name, (None,)):
        if esp == Esp("sfmc") and {"%A", "%a", "%-m"} & {*DATE_PART.findall(str(argument))}:
            continue
        filters = [Filter(name, argument)]
        filters += [Filter(FilterName.NUMBER, 2)] if name in ARITHMETIC else []
        source = f"{{{{recipient.{key} | {' | '.join(map(str, filters))}}}}}"
        exported = export_content(parse_content(source), synced_codes(esp), esp)
        at_esp = {esp_name(esp, key): stored(esp, value, DATA_TYPES[key])}
        read = read_value(value, DATA_TYPES[key])
        assert read is not None
        assert render(esp, exported.content, at_esp, engine) == apply_filters(read, filters)


DIFFERENCES = [
    (Esp("sfmc"), None, "tier | title", "jean-luc", "Jean-luc"),
    (Esp("sfmc"), None, "tier | url", "é~ (a)!", "%c3%a9%7e%20(a)!"),
    (Esp("sfmc"), None, "tier | url", " ", " "),
    (Esp("sfmc"), None, "tier | truncate: 2", "\U0001f680\U0001f680", "\ufffd…"),
    (
        Esp("sfmc"),
        None,
        "visits | minus: 0.5 | number: 1",
        9007199254740991,
        "9007199254740990.5",
    ),
    (Esp("sfmc"), None, "visits | times: -3 | number: 1", 0, "-0.0"),
    (Esp("braze"), Engine.RUBY_LIQUID, "tier | lower", "ΟΔΟΣ", "οδο\u03c3"),
    (Esp("braze"), Engine.LIQUIDJS, "tier | url", "o'neil (work)", "o'neil%20(work)"),
    (Esp("braze"), Engine.LIQUIDJS, "visits | times: 3 | number: 1", 0.35, "1.0"),
    (Esp("klaviyo"), Engine.DJANGO, "tier | truncate: 4", "cafe\u0301", "caf\u00e9"),
    (Esp("brevo"), Engine.PONGO2, "tier | upper", "Straße", "STRAßE"),
    (Esp("brevo"), Engine.PONGO2, "tier | lower", "ΟΔΟΣ", "οδο\u03c3"),
    (Esp("brevo"), Engine.PONGO2, "tier | title", "it's", "It'S"),
    (Esp("brevo"), Engine.PONGO2, "tier | title", "a_b", "A_b"),
    (Esp("brevo"), Engine.PONGO2, "tier | truncate: 6", "Zürich 1", "Zür..."),
    (Esp("brevo"), Engine.PONGO2, "visits | number: 2", 1.005, "1.00"),
    (Esp("brevo"), Engine.PONGO2, "visits | number: 2", -0.001, "-0.00"),
    (Esp("iterable"), Engine.HANDLEBARS, "tier | title", "jean-luc", "Jean-luc"),
    (Esp("iterable"), Engine.HANDLEBARS, "tier | truncate: 6", "Zürich 1", "Zür..."),
    (Esp("iterable"), Engine.HANDLEBARS, "tier | url", "a *~", "a+*%7E"),
    (Esp("iterable"), Engine.HANDLEBARS, "visits | number: 2", 1.005, "1.00"),
    (Esp("iterable"), Engine.HANDLEBARS, "visits | number: 2", "3", ""),
]
"""The examples of the caveats, and what an engine renders instead of the preview."""


@pytest.mark.parametrize(("esp", "engine", "reference", "value", "rendered"), DIFFERENCES)
def test_an_engine_differs_for_the_example_of_a_caveat(esp, engine, reference, value, rendered):
    source = f"{{{{recipient.{reference}}}}}"
    exported = export_content(parse_content(source), synced_codes(esp), esp)
    assert WarningCode.FILTER_DIFFERENCE in [each.code for each in exported.warnings]
    name = esp_name(esp, reference.partition(" ")[0])
    assert unescape(render(esp, exported.content, {name: value}, engine)) == rendered


def test_each_difference_has_its_values():
    differences = {
        difference
        for profile in BUILT_IN
        for form in profile.filters.forms.values()
        if isinstance(form, FilterForm)
        for difference in (*form.differences, form.difference_of_instants)
        if difference is not None
    }
    for phrase in EXAMPLES:
        assert any(phrase in each for each in differences), phrase
    for difference in differences:
        assert any(phrase in difference for phrase in EXAMPLES), difference
