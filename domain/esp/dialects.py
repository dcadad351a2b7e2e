"""The dialects of email service providers (ESPs): how each of them refers to a field.

A template contains slots: NAME is the ESP field name, PATH is that name with square brackets
around each part between periods that is not a word, VARIABLE is that name as a Salesforce variable,
EXPRESSION is the value expression, and DEFAULT is the text for a missing value. A slot in quotes
becomes a string literal of the dialect. Any other slot is replaced verbatim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial

from attrs import frozen

from ..choices import Choice
from ..fields.values import DataType
from .languages.ampscript import read_ampscript
from .languages.django import BLANK_AFTER_COLON, read_django
from .languages.handlebars import HandlebarsWords, read_handlebars
from .languages.hubl import read_hubl
from .languages.liquid import LiquidWords, read_liquid
from .languages.merge_tags import read_merge_tags
from .languages.percent_tags import read_percent_tags
from .languages.pongo2 import read_pongo2
from .languages.tree import Node

__all__ = ["DIALECTS", "Dialect", "Engine", "Esp", "Form", "MissingValue", "Quoting"]


class Esp(Choice):
    """The supported providers."""

    SALESFORCE = "sfmc"
    MAILCHIMP = "mailchimp"
    KLAVIYO = "klaviyo"
    BRAZE = "braze"
    CUSTOMER_IO = "customerio"
    HUBSPOT = "hubspot"
    SENDGRID = "sendgrid"
    ITERABLE = "iterable"
    BREVO = "brevo"
    ACTIVECAMPAIGN = "activecampaign"


class Engine(Enum):
    """The template engines that ESPs run, or that stand in for an engine that can't be tested."""

    RUBY_LIQUID = "Ruby's Liquid"
    LIQUIDJS = "LiquidJS"
    PONGO2 = "pongo2"
    DJANGO = "Django"
    JINJAVA = "Jinjava"
    HANDLEBARS = "handlebars.js"


class Quoting(Enum):
    """The ways to write a string literal that contains a quote."""

    DOUBLED = "the quote is doubled"
    OTHER = "the literal is enclosed in the other type of quotes"
    NONE = "not possible"


@frozen
class Form:
    """The value expression of fields whose whole name matches the regular expression `pattern`."""

    pattern: str
    expression: str


@frozen
class MissingValue:
    """What happens if a recipient lacks the value of a code that matches `pattern`."""

    pattern: str
    message: str


@frozen(kw_only=True)
class Dialect:
    """How one ESP refers to fields.

    `guarded_insertion` is the insertion code that shows nothing for null, if `insertion` can show
    the null itself. `shown_forms` contains, per data type, how an engine shows values in another
    form than the preview.

    `read` returns the tree of a text in the language of the ESP. For the reasons in
    `unestablished`, it is not established that the ESP refuses the code, as its language does.

    `engines` contains the engines that the ESP is known or suspected to run, with the source of
    that knowledge. Derived code is right on all of them, or has a caveat. It is empty if nothing is
    known: then the code follows the documentation of the ESP.

    The first of `forms` that matches the name applies. `standard` contains the forms of the ESP's
    own fields, if they differ from those of custom fields. `name_rule` and `standard_name_rule` are
    the messages for names without a form. A name or default must not contain any of the
    `delimiters`, and a name must not be `reserved`. `default_also_replaces` contains, per data
    type, a value that the ESP replaces with the default although it is not missing.
    `default_caveat` is a known case of texts in which the ESP can show something else than the
    default. `missing_value` is known if a missing value stops the message. If
    `lists_fields_in_use_only` is true, the ESP does not list field definitions, only the fields
    that it has found in use, so a field that it does not list may exist.
    """

    title: str
    read: Callable[[str], tuple[Node, ...]]
    unestablished: frozenset[str] = frozenset()
    engines: Mapping[Engine, str] = {}
    name_rule: str
    forms: tuple[Form, ...]
    standard_name_rule: str = ""
    standard: tuple[Form, ...] = ()
    insertion: str
    guarded_insertion: str | None = None
    insertion_with_default: str
    prelude: str | None = None
    delimiters: tuple[str, ...]
    quoting: Quoting = Quoting.NONE
    reserved: frozenset[str] = frozenset()
    shown_forms: Mapping[DataType, str] = {}
    default_also_replaces: Mapping[DataType, str] = {}
    default_caveat: str | None = None
    missing_value: MissingValue | None = None
    lists_fields_in_use_only: bool = False


_ANYTHING = r".+"
WORD = r"[A-Za-z_][A-Za-z0-9_]*"
"""A name that needs no quotes or brackets in any dialect."""
_PART = r"""[^.\[\]'"\s](?:[^.\[\]'"]*[^.\[\]'"\s])?"""
"""A part of a path in Iterable, without white space at the ends."""
_BRACES = ("{", "}", "\\")
"""Template engines differ in whether one brace ends a tag, and in what a backslash escapes."""

_LIQUID_WORDS = (
    "and|as|blank|cols|contains|continue|else|empty|false|first|for|if|in|last|limit|nil|not|null"
    "|offset|or|required|reversed|size|true|with"
)
"""Keywords of Liquid after a dot: `customer.first` is the first attribute, not `first`."""

_DECIMAL = "{engine} shows a number that is stored as a decimal with its zero: 3.0."
_CAPITALIZED = "{engine} shows True and False with capital letters."
_LIQUID_FORMS = {DataType.NUMBER: _DECIMAL.format(engine=Engine.RUBY_LIQUID.value)}
_DJANGO_FORMS = {
    DataType.NUMBER: _DECIMAL.format(engine=Engine.DJANGO.value),
    DataType.BOOLEAN: _CAPITALIZED.format(engine=Engine.DJANGO.value),
}

_HANDLEBARS = "as else false if each log lookup null this true undefined unless with"

_read_braze = partial(read_liquid, words=LiquidWords(has_interpolation=True))
_read_iterable = partial(read_handlebars, words=HandlebarsWords(has_feeds=True))
_read_sendgrid = partial(read_handlebars, words=HandlebarsWords(has_fallbacks=True))

DIALECTS: Mapping[Esp, Dialect] = {
    Esp.SALESFORCE: Dialect(
        title="Salesforce Marketing Cloud",
        read=read_ampscript,
        name_rule="A Salesforce Marketing Cloud attribute begins with a letter.",
        forms=(Form(r"[^\W\d_].*", "@VARIABLE"),),
        insertion="%%=v(EXPRESSION)=%%",
        insertion_with_default='%%=IIf(Empty(EXPRESSION), "DEFAULT", EXPRESSION)=%%',
        prelude='%%[ SET EXPRESSION = AttributeValue("NAME") ]%%',
        delimiters=("%%",),
        quoting=Quoting.DOUBLED,
        missing_value=MissingValue(
            r"%%\s*+\[?[A-Za-z_][^%=\[\]]*+(?:\]\s*+)?%%|\bv\(\s*+[A-Za-z\[][^(]*\)",
            "Salesforce Marketing Cloud stops the send if it lacks the attribute. Read it with"
            ' AttributeValue("NAME").',
        ),
    ),
    Esp.MAILCHIMP: Dialect(
        title="Mailchimp",
        read=read_merge_tags,
        name_rule=(
            "A Mailchimp tag is 1 to 10 capital letters, digits and underscores, and begins with a"
            " letter."
        ),
        forms=(Form(r"[A-Z][A-Z0-9_]{0,9}", "NAME"),),
        insertion="*|NAME|*",
        insertion_with_default="*|IF:NAME|**|NAME|**|ELSE:|*DEFAULT*|END:IF|*",
        delimiters=("*|", "|*"),
        # The second line inserts links or the current date, not a field.
        reserved=frozenset(
            {"ELSE", "ELSEIF", "END", "IF", "IFNOT"}
            | {"ARCHIVE", "DATE", "FORWARD", "REWARDS", "UNSUB"}
        ),
    ),
    Esp.KLAVIYO: Dialect(
        title="Klaviyo",
        read=read_django,
        unestablished=frozenset({BLANK_AFTER_COLON}),
        engines={Engine.DJANGO: "Klaviyo documents the template language of Django."},
        name_rule="A Klaviyo property is one line of text.",
        forms=(Form(_ANYTHING, "person|lookup:'NAME'"),),
        standard_name_rule=(
            "Klaviyo's standard fields are first_name, last_name, full_name, email, phone_number,"
            " organization, City and Country."
        ),
        standard=(
            Form(r"first_name|last_name|full_name|email", "NAME"),
            Form(r"phone_number|organization|City|Country", "person.NAME"),
        ),
        insertion="{{ EXPRESSION }}",
        guarded_insertion="{{ EXPRESSION|default_if_none:'' }}",
        insertion_with_default="{{ EXPRESSION|default:'DEFAULT' }}",
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        shown_forms=_DJANGO_FORMS,
        default_also_replaces={DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
        lists_fields_in_use_only=True,
    ),
    Esp.BRAZE: Dialect(
        title="Braze",
        read=_read_braze,
        engines={
            Engine.RUBY_LIQUID: "Braze documents Shopify's Liquid, which is Ruby's.",
            Engine.LIQUIDJS: "The engine is not public, and LiquidJS is the other common one.",
        },
        name_rule=(
            "Braze reads periods, brackets, quotes, |, <, >, = and %, and a - at either end, as"
            " code."
        ),
        forms=(Form(r"""(?!-)[^.()\[\]'"|<>=%]+(?<!-)""", "custom_attribute.${NAME}"),),
        standard_name_rule=(
            "A standard field of Braze is lower-case letters, digits and underscores."
        ),
        standard=(Form(r"[a-z][a-z0-9_]*", "${NAME}"),),
        insertion="{{EXPRESSION}}",
        insertion_with_default="{{EXPRESSION | default: 'DEFAULT'}}",
        shown_forms=_LIQUID_FORMS,
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        reserved=frozenset({"size"}),
        default_also_replaces={DataType.BOOLEAN: "false"},
    ),
    Esp.CUSTOMER_IO: Dialect(
        title="Customer.io",
        read=read_liquid,
        engines={
            Engine.RUBY_LIQUID: "Accounts from before 28 November 2023 can use legacy Liquid.",
            Engine.LIQUIDJS: "Other accounts, and messages of Design Studio.",
        },
        name_rule="Customer.io can't insert an attribute called size: Liquid reads it as a count.",
        forms=(
            Form(rf"(?!(?:{_LIQUID_WORDS})\Z){WORD}", "customer.NAME"),
            Form(r"(?!size\Z).+", 'customer["NAME"]'),
        ),
        insertion="{{EXPRESSION}}",
        # Legacy Liquid has no filter `default` with this meaning.
        insertion_with_default=(
            '{% if EXPRESSION != nil and EXPRESSION != "" %}{{EXPRESSION}}{% else %}DEFAULT'
            "{% endif %}"
        ),
        shown_forms=_LIQUID_FORMS,
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        missing_value=MissingValue(
            r"(?s)\A(?!.*(?:\bdefault\b|\{%)).+",
            "Customer.io does not send the message to people without the attribute. Add a default,"
            " or write `{{#if recipient.KEY is set}}…{{/if}}`.",
        ),
        lists_fields_in_use_only=True,
    ),
    Esp.HUBSPOT: Dialect(
        title="HubSpot",
        read=read_hubl,
        engines={
            Engine.JINJAVA: "HubSpot publishes it. It runs on Java, so the tests have a stand-in."
        },
        name_rule=(
            "A HubSpot property is 1 to 100 lower-case letters, digits and underscores, and begins"
            " with a letter."
        ),
        forms=(Form(r"[a-z][a-z0-9_]{0,99}", "contact.NAME"),),
        insertion="{{ EXPRESSION }}",
        insertion_with_default="{{ personalization_token('EXPRESSION', 'DEFAULT') }}",
        shown_forms={
            DataType.NUMBER: (
                "Jinjava shows a number that is stored as a decimal with its zero, 3.0, and from"
                " 10,000,000 on with an exponent: 1.0E7."
            ),
        },
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
    ),
    Esp.SENDGRID: Dialect(
        title="SendGrid",
        read=_read_sendgrid,
        engines={Engine.HANDLEBARS: "SendGrid documents Handlebars."},
        name_rule=(
            "A SendGrid field is 1 to 100 letters, digits and underscores, and does not begin with"
            " a digit."
        ),
        forms=(Form(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "NAME"),),
        insertion="{{EXPRESSION}}",
        insertion_with_default='{{insert EXPRESSION "default=DEFAULT"}}',
        default_caveat=(
            "SendGrid does not document whether it shows the default instead of an empty text."
        ),
        delimiters=_BRACES,
        reserved=frozenset(
            f"{_HANDLEBARS} and equals formatDate greaterThan insert length lessThan notEquals"
            " or root".split()
        ),
    ),
    Esp.ITERABLE: Dialect(
        title="Iterable",
        read=_read_iterable,
        engines={
            Engine.HANDLEBARS: "Iterable documents Handlebars.java, which has the same language."
        },
        name_rule="Iterable reads periods, square brackets and quotes in such a name as code.",
        forms=(Form(rf"{_PART}(?:\.{_PART})*", "PATH"),),
        insertion="{{EXPRESSION}}",
        insertion_with_default='{{defaultIfEmpty EXPRESSION "DEFAULT"}}',
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        reserved=frozenset(
            f"{_HANDLEBARS} abbreviate and assign base64 block breaklines capitalize"
            " capitalizeFirst catalog center cut dateFormat dateMath defaultIfEmpty embedded eq"
            " groupBy gt gte hexEncode hmacSHA1 hmacSHA256 i18n i18nJs ifContains ifContainsStr"
            " ifEq ifGt ifGte ifLt ifLte ifMatchesRegexStr ifModEq join ljust lower lt lte math"
            " maxInList md5 minInList neq not now numberFormat or partial precompile profile"
            " replace rjust sendSkip sha1 sha256 size slugify snippet sortBy stringFormat"
            " stripTags substring timestamp toJson toUrlEncodedJson upper urlEncode wordWrap"
            " yesno".split()
        ),
        default_also_replaces={DataType.NUMBER: "0", DataType.BOOLEAN: "false"},
    ),
    Esp.BREVO: Dialect(
        title="Brevo",
        read=read_pongo2,
        engines={
            Engine.PONGO2: "A guide of a third party, Mailtrap, names this engine.",
            Engine.DJANGO: "Brevo documents tags and filters of Django's template language.",
        },
        name_rule=(
            "A Brevo attribute is capital letters, digits and underscores, and begins with a"
            " letter."
        ),
        forms=(Form(r"[A-Z][A-Z0-9_]*", "contact.NAME"),),
        insertion="{{ EXPRESSION }}",
        guarded_insertion="{{ EXPRESSION|default_if_none:'' }}",
        # pongo2 escapes the default of its filter `default`.
        insertion_with_default="{% if EXPRESSION %}{{ EXPRESSION }}{% else %}DEFAULT{% endif %}",
        shown_forms={
            DataType.NUMBER: (
                "pongo2 shows a number that is stored as a decimal with six digits: 3.000000."
                " Django shows 3.0."
            ),
            DataType.BOOLEAN: _CAPITALIZED.format(engine="pongo2 or Django"),
        },
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        default_also_replaces={DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
    ),
    Esp.ACTIVECAMPAIGN: Dialect(
        title="ActiveCampaign",
        read=read_percent_tags,
        name_rule="An ActiveCampaign tag is capital letters, digits and underscores.",
        forms=(Form(r"[A-Z0-9_]+", "$NAME"),),
        insertion="%NAME%",
        insertion_with_default="%IF EXPRESSION != ''%%NAME%%ELSE%DEFAULT%/IF%",
        delimiters=("%",),
        reserved=frozenset({"ELSE", "ELSEIF", "IF"}),
    ),
}
