"""What the profiles of ESPs share whose language follows Django's templates."""

from __future__ import annotations

import re

from ...content import WarningCode
from ...fields.values import DataType
from ..languages.condition_writers import write_normal_form
from ..languages.conditions import (
    FALSY_IN_PYTHON,
    Atom,
    Caveat,
    ConditionLanguage,
    Falsy,
    Feature,
    Missing,
    Presence,
    Reading,
)
from . import shared
from .profile import AdjacentText, Engine, LoopForm, words

TAGS = words(
    "autoescape block comment cycle debug elif else empty endautoescape endblock endcomment"
    " endfilter endfor endif endifchanged endspaceless endverbatim endwith extends filter firstof"
    " for if ifchanged include load lorem now regroup resetcycle spaceless templatetag verbatim"
    " widthratio with"
)

FILTERS = words(
    "add addslashes capfirst center cut date default default_if_none dictsort dictsortreversed"
    " divisibleby escape escapejs escapeseq filesizeformat first floatformat force_escape"
    " get_digit iriencode join json_script last length length_is linebreaks linebreaksbr"
    " linenumbers ljust lower make_list phone2numeric pluralize pprint random rjust safe safeseq"
    " slice slugify stringformat striptags time timesince timeuntil title truncatechars"
    " truncatechars_html truncatewords truncatewords_html unordered_list upper urlencode urlize"
    " urlizetrunc wordcount wordwrap yesno"
)

LOCAL = words("and as block by false False forloop in is none None not off on or silent true True")

CAPITALIZED = "{engine} shows True and False with capital letters."

SHOWN_FORMS = {
    DataType.NUMBER: (
        f"{Engine.DJANGO.value} shows a number that is stored as a decimal with its zero: 3.0."
    ),
    DataType.BOOLEAN: CAPITALIZED.format(engine=Engine.DJANGO.value),
}

_TEXT_IS_NUMBER = Caveat(
    WarningCode.NUMBER_AS_TEXT,
    f"For {Engine.DJANGO.value}, a number that is stored as text is never equal to, less than or"
    " greater than a number.",
)

NUMBERS = dict.fromkeys((Feature.NUMBER_EQUALITY, Feature.ORDER), (_TEXT_IS_NUMBER,))

LOWER_CASE = {DataType.BOOLEAN: Reading("{operand}|lower")}

_NOT_NULL_OR_EMPTY = Atom(
    '{operand}|default_if_none:"" != ""',
    '{operand}|default_if_none:"" == ""',
)

CONDITIONS = ConditionLanguage(
    write=write_normal_form,
    negation="not {test}",
    number_is_set=(_NOT_NULL_OR_EMPTY,),
    presences=(
        Presence((Atom("{operand}"),), FALSY_IN_PYTHON),
        Presence((_NOT_NULL_OR_EMPTY,), frozenset({Falsy.MISSING, Falsy.EMPTY_TEXT})),
    ),
    missing_number=Missing.FAILS,
    contains=Atom("{value} in {operand}"),
    readings=LOWER_CASE,
    booleans=shared.TEXT_BOOLEANS,
    true=shared.IS_TRUE_TEXT,
    state=Atom("{operand}", "not {operand}"),
    caveats={
        **NUMBERS,
        Feature.CONTAINS: (
            Caveat(
                WarningCode.SECONDARY_SOURCES,
                "Only secondary sources establish that {title} finds parts of texts.",
            ),
        ),
    },
)

DATES = shared.date_parts("d j m n M F y Y D l")

ACCENTS = (
    "Django does not count accents that are separate characters, and joins them to their letters,"
    " as in cafe\u0301."
)

LOOP = LoopForm(
    opening="{% for VARIABLE in ITEMS %}",
    otherwise="{% empty %}",
    closing="{% endfor %}",
    members={
        "number": "forloop.counter",
        "first": "forloop.first",
        "last": "forloop.last",
    },
    source="https://docs.djangoproject.com/en/5.2/ref/templates/builtins/#for",
)

ADJACENT_TEXT = AdjacentText(re.compile(r"\{\Z"), separator="{# #}")
