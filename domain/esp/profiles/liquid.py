"""What the profiles of ESPs with Liquid share."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...content.filters import DATE_PARTS, FilterName
from ...fields.values import DataType
from ..languages.condition_writers import write_with_flags
from ..languages.conditions import (
    FALSY_IN_PYTHON,
    Atom,
    ConditionLanguage,
    Falsy,
    Missing,
    Presence,
    Reading,
)
from . import shared
from .profile import AdjacentText, Engine, FilterForm, FilterRefusal, LoopForm, words

TAGS = words(
    "assign break capture case comment continue cycle decrement echo else elsif endcapture endcase"
    " endcomment endfor endif endraw endtablerow endunless for if ifchanged endifchanged increment"
    " liquid raw render include tablerow unless when #"
)
"""The words that tags begin with."""

FILTERS = words(
    "abs append at_least at_most base64_decode base64_encode base64_url_safe_decode"
    " base64_url_safe_encode capitalize ceil compact concat date default divided_by downcase escape"
    " escape_once find find_index first floor has join last lstrip map minus modulo newline_to_br"
    " plus prepend reject remove remove_first remove_last replace replace_first replace_last"
    " reverse round rstrip size slice sort sort_natural split strip strip_html strip_newlines sum"
    " times truncate truncatewords uniq upcase url_decode url_encode where"
)
"""The names of filters."""

SHARED: Mapping[str, str] = {
    **dict.fromkeys(
        words(
            "append compact concat date default escape escape_once join lstrip newline_to_br"
            " prepend remove remove_first remove_last replace replace_first replace_last reverse"
            " rstrip size slice sort sort_natural split strip strip_html strip_newlines truncate"
            " uniq upcase url_decode"
        ),
        "",
    ),
    **dict.fromkeys(
        words("abs at_least at_most ceil floor minus modulo plus round times"),
        "LiquidJS calculates with 15 digits, and shows 3.0 as 3.",
    ),
    **dict.fromkeys(
        words("capitalize downcase"),
        "LiquidJS writes Σ at the end of a word as ς, and ß at the beginning of a text as SS.",
    ),
    **dict.fromkeys(
        words("first last"), "LiquidJS reads a text as the list of its characters here."
    ),
    "divided_by": "LiquidJS divides 3 by 2 to 1.5, and Ruby's Liquid to 1. Write 2.0.",
    "truncatewords": "LiquidJS also writes ... after exactly this number of words: 1 if missing.",
    "url_encode": "LiquidJS does not encode !'()*, as in o'neil (work).",
}
"""The filters that Ruby's Liquid and LiquidJS have, and the values for which they differ."""

LOCAL = words(
    "and blank by contains cols empty false forloop in limit nil not null offset or range reversed"
    " tablerowloop true with"
)
"""The words that are neither tags nor filters."""

SHOWN_FORMS = {
    DataType.NUMBER: (
        f"{Engine.RUBY_LIQUID.value} shows a number that is stored as a decimal with its zero: 3.0."
    ),
}
"""What Liquid shows for the value of a type, if it differs from the value."""

_NOT_NULL = Atom("{operand} != nil", "{operand} == nil")
_NOT_EMPTY_TEXT = Atom('{operand} != ""', '{operand} == ""')
_IS_SET = (_NOT_NULL, _NOT_EMPTY_TEXT)

_VALUE = Atom("{operand}")
_NOT_EMPTY = Atom("{operand} != empty", "{operand} == empty")
_NOT_ZERO = Atom("{operand} != 0", "{operand} == 0")
_FALSY = frozenset({Falsy.MISSING, Falsy.FALSE})

CONDITIONS = ConditionLanguage(
    write=write_with_flags,
    alternative="elsif {test}",
    keeps_white_space="{{ nil }}",
    is_set=_IS_SET,
    number_is_set=_IS_SET,
    presences=(
        Presence((_VALUE,), _FALSY),
        Presence((_VALUE, _NOT_EMPTY_TEXT), _FALSY | {Falsy.EMPTY_TEXT}),
        Presence((_VALUE, _NOT_ZERO), _FALSY | {Falsy.ZERO}),
        Presence((_VALUE, _NOT_EMPTY, _NOT_ZERO), FALSY_IN_PYTHON),
        Presence(_IS_SET, frozenset({Falsy.MISSING, Falsy.EMPTY_TEXT})),
        Presence((_NOT_NULL,), frozenset({Falsy.MISSING})),
        Presence((_NOT_EMPTY_TEXT,), frozenset({Falsy.EMPTY_TEXT})),
        Presence((_NOT_EMPTY,), FALSY_IN_PYTHON - _FALSY - {Falsy.ZERO}),
        Presence(
            (Atom("{operand} != blank", "{operand} == blank"),),
            FALSY_IN_PYTHON - {Falsy.ZERO} | {Falsy.WHITE_SPACE},
        ),
    ),
    missing_number=Missing.IS_ZERO,
    readings={
        DataType.NUMBER: Reading("{operand} | plus: 0", "{key}_number"),
        DataType.BOOLEAN: Reading("{operand} | downcase", "{key}_text"),
        DataType.DATE: Reading('{operand} | date: "%Y%m%d" | plus: 0', "{key}_day"),
        DataType.DATETIME: Reading('{operand} | date: "%s%L" | plus: 0', "{key}_milliseconds"),
    },
    booleans=shared.TEXT_BOOLEANS,
    true=shared.IS_TRUE_TEXT,
    order=shared.ORDER_WITH_OPPOSITES,
    contains=Atom("{operand} contains {value}"),
)
"""The code of conditions."""

DATES = {part: part for part in DATE_PARTS}
"""The parts of the formats of dates that `date` has."""


def filters(vendor: str) -> dict[FilterName, FilterForm | FilterRefusal]:
    """Return the codes of filters for an ESP whose vendor documents Liquid."""
    source = f"Shopify's Liquid, which {vendor} documents"
    return {
        FilterName.UPPER: FilterForm(code="VALUE | upcase", source=source),
        FilterName.LOWER: FilterForm(
            code="VALUE | downcase",
            source=source,
            differences=("Ruby's Liquid writes Σ at the end of a word as in its middle: ΟΔΟΣ.",),
        ),
        FilterName.TRUNCATE: FilterForm(code='VALUE | truncate: ARGUMENT, "…"', source=source),
        FilterName.URL: FilterForm(
            code='VALUE | url_encode | replace: "+", "%20"',
            source=source,
            differences=("LiquidJS does not encode !'()*, as in o'neil (work).",),
            others={"VALUE | url_encode": "{title} writes a blank as + here, not as %20."},
        ),
        FilterName.NUMBER: FilterForm(
            code=(
                '{% assign number_parts = VALUE | round: ARGUMENT | plus: 0 | split: "." %}'
                '{{ number_parts[0] }}.{{ number_parts[1] | append: "ZEROS" | slice: 0, ARGUMENT }}'
            ),
            code_for_zero="{{ VALUE | round }}",
            is_output=True,
            needs_value=True,
            source=source,
        ),
        FilterName.DATE: FilterForm(
            code='VALUE | date: "ARGUMENT"', source=source, difference_of_instants=shared.INSTANTS
        ),
        **{
            name: FilterForm(
                code=f"VALUE | {name.value}: ARGUMENT",
                source=source,
                differences=("LiquidJS calculates with 15 digits, so 0.35 times 3 is below 1.05.",),
            )
            for name in (FilterName.PLUS, FilterName.MINUS, FilterName.TIMES)
        },
        FilterName.FIRST: FilterForm(code="VALUE | first", source=source),
        FilterName.JOIN: FilterForm(code='VALUE | join: "ARGUMENT"', source=source),
    }


LOOP = LoopForm(
    opening="{% for VARIABLE in ITEMS %}",
    otherwise="{% else %}",
    closing="{% endfor %}",
    members={"number": "forloop.index", "first": "forloop.first", "last": "forloop.last"},
    source="Shopify's Liquid",
)

ADJACENT_TEXT = AdjacentText(re.compile(r"\{\Z"), separator="{% if true %}{% endif %}")
"""What a text must not end with before code, and what separates them."""
