"""The comparison of compiled conditions with the evaluator, for generated pairs.

A pair is a condition and a recipient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from random import Random

from attrs import Factory, define, frozen

from recipient_fields.domain.conditions import (
    Condition,
    check_condition,
    evaluate,
    format_condition,
)
from recipient_fields.domain.content import WarningCode
from recipient_fields.domain.esp import Esp, NotExpressible
from recipient_fields.domain.esp.conditions import compile_condition
from recipient_fields.domain.esp.profiles.profile import Engine

from .caveats import codes, excluded
from .errors import NotRendered
from .generation import (
    Form,
    esp_name,
    generate_condition,
    generate_recipients,
    stored,
    synced_codes,
    synced_fields,
)
from .rendering import render_all

RECIPIENTS_PER_CONDITION = 12
BATCH = 240
MAX_EXCUSED = 0.02
"""The share of an engine's pairs that caveats may excuse."""

Values = Mapping[str, object]
FORMS = (*(Form.TYPED,) * 5, *Form)
"""The forms in which recipients are stored, in turn. Most values have their types."""


@frozen(kw_only=True)
class Pair:
    """A condition, a recipient, and what the ESP must render.

    `stored` has the recipient's values by key, and `values` by name at the ESP.
    """

    condition: Condition
    stored: Values
    form: Form
    caveats: tuple[WarningCode, ...]
    template: str
    values: Values
    expected: str

    def describe(self, rendered: object) -> str:
        return "\n  ".join(
            [
                format_condition(self.condition),
                f"recipient  {dict(self.values)}",
                f"template   {self.template}",
                f"expected   {self.expected}",
                f"rendered   {rendered!r}",
            ]
        )

    @property
    def is_excused(self) -> bool:
        return excluded(self.caveats, self.condition, self.stored)


@define
class Comparison:
    """The numbers of pairs by form, and the numbers of conditions."""

    pairs: int = 0
    excused: int = 0
    generated: int = 0
    expressed: int = 0
    wrong: list[str] = Factory(list)
    pairs_by_form: Counter[Form] = Factory(Counter)
    wrong_by_form: Counter[Form] = Factory(Counter)
    excused_by_form: Counter[Form] = Factory(Counter)

    def __str__(self) -> str:
        return (
            f"{self.expressed} of {self.generated} conditions; {len(self.wrong)} of {self.pairs}"
            f" pairs are wrong, and caveats excuse {self.excused}"
        )

    def report(self) -> str:
        return f"{self}. For example:\n{min(self.wrong, key=len)}"


def compare_with_evaluator(esp: Esp, engine: Engine | None, pairs: int) -> Comparison:
    """Compare this number of pairs, at least."""
    result = Comparison()
    generated = _generate(esp, Random(esp), result)
    while result.pairs < pairs:
        batch = list(islice(generated, BATCH))
        rendered = render_all(esp, [(pair.template, pair.values) for pair in batch], engine)
        for pair, text in zip(batch, rendered, strict=True):
            result.pairs += 1
            result.pairs_by_form[pair.form] += 1
            if not isinstance(text, NotRendered) and text == pair.expected:
                continue
            if pair.is_excused:
                result.excused += 1
                result.excused_by_form[pair.form] += 1
            else:
                result.wrong.append(pair.describe(text))
                result.wrong_by_form[pair.form] += 1
    return result


def _generate(esp: Esp, random: Random, result: Comparison) -> Iterator[Pair]:
    """Yield pairs without end."""
    fields, field_codes = synced_fields(esp), synced_codes(esp)
    forms = cycle(FORMS)
    while True:
        condition = generate_condition(random)
        check_condition(condition, fields)
        result.generated += 1
        otherwise = random.choice(("", "no"))
        try:
            code = compile_condition(condition, field_codes, esp, then="yes", otherwise=otherwise)
        except NotExpressible:
            continue
        result.expressed += 1
        for recipient in generate_recipients(random, condition, RECIPIENTS_PER_CONDITION):
            form = next(forms)
            holds = evaluate(condition, fields, recipient)
            values = stored(esp, recipient, form)
            yield Pair(
                condition=condition,
                stored=values,
                form=form,
                caveats=tuple(codes(code)),
                template=f"<p>{code.prelude or ''}{code.code}</p>",
                values={esp_name(esp, key): value for key, value in values.items()},
                expected=f"<p>{'yes' if holds else otherwise}</p>",
            )
