"""Compiled conditions render what the evaluator says, for generated conditions and recipients."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from itertools import product

import pytest

from recipient_fields.domain.conditions import (
    Comparison,
    Condition,
    Operator,
    evaluate,
    parse_condition,
)
from recipient_fields.domain.esp import BUILT_IN, Esp, NotExpressible
from recipient_fields.domain.esp.conditions import ConditionCode, compile_condition
from recipient_fields.domain.esp.profiles.profile import Engine

from .caveats import codes, excluded
from .comparison import MAX_EXCUSED, compare_with_evaluator
from .errors import NotRendered
from .generation import UNUSUAL_TEXTS, esp_name, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, Values, render_all

PAIRS = int(os.environ.get("RECIPIENT_FIELDS_CONDITION_PAIRS", "1000"))

EVERY_ESP = pytest.mark.parametrize("esp", BUILT_IN.esps)

MAX_REFUSED = {
    **dict.fromkeys(BUILT_IN.esps, 0.2),
    Esp("mailchimp"): 0.32,
    Esp("activecampaign"): 0.3,
}
"""The share of the generated conditions that the compiler may refuse.

`docs/internals/condition-codes.md` says what is missing for Mailchimp and ActiveCampaign.
"""


@EVERY_ENGINE
def test_an_engine_renders_what_the_evaluator_says(esp, engine):
    result = compare_with_evaluator(esp, engine, PAIRS)
    logging.info("%s expresses %s", esp, result)
    assert not result.wrong, result.report()
    assert result.generated - result.expressed <= MAX_REFUSED[esp] * result.generated
    if engine is not None:
        assert result.excused <= MAX_EXCUSED * result.pairs, result


def compiled(
    condition: Condition, esp: Esp, then: str = "yes", otherwise: str = "no"
) -> ConditionCode:
    """Return the code of the condition at the integration of the generated fields."""
    return compile_condition(condition, synced_codes(esp), esp, then=then, otherwise=otherwise)


def template_of(code: ConditionCode) -> str:
    """Return the code with what precedes it."""
    return f"{code.prelude or ''}{code.code}"


def wrong(
    esp: Esp, engine: Engine | None, cases: Sequence[tuple[str, Values, str]]
) -> list[tuple[str, Values, str | NotRendered]]:
    """Return the templates that the engine doesn't render as expected, with their values."""
    rendered = render_all(esp, [(template, values) for template, values, _ in cases], engine)
    return [
        (template, values, text)
        for (template, values, expected), text in zip(cases, rendered, strict=True)
        if text != expected
    ]


@EVERY_ENGINE
def test_prices_and_large_numbers_are_compared_exactly(esp, engine):
    cases = []
    for number, operator in product(
        (0.1, 99.99, 16777217, 9007199254740991), ("=", "!=", "<", "<=", ">", ">=")
    ):
        condition = parse_condition(f"visits {operator} {number}")
        template = template_of(compiled(condition, esp))
        for value in (number, number - 0.01 if isinstance(number, float) else number - 1):
            holds = evaluate(condition, synced_fields(esp), {"visits": value})
            cases.append((template, {esp_name(esp, "visits"): value}, "yes" if holds else "no"))
    assert wrong(esp, engine, cases) == []


@EVERY_ENGINE
def test_a_text_literal_is_read_as_written_or_refused(esp, engine):
    cases = []
    for literal, operator in product(UNUSUAL_TEXTS, (Operator.EQUAL, Operator.CONTAINS)):
        condition = Comparison("tier", operator, literal)
        try:
            code = compiled(condition, esp)
        except NotExpressible:
            continue
        for text in (literal, f"x{literal}y", literal[:-1], "other", None):
            recipient = {"tier": text}
            if not excluded(codes(code), condition, recipient):
                expected = "yes" if evaluate(condition, synced_fields(esp), recipient) else "no"
                cases.append((template_of(code), {esp_name(esp, "tier"): text}, expected))
    assert wrong(esp, engine, cases) == []


TEXTS = (
    *(" ", "a b", "<p>é</p>", "50% off", "%", "%%", "100%", "{", "}", "{}", "|", "*", "*|", "|*"),
    *("'", '"', "\\", "&amp;", "a\nb\n"),
)


@EVERY_ENGINE
def test_the_texts_are_copied_verbatim_or_the_compiler_refuses_them(esp, engine):
    cases = []
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for text in TEXTS:
        for then, otherwise in [(text, "other"), ("other", text), (text, ""), (text, text)]:
            try:
                template = f"<p>{template_of(compiled(condition, esp, then, otherwise))}</p>"
            except NotExpressible:
                continue
            for tier, expected in [("gold", then), ("blue", otherwise)]:
                cases.append((template, {esp_name(esp, "tier"): tier}, f"<p>{expected}</p>"))
    assert wrong(esp, engine, cases) == []


@EVERY_ESP
def test_ordinary_texts_are_not_refused(esp):
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for text in (" ", "a b", "<p>é</p>", "'", '"', "&amp;"):
        compile_condition(condition, synced_codes(esp), esp, then=text, otherwise=text)
