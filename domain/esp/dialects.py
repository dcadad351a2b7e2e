"""How each email service provider (ESP) writes a field: its dialect, as one table.

Templates hold slots: NAME is the ESP's name of the field, VARIABLE that name as a Salesforce
variable, EXPRESSION the value expression, DEFAULT what stands in for a missing value. A slot
between quotes is a string literal of the dialect; every other slot takes its text as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import frozen

from ..values import DataType


class Esp(Enum):
    """The providers whose dialects are known."""

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


class Quoting(Enum):
    """How a string literal holds its own quote."""

    DOUBLED = "the quote is written twice"
    OTHER = "the literal stands between the other quotes"
    NONE = "it can't"


@frozen
class Form:
    """How a field is referred to whose name matches the regular expression `names` as a whole."""

    names: str
    expression: str


@frozen(kw_only=True)
class Dialect:
    """How one ESP writes a field.

    The first of `forms` that fits the name counts; `standard` are those of the ESP's own fields,
    where it writes them differently. No name or default may hold one of `delimiters`, and no name
    may be `reserved`. `also_replaced` says which value that is not missing the default hides.
    Where `listing_is_sample`, the ESP lists no definitions of fields, only those in use that were
    met: a field that was not met may exist.
    """

    title: str
    names: str
    forms: tuple[Form, ...]
    standard_names: str = ""
    standard: tuple[Form, ...] = ()
    insertion: str
    insertion_with_default: str
    prelude: str | None = None
    delimiters: tuple[str, ...]
    quoting: Quoting = Quoting.NONE
    reserved: frozenset[str] = frozenset()
    also_replaced: Mapping[DataType, str] = {}
    listing_is_sample: bool = False


_ANYTHING = r".+"
_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_BRACES = ("{", "}", "\\")
"""Engines differ in whether one brace ends a tag and in what a backslash escapes."""

_LIQUID_WORDS = (
    "and|as|blank|cols|contains|continue|else|empty|false|first|for|if|in|last|limit|nil|not|null"
    "|offset|or|required|reversed|size|true|with"
)
"""Words that Liquid reads as its own behind a dot: `customer.first` begins to list attributes."""

_HANDLEBARS = "as else false if each log lookup null this true undefined unless with"

DIALECTS: Mapping[Esp, Dialect] = {
    Esp.SALESFORCE: Dialect(
        title="Salesforce Marketing Cloud",
        names="A Salesforce Marketing Cloud attribute begins with a letter.",
        forms=(Form(r"[^\W\d_].*", "@VARIABLE"),),
        insertion="%%=v(EXPRESSION)=%%",
        insertion_with_default='%%=IIf(Empty(EXPRESSION), "DEFAULT", EXPRESSION)=%%',
        prelude='%%[ SET EXPRESSION = AttributeValue("NAME") ]%%',
        delimiters=("%%",),
        quoting=Quoting.DOUBLED,
    ),
    Esp.MAILCHIMP: Dialect(
        title="Mailchimp",
        names="A Mailchimp tag is 1 to 10 capital letters, digits and underscores, a letter first.",
        forms=(Form(r"[A-Z][A-Z0-9_]{0,9}", "NAME"),),
        insertion="*|NAME|*",
        insertion_with_default="*|IF:NAME|**|NAME|**|ELSE:|*DEFAULT*|END:IF|*",
        delimiters=("*|", "|*"),
        # The last five insert links and the date of sending, not a field.
        reserved=frozenset(
            {"ELSE", "ELSEIF", "END", "IF", "IFNOT"}
            | {"ARCHIVE", "DATE", "FORWARD", "REWARDS", "UNSUB"}
        ),
    ),
    Esp.KLAVIYO: Dialect(
        title="Klaviyo",
        names="A Klaviyo property is one line of text.",
        forms=(Form(_ANYTHING, "person|lookup:'NAME'"),),
        standard_names="Klaviyo's standard fields are first_name, last_name, full_name and email.",
        standard=(Form(r"first_name|last_name|full_name|email", "NAME"),),
        insertion="{{ EXPRESSION }}",
        insertion_with_default="{{ EXPRESSION|default:'DEFAULT' }}",
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        also_replaced={DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
        listing_is_sample=True,
    ),
    Esp.BRAZE: Dialect(
        title="Braze",
        names="Braze reads periods, brackets, quotes, |, <, >, =, % and an outer - as code.",
        forms=(Form(r"""(?!-)[^.()\[\]'"|<>=%]+(?<!-)""", "custom_attribute.${NAME}"),),
        standard_names="A standard field of Braze is lower-case letters, digits and underscores.",
        standard=(Form(r"[a-z][a-z0-9_]*", "${NAME}"),),
        insertion="{{EXPRESSION}}",
        insertion_with_default="{{EXPRESSION | default: 'DEFAULT'}}",
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        reserved=frozenset({"size"}),
        also_replaced={DataType.BOOLEAN: "false"},
    ),
    Esp.CUSTOMER_IO: Dialect(
        title="Customer.io",
        names="Customer.io has no safe form of size, which Liquid counts.",
        forms=(
            Form(rf"(?!(?:{_LIQUID_WORDS})\Z){_WORD}", "customer.NAME"),
            Form(r"(?!size\Z).+", 'customer["NAME"]'),
        ),
        insertion="{{EXPRESSION}}",
        insertion_with_default='{{EXPRESSION | default: "DEFAULT"}}',
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        also_replaced={DataType.BOOLEAN: "false"},
        listing_is_sample=True,
    ),
    Esp.HUBSPOT: Dialect(
        title="HubSpot",
        names=(
            "A HubSpot property is 1 to 100 lower-case letters, digits and underscores,"
            " a letter first."
        ),
        forms=(Form(r"[a-z][a-z0-9_]{0,99}", "contact.NAME"),),
        insertion="{{ EXPRESSION }}",
        insertion_with_default="{{ personalization_token('EXPRESSION', 'DEFAULT') }}",
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
    ),
    Esp.SENDGRID: Dialect(
        title="SendGrid",
        names=(
            "A SendGrid field is 1 to 100 letters, digits and underscores, and no digit comes"
            " first."
        ),
        forms=(Form(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "NAME"),),
        insertion="{{EXPRESSION}}",
        insertion_with_default='{{insert EXPRESSION "default=DEFAULT"}}',
        delimiters=_BRACES,
        reserved=frozenset(
            f"{_HANDLEBARS} and equals formatDate greaterThan insert length lessThan notEquals"
            " or root".split()
        ),
    ),
    Esp.ITERABLE: Dialect(
        title="Iterable",
        names="Iterable reads periods, square brackets and quotes in such a name as code.",
        forms=(
            Form(rf"{_WORD}(?:\.{_WORD})*", "NAME"),
            Form(r"""[^.\[\]'"]+""", "[NAME]"),
        ),
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
        also_replaced={DataType.NUMBER: "0", DataType.BOOLEAN: "false"},
    ),
    Esp.BREVO: Dialect(
        title="Brevo",
        names="A Brevo attribute is capital letters, digits and underscores, a letter first.",
        forms=(Form(r"[A-Z][A-Z0-9_]*", "contact.NAME"),),
        insertion="{{ EXPRESSION }}",
        insertion_with_default="{{ EXPRESSION|default:'DEFAULT' }}",
        delimiters=_BRACES,
        quoting=Quoting.OTHER,
        also_replaced={DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
    ),
    Esp.ACTIVECAMPAIGN: Dialect(
        title="ActiveCampaign",
        names="An ActiveCampaign tag is capital letters, digits and underscores.",
        forms=(Form(r"[A-Z0-9_]+", "$NAME"),),
        insertion="%NAME%",
        insertion_with_default="%IF EXPRESSION != ''%%NAME%%ELSE%DEFAULT%/IF%",
        delimiters=("%",),
        reserved=frozenset({"ELSE", "ELSEIF", "IF"}),
    ),
}
