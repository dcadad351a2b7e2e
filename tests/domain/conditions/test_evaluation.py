"""The meaning of conditions, as the table in `docs/conditions.md` states it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given

from recipient_fields.domain import (
    API,
    DataType,
    IntegrationId,
    InvalidInput,
    RecipientSchema,
    sync_channel,
)
from recipient_fields.domain.conditions import (
    AllOf,
    AnyOf,
    InvalidRecipient,
    Not,
    check_condition,
    evaluate,
    parse_condition,
)
from recipient_fields.domain.conditions.evaluation import RecipientValues

from ...support.conditions import FIELDS, conditions
from ...support.growth import assert_grows_linearly


def holds(text: str, **values: object) -> bool:
    condition = parse_condition(text)
    check_condition(condition, FIELDS)
    return evaluate(condition, FIELDS, values)


NINE = datetime(2026, 11, 20, 9, tzinfo=UTC)
FALSE_IF_NOT_SET = [
    *("city = 'Rome'", "city in ('Rome')", "city contains 'o'", "city is set"),
    *("visits = 0", "visits < 1", "visits <= 1", "visits > -1", "visits >= -1"),
    *("visits in (0)", "visits is set"),
    *("newsletter", "newsletter = true", "newsletter = false", "newsletter is set"),
    *('birthday = date "2000-01-01"', 'birthday < date "2000-01-01"'),
    *('birthday >= date "0001-01-01"', 'birthday in (date "2000-01-01")', "birthday is set"),
    *('last_visit = date "2026-11-20T09:00:00Z"', 'last_visit > date "0001-01-01T00:00:00Z"'),
    "last_visit is set",
]
TRUE_IF_NOT_SET = [
    *("city != 'Rome'", "visits != 0", "newsletter != true", "newsletter != false"),
    *('birthday != date "2000-01-01"', 'last_visit != date "2026-11-20T09:00:00Z"'),
    *("city is not set", "visits is not set", "newsletter is not set", "birthday is not set"),
    "last_visit is not set",
]
NOT_SET = dict.fromkeys(("visits", "newsletter", "birthday", "last_visit"))


@pytest.mark.parametrize(
    "values", [{}, {**NOT_SET, "city": None}, {**NOT_SET, "city": ""}], ids=repr
)
class TestAValueThatIsNotSet:
    @pytest.mark.parametrize("text", FALSE_IF_NOT_SET)
    def test_makes_these_comparisons_false(self, text, values):
        assert holds(text, **values) is False
        assert holds(f"not {text}", **values) is True

    @pytest.mark.parametrize("text", TRUE_IF_NOT_SET)
    def test_makes_these_comparisons_true(self, text, values):
        assert holds(text, **values) is True
        assert holds(f"not {text}", **values) is False


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("visits", 0), ("visits", 0.0), ("newsletter", False), ("city", " "), ("city", "0")),
        *(("birthday", date(1, 1, 1)), ("last_visit", NINE)),
    ],
)
def test_every_other_value_is_set(key, value):
    assert holds(f"{key} is set", **{key: value}) is True
    assert holds(f"{key} is not set", **{key: value}) is False


@pytest.mark.parametrize(
    ("text", "true_for", "false_for"),
    [
        ("visits = 3", [3, 3.0], [2, 3.5]),
        ("visits != 3", [2, 3.5], [3, 3.0]),
        ("visits < 3", [-1, 2.9], [3, 4]),
        ("visits <= 3", [-1, 3, 3.0], [3.1, 4]),
        ("visits > 3", [3.1, 4], [-1, 3]),
        ("visits >= 3", [3, 4], [-1, 2.9]),
        ("visits > -1", [0, -0.5], [-1, -2]),
        ("visits in (1, 2.5)", [1, 2.5], [2, 0]),
        ("city = 'Rome'", ["Rome"], ["rome", "Rome ", "Romé"]),
        ("city != 'Rome'", ["rome"], ["Rome"]),
        ("city in ('Rome', 'Oslo')", ["Rome", "Oslo"], ["Rom", "RomeOslo"]),
        ("city contains 'om'", ["Rome", "om"], ["ROME", "Oslo"]),
        ("city = 'é'", ["\N{LATIN SMALL LETTER E WITH ACUTE}"], ["e\N{COMBINING ACUTE ACCENT}"]),
        ("newsletter", [True], [False]),
        ("newsletter = true", [True], [False]),
        ("newsletter = false", [False], [True]),
        ("newsletter != true", [False], [True]),
        ("newsletter != false", [True], [False]),
        ('birthday = date "2000-02-01"', [date(2000, 2, 1), "2000-02-01"], [date(2000, 2, 2)]),
        ('birthday < date "2000-02-01"', ["2000-01-31"], ["2000-02-01", "2000-02-02"]),
        ('birthday >= date "2000-02-01"', ["2000-02-01", "2000-02-02"], ["2000-01-31"]),
        ('birthday in (date "2000-02-01")', ["2000-02-01"], ["2000-02-02"]),
        (
            'last_visit = date "2026-11-20T09:00:00Z"',
            [NINE, NINE.astimezone(timezone(timedelta(hours=5))), "2026-11-20T10:00:00+01:00"],
            [NINE + timedelta(milliseconds=1), "2026-11-20T09:00:00+01:00"],
        ),
        (
            'last_visit > date "2026-11-20T09:00:00Z"',
            ["2026-11-20T09:00:00.001Z"],
            [NINE, NINE + timedelta(microseconds=999)],
        ),
    ],
)
def test_comparisons_with_values_that_are_set(text, true_for, false_for):
    key = text.split()[0]
    assert [holds(text, **{key: value}) for value in true_for] == [True] * len(true_for)
    assert [holds(text, **{key: value}) for value in false_for] == [False] * len(false_for)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("visits = 1 and visits = 2", False),
        ("visits = 1 and visits < 2", True),
        ("visits = 2 or visits = 1", True),
        ("visits = 2 or visits = 3", False),
        ("visits = 1 or visits = 2 and visits = 3", True),
        ("(visits = 1 or visits = 2) and visits = 3", False),
        ("not visits = 2 and visits = 1", True),
        ("not (visits = 1 and visits < 2)", False),
    ],
)
def test_and_or_and_not_have_their_usual_meaning(text, expected):
    assert holds(text, visits=1) is expected


RECIPIENTS = [
    {},
    {"city": "", "visits": 0, "newsletter": False},
    {"city": "a", "visits": -1, "newsletter": True, "birthday": date(2000, 1, 1)},
    {"city": "\\é", "visits": 0.5, "last_visit": NINE},
]


@given(conditions(), conditions())
def test_negation_and_de_morgan_s_laws_are_exact(one, other):
    for values in RECIPIENTS:
        first, second = evaluate(one, FIELDS, values), evaluate(other, FIELDS, values)
        assert evaluate(Not(one), FIELDS, values) is not first
        assert evaluate(AllOf((one, other)), FIELDS, values) is (first and second)
        assert evaluate(Not(AnyOf((Not(one), Not(other)))), FIELDS, values) is (first and second)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        *(("city", 3, "type"), ("city", True, "type")),
        *(("visits", "3", "type"), ("visits", True, "type"), ("visits", 2**53, "out_of_range")),
        *(("newsletter", "true", "type"), ("newsletter", 1, "type")),
        *(("birthday", "20.11.2026", "format"), ("birthday", NINE, "type")),
        *(("birthday", 3, "type"), ("birthday", "2026-02-29", "format")),
        ("last_visit", date(2026, 1, 1), "type"),
        ("last_visit", datetime(2026, 1, 1), "format"),  # noqa: DTZ001
        *(("last_visit", "2026-11-20", "format"), ("last_visit", "2026-02-29T00:00:00Z", "format")),
        ("last_visit", "0001-01-01T00:00:00+01:00", "out_of_range"),
    ],
)
def test_a_value_is_judged_as_in_lists_of_recipients(key, value, rule, raises_violations):
    with raises_violations(f"{key}: {rule}") as caught:
        holds(f"{key} is set", **{key: value})
    assert caught.type is InvalidRecipient
    assert issubclass(InvalidRecipient, InvalidInput)
    checked = RecipientSchema.of(FIELDS).check({key: value})
    assert caught.value.violations == checked.violations


def test_all_values_of_a_wrong_type_are_reported_at_once(raises_violations):
    values = {"visits": "3", "birthday": "2026-02-29", "newsletter": 1, "city": 5}
    with raises_violations("visits: type", "birthday: format", "newsletter: type"):
        holds('visits is set or birthday = date "2026-02-28" or newsletter', **values)


def test_a_value_that_is_not_allowed_is_compared_as_it_is(make_field):
    tier = make_field(API, key="tier", allowed_values=["gold", "silver"])
    gold, other = parse_condition('tier = "gold"'), parse_condition('tier != "gold"')
    values = RecipientValues.read(RecipientSchema.of([tier]), {"tier": "Gold"})
    assert (values.satisfy(gold), values.satisfy(other)) == (False, True)
    assert evaluate(gold, [tier], {"tier": "Gold"}) is False
    (violation,) = values.unlisted
    assert (violation.path, violation.suggestion) == (("tier",), "gold")


def test_a_field_has_the_value_of_its_counterparts_of_the_same_type(make_field):
    town = make_field(API, key="town")
    city = make_field(sync_channel(IntegrationId(2)), key="city", esp_field_name="City")
    numbers = {"data_type": DataType.NUMBER, "esp_field_name": "Size"}
    size = make_field(sync_channel(IntegrationId(3)), key="size", **numbers)
    schema = RecipientSchema.of([town, city, size], definitions={"city": "town", "size": "town"})
    for key in ("town", "city"):
        values = RecipientValues.read(schema, {key: "Rome"})
        assert [values.get(each) for each in ("town", "city", "size")] == ["Rome", "Rome", None]


@pytest.mark.parametrize("key", ["city", "visits", "newsletter", "birthday", "last_visit"])
def test_an_empty_text_is_not_set_whatever_the_type_of_the_field(key):
    assert holds(f"{key} is not set", **{key: ""})
    assert not holds(f"{key} is set", **{key: ""})


def test_values_of_other_fields_are_not_read():
    assert holds("visits = 3", visits=3, city=object(), unknown=object())


def test_an_evaluation_takes_linear_time():
    def build(size):
        return parse_condition(" or ".join(["visits > 3 and city contains 'a'"] * size))

    recipient = {"visits": 1, "city": "b"}
    assert_grows_linearly(lambda each: evaluate(each, FIELDS, recipient), build, 2_000)
