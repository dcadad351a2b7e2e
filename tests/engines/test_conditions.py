"""Compiled conditions render what the evaluator says, for generated conditions and recipients."""

from __future__ import annotations

import logging
import os

import pytest

from recipient_fields.domain.conditions import Comparison, Operator, evaluate, parse_condition
from recipient_fields.domain.esp import Esp, NotExpressible
from recipient_fields.domain.esp.conditions import compile_condition

from .caveats import codes, excluded
from .comparison import MAX_EXCUSED, compare_with_evaluator
from .generation import UNUSUAL_TEXTS, esp_name, synced_codes, synced_fields
from .rendering import EVERY_ENGINE, render

PAIRS = int(os.environ.get("RECIPIENT_FIELDS_CONDITION_PAIRS", "2000"))

EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)

MAX_REFUSED = {**dict.fromkeys(Esp, 0.2), Esp.MAILCHIMP: 0.32, Esp.ACTIVECAMPAIGN: 0.3}
"""The share of the generated conditions that the compiler may refuse.

`docs/internals/condition-codes.md` says what is missing for Mailchimp and ActiveCampaign.
"""


@EVERY_ENGINE
def test_an_engine_renders_what_the_evaluator_says(esp, engine):
    result = compare_with_evaluator(esp, engine, PAIRS)
    logging.info("%s expresses %s", esp.value, result)
    assert not result.wrong, result.report()
    assert result.generated - result.expressed <= MAX_REFUSED[esp] * result.generated
    if engine is not None:
        assert result.excused <= MAX_EXCUSED * result.pairs, result


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize("number", [0.1, 99.99, 16777217, 9007199254740991])
@EVERY_ENGINE
def test_prices_and_large_numbers_are_compared_exactly(esp, engine, number, operator):
    condition = parse_condition(f"visits {operator} {number}")
    code = compile_condition(condition, synced_codes(esp), esp, then="yes", otherwise="no")
    for value in (number, number - 0.01 if isinstance(number, float) else number - 1):
        holds = evaluate(condition, synced_fields(esp), {"visits": value})
        template = f"{code.prelude or ''}{code.code}"
        rendered = render(esp, template, {esp_name(esp, "visits"): value}, engine)
        assert rendered == ("yes" if holds else "no")


@pytest.mark.parametrize("literal", UNUSUAL_TEXTS)
@pytest.mark.parametrize("operator", [Operator.EQUAL, Operator.CONTAINS])
@EVERY_ENGINE
def test_a_text_literal_is_read_as_written_or_refused(esp, engine, operator, literal):
    fields = synced_fields(esp)
    condition = Comparison("tier", operator, literal)
    try:
        code = compile_condition(condition, synced_codes(esp), esp, then="yes", otherwise="no")
    except NotExpressible:
        return
    for text in (literal, f"x{literal}y", literal[:-1], "other", None):
        recipient = {"tier": text}
        if not excluded(codes(code), condition, recipient):
            holds = evaluate(condition, fields, recipient)
            template = f"{code.prelude or ''}{code.code}"
            rendered = render(esp, template, {esp_name(esp, "tier"): text}, engine)
            assert rendered == ("yes" if holds else "no")


TEXTS = (
    *(" ", "a b", "<p>é</p>", "50% off", "%", "%%", "100%", "{", "}", "{}", "|", "*", "*|", "|*"),
    *("'", '"', "\\", "&amp;", "a\nb\n"),
)


@pytest.mark.parametrize("text", TEXTS)
@EVERY_ENGINE
def test_the_texts_are_copied_verbatim_or_the_compiler_refuses_them(esp, engine, text):
    field_codes = synced_codes(esp)
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for then, otherwise in [(text, "other"), ("other", text), (text, ""), (text, text)]:
        try:
            code = compile_condition(condition, field_codes, esp, then=then, otherwise=otherwise)
        except NotExpressible:
            continue
        for tier, expected in [("gold", then), ("blue", otherwise)]:
            template = f"<p>{code.prelude or ''}{code.code}</p>"
            rendered = render(esp, template, {esp_name(esp, "tier"): tier}, engine)
            assert rendered == f"<p>{expected}</p>"


@EVERY_ESP
def test_ordinary_texts_are_not_refused(esp):
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for text in (" ", "a b", "<p>é</p>", "'", '"', "&amp;"):
        compile_condition(condition, synced_codes(esp), esp, then=text, otherwise=text)
