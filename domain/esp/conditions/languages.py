"""How each ESP writes conditions."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from ...conditions import Operator
from ...content import WarningCode
from ..dialects import Esp
from .blocks import write_nested_blocks
from .code_parts import Caveat, Feature, Language
from .flags import write_with_flags
from .formulas import Atom
from .inline import write_inline
from .normal_form import write_normal_form

_NO_CONTAINS = "{title} has no test for a part of a text."

_DJANGO = Language(
    write=write_normal_form,
    negation="not {test}",
    guards_order=False,
    contains="{value} in {operand}",
    booleans=("False", "True"),
    caveats={
        Feature.CONTAINS: Caveat(
            WarningCode.SECONDARY_SOURCES,
            "Only secondary sources establish that {title} finds parts of texts.",
        ),
    },
)

_LIQUID = Language(
    write=write_with_flags,
    present=Atom("{operand} != nil", "{operand} == nil"),
    empty=Atom('{operand} == ""', '{operand} != ""'),
    zero_is_present=True,
    true=Atom("{operand} == true", "{operand} != true"),
    contains="{operand} contains {value}",
)

_HANDLEBARS = Language(
    write=write_nested_blocks,
    tag=("{{", "}}"),
    begin="#{test}",
    end="/{helper}",
    inseparable=r"\A\}|[{\\]\Z",
    present=Atom("if {operand}"),
    true=Atom("if {operand}"),
    equal=Atom("equals {operand} {value}"),
    order={
        Operator.LESS: "lessThan {operand} {value}",
        Operator.GREATER: "greaterThan {operand} {value}",
    },
    refused={Feature.CONTAINS: _NO_CONTAINS},
    zero_caveat=Caveat(
        WarningCode.EMPTY_TEXT_IS_ZERO,
        "{title} compares values of different types: an empty text equals 0 and false.",
    ),
)

_NO_FALSE = "No source establishes how {title} distinguishes false from a missing value."
_UNKNOWN_MISSING = Caveat(
    WarningCode.UNKNOWN_MISSING_VALUE,
    "{title} does not document how it reads a missing value. If it reads an empty text, that"
    " equals 0 and false, and counts as set.",
)
_NO_BOOLEANS = "{title} has no boolean fields."
_NUMERIC_TEXT = Caveat(
    WarningCode.NUMERIC_TEXT,
    "{title} does not document whether it compares texts that are numbers by value.",
)
_NO_CASE = Caveat(WarningCode.CASE_INSENSITIVE, "{title} compares texts without regard to case.")
_UNKNOWN_CASE = Caveat(
    WarningCode.UNKNOWN_CASE_AND_SPACES,
    "{title} does not document whether comparisons of texts are case-sensitive, and whether they"
    " ignore white space at the ends.",
)
_SECONDARY_OPERATORS = Caveat(
    WarningCode.SECONDARY_SOURCES, "Only secondary sources establish the operators of {title}."
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
        negation="NOT ({test})",
        joiners=(" AND ", " OR "),
        present=Atom("NOT EMPTY({operand})", "EMPTY({operand})"),
        zero_is_present=True,
        true=Atom("{operand} == true"),
        equal=Atom("{operand} == {value}"),
        guards_equality=True,
        contains="INDEXOF({operand}, {value}) > 0",
        guards_contains=True,
        caveats={
            Feature.TEXT_EQUALITY: _NO_CASE,
            Feature.CONTAINS: Caveat(
                WarningCode.UNKNOWN_CASE,
                "Only secondary sources establish that INDEXOF is 0 if {title} does not find the"
                " text. No source establishes whether it is case-sensitive.",
            ),
        },
        numeric_text_caveat=_NUMERIC_TEXT,
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
            Operator.LESS: "{operand}<{value}",
            Operator.AT_MOST: "{operand}<={value}",
            Operator.GREATER: "{operand}>{value}",
            Operator.AT_LEAST: "{operand}>={value}",
        },
        quote=None,
        refused={
            Feature.CONTAINS: _NO_CONTAINS,
            Feature.TRUE: _NO_BOOLEANS,
            Feature.FALSE: _NO_BOOLEANS,
            Feature.BOOLEAN_SET: _NO_BOOLEANS,
        },
        caveats={
            Feature.TEXT_EQUALITY: _UNKNOWN_CASE,
            Feature.NUMBER_EQUALITY: Caveat(
                WarningCode.UNKNOWN_NUMBER_FORM,
                "{title} does not document whether 3 equals 3.0.",
            ),
            Feature.ORDER: Caveat(
                WarningCode.SECONDARY_SOURCES,
                "Only secondary sources establish that {title} compares numbers.",
            ),
        },
        zero_caveat=Caveat(
            WarningCode.UNKNOWN_ZERO,
            "{title} does not document how it reads the number 0.",
        ),
        numeric_text_caveat=_NUMERIC_TEXT,
    ),
    Esp.KLAVIYO: _DJANGO,
    Esp.BRAZE: _LIQUID,
    Esp.CUSTOMER_IO: evolve(
        _LIQUID,
        caveats={
            Feature.NUMBER_EQUALITY: Caveat(
                WarningCode.NUMBER_AS_TEXT,
                "{title} can store numbers as texts, and a text never equals a number.",
            ),
        },
    ),
    Esp.HUBSPOT: Language(
        write=write_inline,
        present=Atom("{operand} is not none", "{operand} is none"),
        empty=Atom('{operand} == ""', '{operand} != ""'),
        zero_is_present=True,
        contains="{operand} is string_containing {value}",
        caveats=dict.fromkeys((Feature.NUMBER_SET, Feature.BOOLEAN_SET), _UNKNOWN_MISSING),
        zero_caveat=_UNKNOWN_MISSING,
    ),
    Esp.SENDGRID: _HANDLEBARS,
    Esp.ITERABLE: evolve(
        _HANDLEBARS,
        equal=Atom("ifEq {operand} {value}"),
        order={
            Operator.LESS: "ifLt {operand} {value}",
            Operator.AT_MOST: "ifLte {operand} {value}",
            Operator.GREATER: "ifGt {operand} {value}",
            Operator.AT_LEAST: "ifGte {operand} {value}",
        },
        contains="ifContainsStr {operand} {value}",
        guards_contains=True,
        refused={
            Feature.FALSE: _NO_FALSE,
            Feature.BOOLEAN_SET: _NO_FALSE,
        },
        zero_caveat=None,
        numeric_text_caveat=Caveat(
            WarningCode.NUMERIC_TEXT,
            "{title} compares texts that are numbers by value: 1.0 equals 1.",
        ),
    ),
    Esp.BREVO: evolve(
        _DJANGO,
        caveats=dict.fromkeys(Feature, _SECONDARY_OPERATORS),
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
        present=Atom("{operand} != ''"),
        zero_is_present=True,
        equal=Atom("{operand} == {value}"),
        quote="'",
        quotes_numbers=True,
        refused={
            Feature.CONTAINS: "No source establishes how {title} finds a part of a text.",
            Feature.TRUE: _NO_BOOLEANS,
            Feature.FALSE: _NO_BOOLEANS,
            Feature.BOOLEAN_SET: _NO_BOOLEANS,
        },
        caveats=dict.fromkeys(
            Feature,
            Caveat(
                WarningCode.UNKNOWN_COMPARISON,
                "Only secondary sources establish the operators of {title}. None states whether"
                " case, white space at the ends, and zeros as in 3.0 matter.",
            ),
        ),
    ),
}
