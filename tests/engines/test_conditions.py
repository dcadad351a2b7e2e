"""Compiled conditions render what the evaluator says, for generated conditions and recipients."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from random import Random

import pytest
from attrs import define, frozen

from recipient_fields.domain.conditions import (
    Comparison,
    Condition,
    Operator,
    check_condition,
    evaluate,
    format_condition,
)
from recipient_fields.domain.content import WarningCode
from recipient_fields.domain.esp import ConditionCode, Esp, NotExpressible
from recipient_fields.domain.esp.conditions import compile_condition

from .caveats import excluded
from .errors import NotRendered
from .generation import (
    UNUSUAL_TEXTS,
    esp_name,
    generate_condition,
    generate_recipients,
    synced_codes,
    synced_fields,
)
from .rendering import render, render_all

PAIRS = int(os.environ.get("RECIPIENT_FIELDS_CONDITION_PAIRS", "2000"))
RECIPIENTS_PER_CONDITION = 10
BATCH = 200

EVERY_ESP = pytest.mark.parametrize("esp", Esp, ids=lambda esp: esp.value)

Recipient = Mapping[str, object]
EXPRESSED = {
    **dict.fromkeys(Esp, 0.75),
    **dict.fromkeys((Esp.SENDGRID, Esp.ITERABLE), 0.6),
    **dict.fromkeys((Esp.MAILCHIMP, Esp.ACTIVECAMPAIGN), 0.4),
}
"""The share of the generated conditions that the compiler must express, at least."""


@frozen
class Case:
    """A condition, a recipient, and what the ESP renders."""

    condition: Condition
    recipient: Recipient
    template: str
    values: Mapping[str, object]
    expected: str

    def describe(self, rendered: object) -> str:
        return "\n  ".join(
            [
                format_condition(self.condition),
                f"recipient  {dict(self.recipient)}",
                f"template   {self.template}",
                f"expected   {self.expected}",
                f"rendered   {rendered!r}",
            ]
        )


@define
class Generator:
    """The generated cases of one ESP, and the numbers of conditions."""

    esp: Esp
    random: Random
    generated: int = 0
    expressed: int = 0

    def cases(self) -> Iterator[Case]:
        """Yield cases without end."""
        fields, field_codes = synced_fields(self.esp), synced_codes(self.esp)
        while True:
            condition = generate_condition(self.random)
            check_condition(condition, fields)
            assert self.expressed + 50 >= EXPRESSED[self.esp] * self.generated, (
                f"The compiler expresses {self.expressed} of {self.generated} conditions."
            )
            self.generated += 1
            otherwise = self.random.choice(("", "no"))
            try:
                code = compile_condition(
                    condition, field_codes, self.esp, then="yes", otherwise=otherwise
                )
            except NotExpressible:
                continue
            self.expressed += 1
            template = f"<p>{code.prelude or ''}{code.code}</p>"
            for recipient in generate_recipients(self.random, condition, RECIPIENTS_PER_CONDITION):
                if not excluded(codes(code), condition, recipient):
                    holds = evaluate(condition, fields, recipient)
                    values = {esp_name(self.esp, key): each for key, each in recipient.items()}
                    expected = f"<p>{'yes' if holds else otherwise}</p>"
                    yield Case(condition, recipient, template, values, expected)


def codes(code: ConditionCode) -> list[WarningCode]:
    return [warning.code for warning in code.warnings]


@EVERY_ESP
def test_the_engine_of_an_esp_renders_what_the_evaluator_says(esp):
    generator = Generator(esp, Random(esp.value))
    cases = generator.cases()
    wrong: list[str] = []
    for _ in range(PAIRS // BATCH):
        batch = [next(cases) for _ in range(BATCH)]
        rendered = render_all(esp, [(case.template, case.values) for case in batch])
        wrong += [
            case.describe(text)
            for case, text in zip(batch, rendered, strict=True)
            if isinstance(text, NotRendered) or text != case.expected
        ]
    counts = (generator.expressed, generator.generated)
    logging.info("%s expresses %d of %d conditions", esp.value, *counts)
    assert not wrong, f"{len(wrong)} of {PAIRS} are wrong, for example:\n{min(wrong, key=len)}"


@pytest.mark.parametrize("literal", UNUSUAL_TEXTS)
@pytest.mark.parametrize("operator", [Operator.EQUAL, Operator.CONTAINS])
@EVERY_ESP
def test_a_text_literal_is_read_as_written_or_refused(esp, operator, literal):
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
            rendered = render(esp, template, {esp_name(esp, "tier"): text})
            assert rendered == ("yes" if holds else "no")


TEXTS = (
    *(" ", "a b", "<p>é</p>", "50% off", "%", "%%", "100%", "{", "}", "{}", "|", "*", "*|", "|*"),
    *("'", '"', "\\", "&amp;", "a\nb\n"),
)


@pytest.mark.parametrize("text", TEXTS)
@EVERY_ESP
def test_the_texts_are_copied_verbatim_or_the_compiler_refuses_them(esp, text):
    field_codes = synced_codes(esp)
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for then, otherwise in [(text, "other"), ("other", text), (text, ""), (text, text)]:
        try:
            code = compile_condition(condition, field_codes, esp, then=then, otherwise=otherwise)
        except NotExpressible:
            continue
        for tier, expected in [("gold", then), ("blue", otherwise)]:
            template = f"<p>{code.prelude or ''}{code.code}</p>"
            rendered = render(esp, template, {esp_name(esp, "tier"): tier})
            assert rendered == f"<p>{expected}</p>"


@EVERY_ESP
def test_ordinary_texts_are_not_refused(esp):
    condition = Comparison("tier", Operator.EQUAL, "gold")
    for text in (" ", "a b", "<p>é</p>", "'", '"', "&amp;"):
        compile_condition(condition, synced_codes(esp), esp, then=text, otherwise=text)
