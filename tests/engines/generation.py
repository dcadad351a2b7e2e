"""Generated fields, conditions and recipients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from enum import Enum
from random import Random

from recipient_fields.domain import (
    MAX_SAFE_INTEGER,
    Channel,
    DataType,
    FieldDraft,
    FieldId,
    IntegrationId,
    OrganizationId,
    RecipientField,
    sync_channel,
)
from recipient_fields.domain.conditions import (
    SUPPORTED_OPERATORS,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Operator,
    Value,
)
from recipient_fields.domain.content.preview import format_value
from recipient_fields.domain.esp import Esp, derive_codes
from recipient_fields.domain.integrations import FieldCodes, IntegrationDraft

DATA_TYPES = {
    "tier": DataType.TEXT,
    "home_city": DataType.TEXT,
    "visits": DataType.NUMBER,
    "score": DataType.NUMBER,
    "vip": DataType.BOOLEAN,
    "joined": DataType.DATE,
    "seen": DataType.DATETIME,
}
_STANDARD_NAMES = {
    (Esp("klaviyo"), "home_city"): "first_name",
    (Esp("braze"), "home_city"): "home_city",
}
"""Standard fields, which Klaviyo and Braze write differently."""
_FREQUENCIES = (8, 5, 8, 5, 5, 1, 1)
"""Few dates: most ESPs have no documented comparison of dates."""
_UPPER_CASE = {Esp("mailchimp"), Esp("brevo"), Esp("activecampaign")}
_WITH_SPACES = {Esp("sfmc"), Esp("klaviyo"), Esp("braze"), Esp("customerio"), Esp("iterable")}

WITHOUT_BOOLEANS = {Esp("mailchimp"), Esp("activecampaign"), Esp("onesignal")}
"""The ESPs that can store a boolean only as text, as their caveats say."""

NO_EMPTY_TEXTS = {Esp("sendgrid")}
"""The ESPs that don't document whether they show the default instead of an empty text."""


class Form(Enum):
    """How the ESP stores the values of a recipient."""

    TYPED = "with their types"
    NUMBERS_AS_TEXTS = "numbers stored as texts"
    BOOLEANS_AS_TEXTS = "booleans stored as texts"
    DECIMALS = "integers stored as decimals"
    EMPTY_TEXTS = "empty texts in every type"
    NULLS = "null instead of missing values"


WORDS = ("gold", "Gold", "silver", "a b", "Zürich", "日本", "x")
UNUSUAL_TEXTS = (
    *("it's", 'say "x"', 'it\'s "x"', "50%", "%%", "]%%", "a|b", "*|", "|*", "a}b", "{{x}}", "{%"),
    *("\\", "a=b", "a,b", "<b>", "&", "$x", "@x", "%IF", "é\u0301", "\U0001f680", "\u00a0x", "ß"),
    *(
        " ",
        " gold",
        "gold ",
        "0",
        "10",
        "1.0",
        "-1",
        "1e3",
        "true",
        "False",
        "nil",
        "None",
        "blank",
    ),
    *("and", "x or y", "not", "empty", "this", "null", "!", "#", "'", '"', "''"),
)
NUMBERS = (
    *(0, 1, 3, -1, 0.5, -0.5, 2.5, 10, 1000000, 9007199254740991),
    *(0.1, 99.99, 16777217),  # no numbers in single precision
)
DATES = (date(2026, 11, 20), date(2026, 11, 21))
INSTANTS = (datetime(2026, 11, 20, 9, 15, tzinfo=UTC), datetime(2026, 11, 20, 9, 16, tzinfo=UTC))


def esp_name(esp: Esp, key: str) -> str:
    """Return the name of the field at the ESP. Its form is typical of the ESP."""
    if (esp, key) in _STANDARD_NAMES:
        return _STANDARD_NAMES[esp, key]
    if esp in _UPPER_CASE:
        return key.upper()
    if esp == Esp("iterable") and key == "home_city":
        return "home.city"
    return key.replace("_", " ").title() + " #" if esp in _WITH_SPACES else key


def synced_fields(esp: Esp) -> tuple[RecipientField, ...]:
    """Return one field of each data type, and two texts and numbers, as a sync creates them."""
    channel = sync_channel(IntegrationId(1))
    return tuple(
        _field(esp, channel, FieldId(index), key) for index, key in enumerate(DATA_TYPES, start=1)
    )


def synced_codes(esp: Esp) -> FieldCodes:
    """Return the codes of these fields at the integration that they come from."""
    at = datetime(2026, 11, 20, tzinfo=UTC)
    draft = IntegrationDraft(esp=esp, name="Main", created_at=at)
    return FieldCodes.of(
        synced_fields(esp), [draft.with_id(IntegrationId(1), OrganizationId(1)).synced(at)]
    )


def _field(esp: Esp, channel: Channel, field_id: FieldId, key: str) -> RecipientField:
    is_standard = (esp, key) in _STANDARD_NAMES
    codes = derive_codes(esp, esp_name(esp, key), standard=is_standard)
    draft = FieldDraft(
        name=key,
        key=key,
        data_type=DATA_TYPES[key],
        custom_insertion_code=codes.insertion_code,
        custom_value_expression=codes.value_expression,
        esp_field_name=esp_name(esp, key),
    )
    at = datetime(2026, 11, 20, tzinfo=UTC)
    return draft.define(by=channel, at=at).with_id(field_id, OrganizationId(1))


def generate_condition(random: Random, depth: int = 3) -> Condition:
    """Return a condition with at most this depth."""
    if depth == 1 or random.random() < 0.3:
        return _comparison(random)
    parts = tuple(generate_condition(random, depth - 1) for _ in range(random.choice((2, 2, 3))))
    return random.choice((AllOf(parts), AnyOf(parts), Not(parts[0])))


def _comparison(random: Random) -> Comparison:
    key = random.choices(tuple(DATA_TYPES), weights=_FREQUENCIES)[0]
    data_type = DATA_TYPES[key]
    operator = random.choice(sorted(SUPPORTED_OPERATORS[data_type], key=lambda each: each.value))
    match operator:
        case Operator.IS_SET | Operator.IS_NOT_SET | Operator.IS_TRUE:
            return Comparison(key, operator)
        case Operator.IN:
            values = dict.fromkeys(_literal(random, data_type) for _ in range(random.randint(1, 3)))
            return Comparison(key, operator, tuple(values))
    return Comparison(key, operator, _literal(random, data_type))


def _literal(random: Random, data_type: DataType) -> Value:
    match data_type:
        case DataType.TEXT:
            return random.choice(WORDS if random.random() < 0.85 else UNUSUAL_TEXTS)
        case DataType.NUMBER:
            return random.choice(NUMBERS)
        case DataType.BOOLEAN:
            return random.random() < 0.5
        case DataType.DATE:
            return random.choice(DATES)
        case DataType.DATETIME:
            return random.choice(INSTANTS)


def comparisons(condition: Condition) -> Iterator[Comparison]:
    """Yield the comparisons of the condition."""
    match condition:
        case Comparison():
            yield condition
        case Not(part):
            yield from comparisons(part)
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from comparisons(part)


def literals(comparison: Comparison) -> tuple[Value, ...]:
    """Return the values with which the comparison compares."""
    value = comparison.value
    return value if isinstance(value, tuple) else () if value is None else (value,)


def generate_recipients(
    random: Random, condition: Condition, number: int
) -> Iterator[Mapping[str, object]]:
    """Yield recipients by key, with the values at which the comparisons change their results."""
    candidates: dict[str, list[object]] = {}
    for comparison in comparisons(condition):
        values = candidates.setdefault(comparison.key, [None, *_USUAL[DATA_TYPES[comparison.key]]])
        for literal in literals(comparison):
            values += 2 * _neighbours(literal)
    for _ in range(number):
        # Each fifth value is missing.
        yield {
            key: random.choice(values)
            for key, values in candidates.items()
            if random.random() < 0.8
        }


_USUAL: Mapping[DataType, list[object]] = {
    DataType.TEXT: ["", "", " ", "other", "false", "0", 'it\'s "so"', "日本", "a|b*c"],
    DataType.NUMBER: [0, 0, -1, 0.5, -0.5],
    DataType.BOOLEAN: [True, False, True, False],
    DataType.DATE: ["2026-11-19", "2026-11-20", "2026-11-21", "2028-02-29", "1999-12-31"],
    DataType.DATETIME: [
        *("2026-11-20T09:15:00.000Z", "2026-11-20T09:15:00.001Z", "2026-11-20T09:15:59.999Z"),
        *("2026-11-20T10:15:00+01:00", "2026-11-20T23:59:00-05:00", "1969-12-31T23:59:59.500Z"),
    ],
}


def _neighbours(literal: Value) -> list[object]:
    """Return the value itself, and values that are slightly different."""
    match literal:
        case str():
            return [
                *(literal, literal, literal.swapcase(), f" {literal}", f"{literal} "),
                *(literal[:-1], f"x{literal}y", f"X{literal.swapcase()}"),
            ]
        case bool():
            return [literal, not literal]
        case int() | float():
            near = [literal, literal, float(literal), literal - 1, literal - 0.5, literal + 0.5]
            return [each if abs(each) <= MAX_SAFE_INTEGER else literal for each in near]
    return []


def stored(esp: Esp, recipient: Mapping[str, object], form: Form) -> Mapping[str, object]:
    """Return the values, by key, as the ESP stores them. All mean the same as those given."""
    values: dict[str, object] = {key: _stored(esp, value, form) for key, value in recipient.items()}
    if form in _MISSING:
        missing = dict.fromkeys(DATA_TYPES, _MISSING[form])
        values = {**missing, **{k: v for k, v in values.items() if v is not None}}
    return values


_MISSING: Mapping[Form, object] = {Form.EMPTY_TEXTS: "", Form.NULLS: None}


def _stored(esp: Esp, value: object, form: Form) -> object:
    match value:
        case bool():
            is_text = form is Form.BOOLEANS_AS_TEXTS or esp in WITHOUT_BOOLEANS
            return str(value).lower() if is_text else value
        case int() | float() if form is Form.NUMBERS_AS_TEXTS:
            return format_value(value)
        case int() if form is Form.DECIMALS:
            return float(value)
    return value
