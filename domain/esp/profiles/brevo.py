"""Brevo: a language that follows Django's."""

from __future__ import annotations

from attrs import evolve

from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.condition_writers import write_alternatives
from ..languages.conditions import Atom, Caveat, Feature, Missing
from ..languages.paths import write_django
from ..languages.pongo2 import read_pongo2
from ..names import Esp
from . import django, shared
from .profile import (
    Creation,
    Engine,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    LinkRule,
    Names,
    OtherDefault,
    Profile,
    Quoting,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Vocabulary,
    words,
)

_SECONDARY_OPERATORS = Caveat(
    WarningCode.SECONDARY_SOURCES, "Only secondary sources establish the operators of {title}."
)

_ZERO_AND_FALSE = {DataType.NUMBER: "0", DataType.BOOLEAN: "False"}

_FILTERS = "https://help.brevo.com/hc/fr/articles/4405381108626"


def _filter(code: str, *differences: str) -> FilterForm:
    return FilterForm(code=code, source=_FILTERS, strength=Strength.VENDOR, differences=differences)


_HTML = (
    "A third party's guide says that Brevo does not escape HTML in values. pongo2 and Django escape"
    " it. A value with < or & can spoil the email, or show entities."
)

_TEMPLATES = "public templates on github.com with `{{ update_profile }}`"

_SENDER = "github.com/analytiq-hub/docrouter.github.io"


PROFILE = Profile(
    esp=Esp("brevo"),
    title="Brevo",
    languages=(read_pongo2,),
    engines={
        Engine.PONGO2: "A guide of a third party, Mailtrap, names this engine.",
        Engine.DJANGO: "Brevo documents tags and filters of Django's template language.",
    },
    names=Names(
        rule=(
            "A Brevo attribute is capital letters, digits and underscores, and begins with a"
            " letter."
        ),
        forms=(Form(r"[A-Z][A-Z0-9_]*", "contact.NAME"),),
        # The vendor's pages establish these names.
        standard_fields={
            "first_name": "FIRSTNAME",
            "last_name": "LASTNAME",
            "email": "EMAIL",
            "phone": "SMS",
        },
        # No source says whether the API lists EMAIL, which each contact has.
        unlisted=frozenset({"EMAIL"}),
        capitals=True,
        creation=Creation(
            "Create the contact attribute NAME: POST /v3/contacts/attributes/normal/NAME.",
            Strength.SECONDARY,
        ),
    ),
    insertion=Insertion(
        source="help.brevo.com/hc/en-us/articles/4402386448530",
        code="{{ EXPRESSION }}",
        guarded="{{ EXPRESSION|default_if_none:'' }}",
        # pongo2 escapes the default of its filter `default`.
        with_default="{% if EXPRESSION %}{{ EXPRESSION }}{% else %}DEFAULT{% endif %}",
        quoting=Quoting.OTHER,
        shown_forms={
            DataType.NUMBER: (
                "pongo2 shows a number that is stored as a decimal with six digits: 3.000000."
                " Django shows 3.0."
            ),
            DataType.BOOLEAN: django.CAPITALIZED.format(engine="pongo2 or Django"),
        },
        default_also_replaces=_ZERO_AND_FALSE,
        other_defaults=(
            OtherDefault("{{ EXPRESSION|default:'DEFAULT' }}", _FILTERS, _ZERO_AND_FALSE),
        ),
    ),
    conditions=evolve(
        django.CONDITIONS,
        write=write_alternatives,
        refused=shared.without_dates("Django and pongo2 have different formats of dates."),
        decimal_literals=True,  # pongo2 compares integers, unless one side is a decimal
        equal_by_order=True,
        missing_number=Missing.IS_ZERO_OR_FAILS,
        order=shared.ORDER_WITH_OPPOSITES,
        # `not` before a comparison negates only its first operand in pongo2.
        contains=Atom(
            "{value} in {operand}",
            '{operand}|default_if_none:""|cut:{value} == {operand}|default_if_none:""',
        ),
        caveats={
            feature: (_SECONDARY_OPERATORS, *django.NUMBERS.get(feature, ()))
            for feature in Feature
            if feature not in {Feature.TEXT_SET, Feature.DATE_SET}  # `if` without an operator
        },
        joined_caveat=_SECONDARY_OPERATORS,
        option_caveat=Caveat(
            WarningCode.UNKNOWN_OPTION_FORM,
            "{title} does not document whether an email contains the value or the label of an"
            " option.",
        ),
    ),
    filters=FilterLanguage(
        value="VALUE|default_if_none:''",
        forms={
            FilterName.UPPER: _filter(
                "VALUE|upper", "pongo2 does not write ß as SS, as in Straße."
            ),
            FilterName.LOWER: _filter(
                "VALUE|lower",
                "pongo2 writes Σ at the end of a word as in its middle, as in ΟΔΟΣ, and İ as i.",
            ),
            FilterName.TITLE: _filter(
                "VALUE|title",
                "Django and pongo2 write different capitals in words with other characters than A"
                " to Z, such as it's, a_b or ßa.",
            ),
            FilterName.TRUNCATE: evolve(
                _filter(
                    "VALUE|truncatechars:ARGUMENT",
                    "pongo2 ends a text that it cuts with three periods instead of …: Züric…"
                    " becomes Zür....",
                    django.ACCENTS,
                ),
                least=4,
            ),
            FilterName.NUMBER: evolve(
                _filter(
                    "VALUE|floatformat:ARGUMENT",
                    "pongo2 rounds some halves down, as in 1.005, and shows a negative zero:"
                    " -0.00.",
                ),
                needs_value=True,
            ),
            FilterName.URL: FilterRefusal(
                "No source establishes how {title} encodes a value in URLs."
            ),
            FilterName.DATE: FilterRefusal(
                "No source establishes which format of dates {title} reads: Django and pongo2 have"
                " different ones."
            ),
        },
    ),
    surfaces=SurfaceRules(
        source="A third party's guide, mailtrap-skills, which the engines contradict",
        caveats=dict.fromkeys(Surface, _HTML),
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(code="{{ unsubscribe }}", source=_TEMPLATES),
        SystemValue.PREFERENCES: SystemCode(code="{{ update_profile }}", source=_TEMPLATES),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="{{ mirror }}", source=_TEMPLATES),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{ sender.name }}",
            source=_SENDER,
            caveat=f"Only one template shows this code. {shared.NOT_THE_COMPANY}",
            caveat_of_reading=shared.NOT_THE_COMPANY,
            also={"sender.company": None},
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{ sender.address }}",
            source=_SENDER,
            caveat="Only one template shows this code. Test the email.",
            also={"company_address": None},
        ),
        SystemValue.YEAR: (
            "Brevo has a variable for the email's date, but no source establishes the code of its"
            " year. Write the year."
        ),
    },
    events=EventData(
        ways=(
            EventWay(
                name="params",
                sent_by="the parameters of a transactional email",
                value="params",
                source="help.brevo.com/hc/en-us/articles/4402386448530",
            ),
        ),
        write_path=write_django,
        # pongo2 writes `forloop.Counter`, and Django `forloop.counter`.
        loop=evolve(django.LOOP, members={}),
    ),
    link_rule=LinkRule("Brevo requires a link to unsubscribe in a campaign.", _TEMPLATES),
    vocabulary=Vocabulary(
        syntax=Syntax.DJANGO,
        fields=words("contact"),
        events=words("event params"),
        nested=words("data feed feeds items product products recommendations"),
        system=words(
            "address company_address date_now doubleoptin mirror preview_text sender.* unsubscribe"
            " update_profile"
        ),
        common=words(
            "address company_address data feed feeds items preview_text product products"
            " recommendations"
        ),
        local=django.LOCAL,
        tags=django.TAGS | words("set macro endmacro import ssi"),
        filters=django.FILTERS
        | words(
            "date_i18n float formatdate integer intcomma markdown replace split time_add time_parse"
        ),
    ),
    adjacent_text=django.ADJACENT_TEXT,
    keeping=shared.keeping("verbatim"),
    api_hosts=r"api\.brevo\.com",
)
