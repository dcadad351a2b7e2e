"""Generated templates in the languages of ESPs, as people write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from attrs import frozen

from recipient_fields.domain.esp import Esp

TEXTS = ("tier", "first_name")
NUMBERS = ("visits", "score")
BOOLEANS = ("vip",)
DATES = ("joined",)
UNTYPED = ("extra",)
"""Fields whose type no tag shows: tests read them as they are."""
CANDIDATES: Mapping[str, Sequence[object]] = {
    "tier": (
        "gold",
        "Gold",
        "silver",
        "it's <b>",
        "a golden ring",
        "Zürich 1",
        "a/b",
        " ",
        "",
        None,
    ),
    "first_name": ("gold", "Ada", "Zoë & Co", "averylongname", "", None),
    "visits": (0, 1, 3, 4, -2, 2.5, None),
    "score": (0, 3, 10, None),
    "vip": (True, False, None),
    "joined": ("2026-03-05", "2025-12-31", "", None),
    "extra": (True, False, 0, 1, "x", "", " ", "false", [], ["x"], {}, None),
}
"""The values of recipients. None is a missing one."""
_PLAIN = ("Hello ", "a", " ", "\n", " \n", "<b>", "</b>", "50% ", "é")


def generate_recipient(random: Random) -> Mapping[str, object]:
    chosen = {key: random.choice(values) for key, values in CANDIDATES.items()}
    return {key: value for key, value in chosen.items() if value is not None}


@frozen
class Generator:
    """Templates in one language. `write` are the forms of its tags."""

    random: Random
    dialect: Dialect

    def template(self, depth: int = 2) -> str:
        return "".join(self._piece(depth) for _ in range(self.random.randint(1, 4)))

    def _piece(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.35:
            return self.random.choice(_PLAIN)
        if kind < 0.6 or depth == 0:
            key = self.random.choice((*TEXTS, *NUMBERS, *DATES))
            forms = self.dialect.shown if key in TEXTS else self.dialect.shown_numbers
            if key in DATES:
                forms = self.dialect.shown_dates
            return self._fill(self.random.choice(forms), key)
        opening, divider, otherwise, closing = self.random.choice(self.dialect.blocks)
        opening = opening.replace("TEST", self._test())
        parts = [self._fill(opening, self.random.choice(TEXTS)), self.template(depth - 1)]
        if divider and self.random.random() < 0.4:
            parts += divider.replace("TEST", self._test()), self.template(depth - 1)
        if self.random.random() < 0.5:
            parts += otherwise, self.template(depth - 1)
        return "".join([*parts, closing])

    def _test(self) -> str:
        operands = [self._operand() for _ in range(self.random.choice((1, 1, 2, 3)))]
        test = operands[0]
        for each in operands[1:]:
            test += self.random.choice((" and ", " or ")) + each
        return test

    def _operand(self) -> str:
        keys, forms = self.random.choice(
            (
                (TEXTS, self.dialect.texts),
                (NUMBERS, self.dialect.numbers),
                (BOOLEANS, self.dialect.booleans),
                (UNTYPED, self.dialect.untyped),
            )
        )
        return self._fill(self.random.choice(forms), self.random.choice(keys))

    def _fill(self, form: str, key: str) -> str:
        literal = self.random.choice(("gold", "Gold", "silver", "old"))
        number = self.random.choice(("0", "3", "2.5", "-2"))
        filled = form.replace("LITERAL", literal).replace("NUMBER", number)
        parts = self.random.choices([*self.dialect.date_parts], k=self.random.randint(1, 4))
        filled = filled.replace("FORMAT", self.random.choice((" ", ", ", "/")).join(parts))
        return filled.replace("VALUE", self.dialect.value(key))


@frozen(kw_only=True)
class Dialect:
    """The forms of tags in one language: VALUE, LITERAL, NUMBER, FORMAT and TEST are slots."""

    value: Callable[[str], str]
    shown: Sequence[str]
    shown_numbers: Sequence[str]
    shown_dates: Sequence[str]
    date_parts: Sequence[str] = ("",)
    copied: Mapping[str, Sequence[Any]] = {}
    """Further forms that only ESPs with the same language have, by the names of their members."""
    blocks: Sequence[tuple[str, str, str, str]]
    texts: Sequence[str]
    numbers: Sequence[str]
    booleans: Sequence[str]
    untyped: Sequence[str]


_STANDARD = {"first_name"}

DIALECTS: Mapping[Esp, Dialect] = {
    Esp("klaviyo"): Dialect(
        value=lambda key: key if key in _STANDARD else f"person|lookup:'{key}'",
        shown=(
            "{{ VALUE }}",
            "{{ VALUE|default:'there' }}",
            '{{ VALUE|default:"it" }}',
            "{{ VALUE|upper|default:'you' }}",
            "{{ VALUE|default:'you'|upper }}",
            "{{VALUE|lower|default_if_none:''|default:'x'}}",
            "{{ VALUE|title|default:'x' }}",
            "{{ VALUE|truncatechars:5|default:'x' }}",
            "{{ VALUE|urlencode:''|default:'x' }}",
            "{{ VALUE|urlencode|default:'x' }}",
            "{{ VALUE|default_if_none:'' }}",
            "{{ VALUE|default:''|safe }}",
            "{% if VALUE %}{{ VALUE }}{% else %}there{% endif %}",
            "{% if not VALUE %}you{% else %}{{ VALUE }}{% endif %}",
            "{# a note #}",
            "{% comment %}{{ x }}{% endcomment %}",
            "{% verbatim %}{{ x }}{% endverbatim %}",
        ),
        shown_numbers=("{{ VALUE|default:'none' }}", "{{ VALUE|floatformat:2|default:'none' }}"),
        shown_dates=(
            "{% if VALUE %}{{ VALUE|format_date_string|date:'FORMAT' }}{% endif %}",
            "{{ VALUE|date:'FORMAT'|default:'soon' }}",
        ),
        date_parts="djmnMFyYDlSP",
        blocks=(("{% if TEST %}", "{% elif TEST %}", "{% else %}", "{% endif %}"),),
        texts=(
            "VALUE",
            "not VALUE",
            "VALUE == 'LITERAL'",
            "VALUE != 'LITERAL'",
            "not VALUE == 'LITERAL'",
            "'LITERAL' == VALUE",
            "'LITERAL' in VALUE",
            "'LITERAL' not in VALUE",
            "VALUE|default_if_none:'' != ''",
        ),
        numbers=(
            *("VALUE", "not VALUE", "VALUE > NUMBER", "VALUE >= NUMBER", "VALUE < NUMBER"),
            *("VALUE <= NUMBER", "VALUE == NUMBER", "VALUE != NUMBER", "NUMBER < VALUE"),
            "not VALUE > NUMBER",
            *("VALUE|default:'' == NUMBER", "VALUE|default:'' != NUMBER"),
            *("VALUE|default:'' < NUMBER", "VALUE|default:'' != ''"),
        ),
        booleans=(
            *("VALUE", "not VALUE", "VALUE == True", "VALUE == False", "VALUE != True"),
            "VALUE|default:'' == False",
        ),
        untyped=("VALUE", "not VALUE"),
    ),
    Esp("braze"): Dialect(
        value=lambda key: f"${{{key}}}" if key in _STANDARD else f"custom_attribute.${{{key}}}",
        shown=(
            "{{VALUE}}",
            "{{ VALUE | default: 'there' }}",
            "{{- VALUE | default: 'there' -}}",
            "{{VALUE | upcase | default: 'you'}}",
            "{{ VALUE | default: 'you' | upcase }}",
            "{{ VALUE | downcase }}",
            '{{ VALUE | truncate: 5, "…" }}',
            '{{ VALUE | url_encode | replace: "+", "%20" }}',
            "{{ VALUE | url_encode }}",
            "{{ VALUE | escape }}",
            "{{ VALUE | prepend: 'a ' | append: '!' }}",
            "{% assign x = VALUE %}{{ x | default: 'y' }}",
            "{% assign x = VALUE | default: 'y' %}{{ x | upcase }}",
            "{% if VALUE %}{{ VALUE }}{% else %}there{% endif %}",
            "{% if VALUE != blank %}{{ VALUE }}{% else %}there{% endif %}",
            "{% if VALUE == blank %}you{% else %}{{ VALUE }}{% endif %}",
            "{%- comment -%}{{ x }}{%- endcomment -%}",
            " {%- comment -%}a note{%- endcomment %} ",
            "{% raw %}{{ x }}{% endraw %}",
            "{% case VALUE %}{% when 'gold', 'Gold' %}1{% when 'x' %}2{% else %}3{% endcase %}",
        ),
        shown_numbers=("{{VALUE}}", "{{ VALUE | default: 'none' }}"),
        shown_dates=(
            "{{ VALUE | date: 'FORMAT' }}",
            "{{ VALUE | date: 'FORMAT' | default: 'soon' }}",
            "{% assign d = VALUE | date: 'FORMAT' %}{{ d | upcase }}",
        ),
        copied={
            "shown": (
                *("{{ VALUE | capitalize }}", "{{- VALUE | strip | size -}}"),
                "{{ VALUE | replace: 'o', '0' | default: 'x' }}",
                '{% assign y = VALUE | split: " " %}{{ y[0] }}',
                "{% assign y = VALUE %}{{ y | slice: 0, 2 }}{{ y | truncatewords: 1 }}",
                (
                    "{% assign y = VALUE | split: 'o' %}{%- for z in y -%} {{ z | upcase }}"
                    "{% unless forloop.last %}, {% endunless %}{% else %}-{% endfor %}"
                ),
                (
                    "{% assign y = VALUE | split: '' %}{% for z in y reversed limit: 3 offset: 1 %}"
                    "{{ forloop.index }}{% if z == 'o' %}0{% else %}{{ z }}{% endif %}{% endfor %}"
                ),
            ),
            "shown_numbers": (
                *("{{ VALUE | round: 1 }}", "{{ VALUE | divided_by: 2.5 | ceil }}"),
                "{% assign t = 0 %}{% assign t = t | plus: VALUE %}{{ t | at_least: 2 }}",
                "{% if VALUE == 3 %} {% assign t = VALUE %} {% endif %}{{ t | abs }}",
                "{% assign n = 2 %}{% if VALUE < 2 %}{% assign n = VALUE %}{% endif %}{{n | abs}}",
            ),
            "shown_dates": ("{{ VALUE | date: '%e %H:%M' }}",),
            "blocks": (
                (
                    "{% assign h = VALUE | split: 'o' | size %}{% if h > 1 or TEST %}",
                    "{%- elsif h == 1 -%}",
                    "{% else %}",
                    "{% endif %}",
                ),
                (
                    "{% if TEST %}{% assign h = 'b' %}{% endif %}{% unless h != VALUE %}",
                    "",
                    "{%- else -%}",
                    "{%- endunless -%}",
                ),
                (
                    "{% assign c = VALUE | downcase | strip %}{% case c %}{% when 'gold', '' %}",
                    "{% when 'silver' %}",
                    "{% else %}",
                    "{% endcase %}",
                ),
            ),
        },
        date_parts=["%d", "%-d", "%m", "%-m", "%b", "%B", "%y", "%Y", "%a", "%A", "%e", "%j"],
        blocks=(
            ("{% if TEST %}", "{% elsif TEST %}", "{% else %}", "{% endif %}"),
            ("{%- if TEST -%}", "{%- elsif TEST -%}", "{%- else -%}", "{%- endif -%}"),
            ("{% unless TEST %}", "", "{% else %}", "{% endunless %}"),
            (
                "{% assign f = false %}{% if TEST %}{% assign f = true %}{% endif %}{% if f %}",
                "",
                "{% else %}",
                "{% endif %}",
            ),
            (
                (
                    "{% assign g = 'a' %}{% if TEST %}{% assign g = 'b' %}{% endif %}"
                    "{{ g | append: '?' | capitalize }}{% if TEST %}"
                ),
                "{% elsif TEST %}{% assign g = 'c' %}",
                "{% else %}",
                "{% endif %}",
            ),
            (
                "{% assign visits_number = 'a' %}{% if custom_attribute.${visits} == 3 %}",
                "{% elsif TEST %}",
                "{% else %}",
                "{% endif %}{{ visits_number | append: '?' | capitalize }}",
            ),
        ),
        texts=(
            "VALUE == 'LITERAL'",
            'VALUE != "LITERAL"',
            "VALUE contains 'LITERAL'",
            "'LITERAL' == VALUE",
            "VALUE != blank",
            "VALUE == blank",
            "VALUE == empty",
        ),
        numbers=(
            *("VALUE", "VALUE > NUMBER", "VALUE >= NUMBER", "VALUE < NUMBER", "VALUE <= NUMBER"),
            *("VALUE == NUMBER", "VALUE != NUMBER", "VALUE != nil"),
        ),
        booleans=("VALUE", "VALUE == true", "VALUE == false", "VALUE != true"),
        untyped=("VALUE", "VALUE != blank", "VALUE == nil", "VALUE != ''"),
    ),
    Esp("hubspot"): Dialect(
        value=lambda key: f"contact.{'firstname' if key in _STANDARD else key}",
        shown=(
            "{{ VALUE }}",
            "{{ VALUE|default('there', true) }}",
            "{{ VALUE|default('there') }}",
            "{{ VALUE or 'there' }}",
            "{{ personalization_token('VALUE', 'there') }}",
            "{% if VALUE %}{{ VALUE }}{% else %}there{% endif %}",
            "{# a note #}",
        ),
        shown_numbers=(
            *("{{ VALUE }}", "{{ VALUE|default('none', true) }}", "{{ VALUE or 'none' }}"),
            "{{ VALUE|default('none') }}",
        ),
        shown_dates=("{{ VALUE }}",),
        blocks=(("{% if TEST %}", "{% elif TEST %}", "{% else %}", "{% endif %}"),),
        texts=(
            *("VALUE", "VALUE == 'LITERAL'", "VALUE != 'LITERAL'", "VALUE is none"),
            *("VALUE is string_containing 'LITERAL'", "VALUE != ''"),
        ),
        numbers=(
            *("VALUE", "VALUE > NUMBER", "VALUE >= NUMBER", "VALUE < NUMBER", "VALUE <= NUMBER"),
            *("VALUE == NUMBER", "VALUE != NUMBER"),
        ),
        booleans=("VALUE", "VALUE == true", "VALUE != true"),
        untyped=("VALUE", "VALUE is none", "VALUE is not none", "VALUE != ''"),
    ),
}
