"""How each ESP writes conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve

from ...conditions import Operator
from ...content import WarningCode
from ...fields.values import DataType
from ..dialects import Engine, Esp
from .blocks import write_nested_blocks
from .code_parts import Caveat, Feature, Language, Missing, Reading
from .flags import write_with_flags
from .formulas import Atom
from .inline import write_inline
from .normal_form import write_alternatives, write_normal_form

_NO_CONTAINS = "{title} has no test for a part of a text."
_NO_DATES = "Comparisons of dates are not supported yet for {title}: "
_NO_INSTANTS = (
    "Comparisons of date-times are not supported yet for {title}: the time zone in which it reads"
    " an instant is not established."
)


def _without_dates(reason: str) -> Mapping[Feature, str]:
    """Return the refusals of a language that compares neither dates nor instants."""
    return dict.fromkeys((Feature.DATE_COMPARISON, Feature.INSTANT_COMPARISON), _NO_DATES + reason)


_WHOLE_SECONDS = Caveat(
    WarningCode.WHOLE_SECONDS,
    "{title} compares instants in whole seconds: 09:15:00.500 equals 09:15:00.",
)

_TEXT_IS_NUMBER = Caveat(
    WarningCode.NUMBER_AS_TEXT,
    f"{Engine.DJANGO.value} finds a number that is stored as text neither equal to a number, nor"
    " less or greater.",
)
_DJANGO_NUMBERS = dict.fromkeys((Feature.NUMBER_EQUALITY, Feature.ORDER), (_TEXT_IS_NUMBER,))
_LOWER_CASE = {DataType.BOOLEAN: Reading("{operand}|lower")}
_TEXT_BOOLEANS = ('"false"', '"true"')
_IS_TRUE_TEXT = Atom('{operand} == "true"', '{operand} != "true"')
_NOT_NULL_OR_EMPTY = Atom(
    '{operand}|default_if_none:"" != ""',
    '{operand}|default_if_none:"" == ""',
)

_DJANGO = Language(
    write=write_normal_form,
    negation="not {test}",
    number_is_set=(_NOT_NULL_OR_EMPTY,),
    missing_number=Missing.FAILS,
    contains=Atom("{value} in {operand}"),
    readings=_LOWER_CASE,
    booleans=_TEXT_BOOLEANS,
    true=_IS_TRUE_TEXT,
    caveats={
        **_DJANGO_NUMBERS,
        Feature.CONTAINS: (
            Caveat(
                WarningCode.SECONDARY_SOURCES,
                "Only secondary sources establish that {title} finds parts of texts.",
            ),
        ),
    },
)

_ORDER_WITH_OPPOSITES = {
    Operator.LESS: Atom("{operand} < {value}", "{operand} >= {value}"),
    Operator.AT_MOST: Atom("{operand} <= {value}", "{operand} > {value}"),
    Operator.GREATER: Atom("{operand} > {value}", "{operand} <= {value}"),
    Operator.AT_LEAST: Atom("{operand} >= {value}", "{operand} < {value}"),
}
"""The order in languages that have no `not`, or whose `not` negates only the first operand."""

_LIQUID_IS_SET = (
    Atom("{operand} != nil", "{operand} == nil"),
    Atom('{operand} != ""', '{operand} == ""'),
)
_LIQUID = Language(
    write=write_with_flags,
    keeps_white_space="{{ nil }}",
    is_set=_LIQUID_IS_SET,
    number_is_set=_LIQUID_IS_SET,
    missing_number=Missing.IS_ZERO,
    readings={
        DataType.NUMBER: Reading("{operand} | plus: 0", "{key}_number"),
        DataType.BOOLEAN: Reading("{operand} | downcase", "{key}_text"),
        DataType.DATE: Reading('{operand} | date: "%Y%m%d" | plus: 0', "{key}_day"),
        DataType.DATETIME: Reading('{operand} | date: "%s%L" | plus: 0', "{key}_milliseconds"),
    },
    booleans=_TEXT_BOOLEANS,
    true=_IS_TRUE_TEXT,
    order=_ORDER_WITH_OPPOSITES,
    contains=Atom("{operand} contains {value}"),
)

_HANDLEBARS_BOOLEANS = Caveat(
    WarningCode.BOOLEAN_AS_TEXT,
    f'{Engine.HANDLEBARS.value} reads the boolean false as true if it is stored as text: "false".',
)
_EMPTY_IS_FALSE = Caveat(
    WarningCode.EMPTY_TEXT_IS_FALSE,
    f"{Engine.HANDLEBARS.value} reads an empty text in a boolean field as false.",
)
_SENDGRID_DATES = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "{title} documents only the helper length in parentheses. Handlebars permits all helpers there:"
    " test the email.",
)
_HANDLEBARS = Language(
    write=write_nested_blocks,
    tag=("{{", "}}"),
    begin="#{test}",
    end="/{helper}",
    inseparable=r"\A\}|[{\\]\Z",
    is_set=(Atom("if {operand}"),),
    zero='"0"',  # An empty text equals the number 0, but not the text "0".
    true=Atom("if {operand}"),
    equal=Atom("equals {operand} {value}"),
    order={
        Operator.LESS: Atom("lessThan {operand} {value}"),
        Operator.GREATER: Atom("greaterThan {operand} {value}"),
    },
    readings={
        DataType.DATE: Reading('(formatDate {operand} "YYYYMMDD")', date="{digits}"),
        DataType.DATETIME: Reading(
            '(formatDate {operand} "YYYYMMDDHHmmss" "+0000")', date="{digits}"
        ),
    },
    refused={Feature.CONTAINS: _NO_CONTAINS},
    caveats={
        Feature.TRUE: (_HANDLEBARS_BOOLEANS,),
        Feature.FALSE: (_HANDLEBARS_BOOLEANS, _EMPTY_IS_FALSE),
        Feature.BOOLEAN_SET: (_EMPTY_IS_FALSE,),
        Feature.DATE_COMPARISON: (_SENDGRID_DATES,),
        Feature.INSTANT_COMPARISON: (_SENDGRID_DATES, _WHOLE_SECONDS),
    },
)


def _iterable_date(form: str) -> Reading:
    """Return the reading in digits: Iterable orders no dates, but texts of digits."""
    return Reading(f'(dateFormat {{operand}} format="{form}" tz="UTC")', date='"{digits}"')


_ITERABLE_DATES = Caveat(
    WarningCode.SECONDARY_SOURCES, "Only secondary sources establish how {title} compares dates."
)
_ITERABLE_BOOLEANS = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "Only secondary sources establish how {title} distinguishes false from a missing value.",
)

_NO_BOOLEANS = Caveat(
    WarningCode.NO_BOOLEAN_FIELDS,
    "{title} has no boolean fields. Store the texts true and false: the code compares with them.",
)
_NO_CASE = Caveat(
    WarningCode.CASE_INSENSITIVE, "{title} compares and searches texts without regard to case."
)
_UNKNOWN_CASE = Caveat(
    WarningCode.UNKNOWN_CASE_AND_SPACES,
    "{title} does not document whether comparisons of texts are case-sensitive, and whether they"
    " ignore white space at the ends.",
)
_SECONDARY_ORDER = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "Only secondary sources establish that {title} orders numbers.",
)
_SECONDARY_OPERATORS = Caveat(
    WarningCode.SECONDARY_SOURCES, "Only secondary sources establish the operators of {title}."
)

# In https://github.com/SalesforceLabs/ampscript-core, NOT negates all that follows it.
_NOT_EMPTY = (Atom("(NOT EMPTY({operand}))", "EMPTY({operand})"),)
_NOT_EMPTY_TEXT = (Atom("{operand} != ''"),)

_UNKNOWN_COMPARISON = Caveat(
    WarningCode.UNKNOWN_COMPARISON,
    "{title} does not document whether case, white space at the ends, and zeros as in 3.0 matter."
    " Sources disagree whether %/IF% or %ENDIF% ends a block. Test the email.",
)

LANGUAGES: Mapping[Esp, Language] = {
    Esp.SALESFORCE: Language(
        write=write_inline,
        tag=("%%[ ", " ]%%"),
        begin="IF {test} THEN",
        otherwise="ELSE",
        end="ENDIF",
        # An odd number of %% anywhere, or another number of percent signs at an end
        inseparable=(
            r"(?s)\A(?!(?:(?!%%).)*(?:%%(?:(?!%%).)*%%(?:(?!%%).)*)*\Z)"
            r"|\A(?:%(?!%)|%%%)|(?:(?<!%)%|%%%)\Z"
        ),
        joiners=(" AND ", " OR "),
        is_set=_NOT_EMPTY,
        number_is_set=_NOT_EMPTY,
        true=Atom("{operand} == true", "{operand} != true"),
        # The text "0" equals each text that is no number, and "1" equals "1.0".
        equal_texts=Atom(
            'CONCAT("=", {operand}) == CONCAT("=", {value})',
            'CONCAT("=", {operand}) != CONCAT("=", {value})',
        ),
        guards_equality=True,
        order=_ORDER_WITH_OPPOSITES,
        readings={
            DataType.DATE: Reading(
                # The function also reads a missing value if the guard before it does not hold.
                'DATEDIFF("{iso}", IIF(EMPTY({operand}), "{iso}", {operand}), "D")',
                date="0",
            ),
        },
        refused={Feature.INSTANT_COMPARISON: _NO_INSTANTS},
        contains=Atom("INDEXOF({operand}, {value}) > 0", "INDEXOF({operand}, {value}) == 0"),
        guards_contains=True,
        caveats=dict.fromkeys((Feature.TEXT_EQUALITY, Feature.CONTAINS), (_NO_CASE,)),
    ),
    Esp.MAILCHIMP: Language(
        write=write_nested_blocks,
        tag=("*|", "|*"),
        begin="IF:{test}",
        otherwise="ELSE:",
        end="END:IF",
        # A tag without its end
        inseparable=(r"(?s)\A(?:\||(?!(?:(?!\*\|).)*(?:\*\|(?:(?!\|\*).)+\|\*(?:(?!\*\|).)*)*\Z))"),
        equal=Atom("{operand}={value}"),
        order={
            Operator.LESS: Atom("{operand}<{value}"),
            Operator.AT_MOST: Atom("{operand}<={value}"),
            Operator.GREATER: Atom("{operand}>{value}"),
            Operator.AT_LEAST: Atom("{operand}>={value}"),
        },
        quote=None,
        true=Atom("{operand}=true"),
        refused={
            Feature.CONTAINS: _NO_CONTAINS,
            **_without_dates("it shows a date in the format of its field, which no sync reads."),
        },
        caveats={
            Feature.TRUE: (_NO_BOOLEANS,),
            Feature.FALSE: (_NO_BOOLEANS,),
            Feature.BOOLEAN_SET: (_NO_BOOLEANS,),
            Feature.TEXT_EQUALITY: (_UNKNOWN_CASE,),
            Feature.NUMBER_EQUALITY: (
                Caveat(
                    WarningCode.UNKNOWN_NUMBER_FORM,
                    "{title} does not document whether 3 equals 3.0.",
                ),
            ),
            Feature.ORDER: (_SECONDARY_ORDER,),
        },
        zero_caveat=Caveat(
            WarningCode.UNKNOWN_ZERO,
            "{title} does not document how it reads the number 0.",
        ),
        numeric_text_caveat=Caveat(
            WarningCode.NUMERIC_TEXT,
            "{title} does not document whether it compares texts that are numbers by value.",
        ),
        nesting=(
            re.compile(r"(?s)\*\|IF:(?:(?!\*\|END:IF\|\*).)*\*\|IF:"),
            Caveat(
                WarningCode.NESTED_CONDITIONS,
                "{title} documents blocks in blocks for Transactional emails only. Test the"
                " campaign.",
            ),
        ),
    ),
    Esp.KLAVIYO: evolve(
        _DJANGO,
        readings={
            **_LOWER_CASE,
            DataType.DATE: Reading("{operand}|format_date_string|date:'Ymd'", date='"{digits}"'),
        },
        refused={Feature.INSTANT_COMPARISON: _NO_INSTANTS},
        caveats={
            **_DJANGO.caveats,
            Feature.DATE_COMPARISON: (
                Caveat(
                    WarningCode.SECONDARY_SOURCES,
                    "Only secondary sources establish how {title} reads dates, and none the time"
                    " zone: midnight in UTC can be the day before.",
                ),
            ),
        },
    ),
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: evolve(
        _LIQUID,
        caveats=dict.fromkeys(
            (Feature.DATE_COMPARISON, Feature.INSTANT_COMPARISON),
            (
                Caveat(
                    WarningCode.SECONDARY_SOURCES,
                    "Only secondary sources establish how {title} reads dates: as Unix timestamps"
                    " in seconds, from 3 March 1973 on.",
                ),
            ),
        ),
    ),
    Esp.HUBSPOT: Language(
        write=write_inline,
        is_set=(
            Atom("{operand} is not none", "{operand} is none"),
            Atom('{operand} != ""', '{operand} == ""'),
        ),
        # 0 and false equal an empty text, but their texts don't.
        number_is_set=(Atom('{operand} ~ "" != ""', '{operand} ~ "" == ""'),),
        decimal_literals=True,  # beside an integer, a number that is stored as "0.5" is an error
        missing_number=Missing.IS_ZERO,
        guards_false=True,
        true=Atom("{operand} == true", "{operand} != true"),
        contains=Atom("{operand} is string_containing {value}"),
        refused=_without_dates("the form in which an email reads a date is not established."),
        caveats=dict.fromkeys(
            Feature,
            (
                Caveat(
                    WarningCode.PROGRAMMABLE_EMAIL,
                    "{title} evaluates conditions in programmable emails only, and never with the"
                    " values of a single-send request.",
                ),
            ),
        ),
    ),
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: evolve(
        _HANDLEBARS,
        equal=Atom("ifEq {operand} {value}"),
        order={
            Operator.LESS: Atom("ifLt {operand} {value}"),
            Operator.AT_MOST: Atom("ifLte {operand} {value}"),
            Operator.GREATER: Atom("ifGt {operand} {value}"),
            Operator.AT_LEAST: Atom("ifGte {operand} {value}"),
        },
        contains=Atom("ifContainsStr {operand} {value}"),
        guards_contains=True,
        false=Atom('or (eq {operand} false) (eq {operand} "false")'),
        readings={
            DataType.DATE: _iterable_date("yyyyMMdd"),
            DataType.DATETIME: _iterable_date("yyyyMMddHHmmss"),
        },
        refused={},
        caveats={
            Feature.TRUE: (_HANDLEBARS_BOOLEANS,),
            Feature.FALSE: (_ITERABLE_BOOLEANS,),
            Feature.BOOLEAN_SET: (_ITERABLE_BOOLEANS,),
            Feature.DATE_COMPARISON: (_ITERABLE_DATES,),
            Feature.INSTANT_COMPARISON: (_ITERABLE_DATES, _WHOLE_SECONDS),
            Feature.ORDER: (
                Caveat(
                    WarningCode.NUMBER_AS_TEXT,
                    "{title} requires values of one type to order them: a number that is stored as"
                    " text can stop the message. "
                    f"{Engine.HANDLEBARS.value} reads it as a number.",
                ),
            ),
        },
        zero_caveat=Caveat(
            WarningCode.UNKNOWN_ZERO,
            '{title} does not document whether the number 0 equals the text "0", with which the'
            " code compares it.",
        ),
        numeric_text_caveat=Caveat(
            WarningCode.NUMERIC_TEXT,
            "{title} compares texts that are numbers by value: 1.0 equals 1.",
        ),
    ),
    Esp.BREVO: evolve(
        _DJANGO,
        write=write_alternatives,
        refused=_without_dates("Django and pongo2 have different formats of dates."),
        decimal_literals=True,  # pongo2 compares integers, unless one side is a decimal
        equal_by_order=True,
        missing_number=Missing.IS_ZERO_OR_FAILS,
        order=_ORDER_WITH_OPPOSITES,
        # `not` before a comparison negates only its first operand in pongo2.
        contains=Atom(
            "{value} in {operand}",
            '{operand}|default_if_none:""|cut:{value} == {operand}|default_if_none:""',
        ),
        caveats={
            feature: (_SECONDARY_OPERATORS, *_DJANGO_NUMBERS.get(feature, ()))
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
    Esp.ACTIVECAMPAIGN: Language(
        write=write_nested_blocks,
        tag=("%", "%"),
        begin="IF {test}",
        otherwise="ELSE",
        end="/IF",
        inseparable=r"\A(?![^%]*(?:%[^%\s][^%]*%[^%]*)*\Z)",  # a percent sign outside tags
        is_set=_NOT_EMPTY_TEXT,
        number_is_set=_NOT_EMPTY_TEXT,
        equal=Atom("{operand} == {value}"),
        quote="'",
        quotes_numbers=True,
        booleans=("'false'", "'true'"),
        true=Atom("{operand} == 'true'"),
        refused={
            Feature.CONTAINS: "No source establishes a test of {title} for a part of a text.",
            **_without_dates("the form in which an email reads a date is not established."),
        },
        caveats={
            **dict.fromkeys(Feature, (_UNKNOWN_COMPARISON,)),
            **dict.fromkeys(
                (Feature.TRUE, Feature.FALSE, Feature.BOOLEAN_SET),
                (_UNKNOWN_COMPARISON, _NO_BOOLEANS),
            ),
            Feature.ORDER: (
                _UNKNOWN_COMPARISON,
                _SECONDARY_ORDER,
                Caveat(
                    WarningCode.NUMBER_AS_TEXT,
                    "{title} can order numbers as texts, so that 99 comes after 100.",
                ),
            ),
        },
    ),
}
