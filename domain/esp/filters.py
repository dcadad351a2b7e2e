"""How each ESP writes the filters of content. A person who adds a filter writes it here.

A template contains slots: VALUE is the expression of the value, ARGUMENT the argument of the
filter, LESS the number before it, and ZEROS as many zeros.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, frozen

from ..content import DateStyle, FilterName
from .dialects import Esp
from .sources import Strength


@frozen(kw_only=True)
class FilterForm:
    """The code of one filter.

    `code` is an expression, or, if `is_output` is true, complete code that no filter can follow.
    `code_for_zero` replaces it if the argument is 0. The argument is at least `least`. If
    `needs_value` is true, the code must not read a missing value. `differences` are the values for
    which the ESP can show something else than the preview, each with an example.
    `difference_of_instants` applies to datetime fields only.
    """

    code: str
    code_for_zero: str | None = None
    is_output: bool = False
    least: int = 0
    needs_value: bool = False
    differences: tuple[str, ...] = ()
    difference_of_instants: str | None = None
    source: str
    strength: Strength = Strength.ENGINE


@frozen
class FilterRefusal:
    """Why an ESP has no code for a filter, and the source of that."""

    reason: str
    source: str = ""
    strength: Strength = Strength.NONE


@frozen(kw_only=True)
class FilterLanguage:
    """The filters of one ESP.

    `value` is how filters read the value expression, and `output` shows the result. `dates` has the
    format of each style of dates; `missing_style` is why a style has none. If `joins` is false, a
    reference can have one filter only.
    """

    value: str = "VALUE"
    output: str = "{{ VALUE }}"
    forms: Mapping[FilterName, FilterForm | FilterRefusal]
    dates: Mapping[DateStyle, str] = {}
    missing_style: str = ""
    joins: bool = True


def _formats(*formats: str) -> Mapping[DateStyle, str]:
    return dict(zip(DateStyle, formats, strict=True))


def _refused(
    names: Iterable[FilterName], refusal: FilterRefusal
) -> dict[FilterName, FilterRefusal]:
    return dict.fromkeys(names, refusal)


_STRFTIME = _formats(
    *("%-d %B %Y", "%-d %b %Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%Y", "%B", "%A")
)
_DJANGO_DATES = _formats("j F Y", "j M Y", "d/m/Y", "m/d/Y", "Y-m-d", "Y", "F", "l")
_JAVA_DATES = _formats(
    *("d MMMM yyyy", "d MMM yyyy", "dd/MM/yyyy", "MM/dd/yyyy", "yyyy-MM-dd", "yyyy", "MMMM", "EEEE")
)
_MOMENT_DATES = _formats(
    *("D MMMM YYYY", "D MMM YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "YYYY-MM-DD", "YYYY", "MMMM", "dddd")
)

_PUBLIC_GUIDE = "the guides of email-love/esp-skills, which restate the vendor's pages"

_INSTANTS = (
    "No source establishes the time zone in which {title} shows an instant that is stored with"
    " another one than UTC, such as 2026-11-20T00:30:00+02:00."
)
_UNKNOWN_LETTERS = (
    "No source establishes what {title} shows for other letters than A to Z, such as é or ß."
)
_AFTER_WHITE_SPACE = (
    "{title} writes a capital only after white space: jean-luc becomes Jean-luc. It does not"
    " change ß."
)
_UNKNOWN_WORDS = (
    "No source establishes what {title} shows in words with other characters than A to Z, such as"
    " jean-luc, o'neil or élan."
)

# Liquid

_LIQUID = "Shopify's Liquid, which {} documents"


def _liquid(vendor: str) -> dict[FilterName, FilterForm | FilterRefusal]:
    source = _LIQUID.format(vendor)
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
            code='VALUE | date: "ARGUMENT"', source=source, difference_of_instants=_INSTANTS
        ),
    }


_BRAZE_PAGE = (
    "https://www.braze.com/docs/user_guide/personalization_and_dynamic_content/liquid/filters"
)
_BRAZE = FilterLanguage(
    output="{{VALUE}}",
    forms={
        **_liquid("Braze"),
        FilterName.UPPER: FilterForm(
            code="VALUE | upcase", source=_BRAZE_PAGE, strength=Strength.VENDOR
        ),
        FilterName.TITLE: FilterRefusal(
            "{title} lists no filter that writes each word with a capital.",
            _BRAZE_PAGE,
            Strength.VENDOR,
        ),
    },
    dates=_STRFTIME,
)

_CUSTOMER_IO_PAGE = "https://docs.customer.io/journeys/liquid-tag-list"
_TIMESTAMPS = (
    "{title} reads only Unix timestamps in seconds, from 3 March 1973 on: neither 1970-01-01 nor"
    " the text 2026-11-20."
)
_CUSTOMER_IO = FilterLanguage(
    output="{{VALUE}}",
    forms={
        **_liquid("Customer.io"),
        FilterName.TITLE: FilterForm(
            code="VALUE | titlecase",
            source=f"{_CUSTOMER_IO_PAGE}, restated in {_PUBLIC_GUIDE}",
            strength=Strength.SECONDARY,
            differences=(_UNKNOWN_WORDS,),
        ),
        FilterName.DATE: FilterForm(
            code='VALUE | date: "ARGUMENT"',
            source=f"{_CUSTOMER_IO_PAGE}, restated in {_PUBLIC_GUIDE}",
            strength=Strength.SECONDARY,
            differences=(_TIMESTAMPS,),
        ),
    },
    dates=_STRFTIME,
)

# Django

_ACCENTS = (
    "Django does not count accents that are separate characters, and joins them to their letters,"
    " as in cafe\u0301."
)
_KLAVIYO_PAGE = "https://developers.klaviyo.com/en/docs/glossary_of_variable_filters"
_KLAVIYO = FilterLanguage(
    value="VALUE|default_if_none:''",
    forms={
        FilterName.UPPER: FilterForm(code="VALUE|upper", source=_KLAVIYO_PAGE),
        FilterName.LOWER: FilterForm(code="VALUE|lower", source=_KLAVIYO_PAGE),
        FilterName.TITLE: FilterForm(
            code="VALUE|title", source=_KLAVIYO_PAGE, strength=Strength.VENDOR
        ),
        FilterName.TRUNCATE: FilterForm(
            code="VALUE|truncatechars:ARGUMENT",
            source=_KLAVIYO_PAGE,
            differences=(_ACCENTS,),
        ),
        FilterName.URL: FilterForm(code="VALUE|urlencode:''", source=_KLAVIYO_PAGE),
        FilterName.NUMBER: FilterForm(code="VALUE|floatformat:ARGUMENT", source=_KLAVIYO_PAGE),
        FilterName.DATE: FilterForm(
            code="VALUE|format_date_string|date:'ARGUMENT'",
            needs_value=True,
            source=(
                "https://help.klaviyo.com/hc/en-us/articles/115005257788, restated in"
                f" {_PUBLIC_GUIDE}"
            ),
            strength=Strength.SECONDARY,
            difference_of_instants=_INSTANTS,
        ),
    },
    dates=_DJANGO_DATES,
)

_BREVO_PAGE = "https://help.brevo.com/hc/fr/articles/4405381108626"


def _brevo(code: str, *differences: str) -> FilterForm:
    return FilterForm(
        code=code, source=_BREVO_PAGE, strength=Strength.VENDOR, differences=differences
    )


_BREVO = FilterLanguage(
    value="VALUE|default_if_none:''",
    forms={
        FilterName.UPPER: _brevo("VALUE|upper", "pongo2 does not write ß as SS, as in Straße."),
        FilterName.LOWER: _brevo(
            "VALUE|lower",
            "pongo2 writes Σ at the end of a word as in its middle, as in ΟΔΟΣ, and İ as i.",
        ),
        FilterName.TITLE: _brevo(
            "VALUE|title",
            "Django and pongo2 write different capitals in words with other characters than A to"
            " Z, such as it's, a_b or ßa.",
        ),
        FilterName.TRUNCATE: evolve(
            _brevo(
                "VALUE|truncatechars:ARGUMENT",
                "pongo2 ends a text that it cuts with three periods instead of …: Züric… becomes"
                " Zür....",
                _ACCENTS,
            ),
            least=4,
        ),
        FilterName.NUMBER: evolve(
            _brevo(
                "VALUE|floatformat:ARGUMENT",
                "pongo2 rounds some halves down, as in 1.005, and shows a negative zero: -0.00.",
            ),
            needs_value=True,
        ),
        FilterName.URL: FilterRefusal("No source establishes how {title} encodes a value in URLs."),
        FilterName.DATE: FilterRefusal(
            "No source establishes which format of dates {title} reads: Django and pongo2 have"
            " different ones."
        ),
    },
)

# Handlebars

_SENDGRID_PAGE = (
    "https://www.twilio.com/docs/sendgrid/for-developers/sending-email/using-handlebars"
)
_SENDGRID = FilterLanguage(
    output="{{VALUE}}",
    forms={
        **_refused(
            FilterName,
            FilterRefusal(
                "{title} has no helper for this. Send a value in this form.",
                _SENDGRID_PAGE,
                Strength.VENDOR,
            ),
        ),
        FilterName.DATE: FilterForm(
            code='formatDate VALUE "ARGUMENT"',
            needs_value=True,
            source=_SENDGRID_PAGE,
            strength=Strength.VENDOR,
            difference_of_instants=_INSTANTS,
        ),
    },
    dates=_MOMENT_DATES,
    joins=False,
)

_ITERABLE_SOURCE = f"{_PUBLIC_GUIDE}; Handlebars.java, StringHelpers"


def _iterable(code: str, *differences: str) -> FilterForm:
    return FilterForm(
        code=code, source=_ITERABLE_SOURCE, strength=Strength.SECONDARY, differences=differences
    )


_ITERABLE = FilterLanguage(
    output="{{VALUE}}",
    forms={
        FilterName.UPPER: _iterable("(upper VALUE)"),
        FilterName.LOWER: _iterable("(lower VALUE)"),
        FilterName.TITLE: _iterable("(capitalize (lower VALUE))", _AFTER_WHITE_SPACE),
        FilterName.TRUNCATE: evolve(
            _iterable(
                "(abbreviate VALUE ARGUMENT)",
                "{title} ends a text that it cuts with three periods instead of …: Züric… becomes"
                " Zür..., and it counts characters such as 🚀 as two.",
            ),
            least=4,
        ),
        FilterName.URL: evolve(
            _iterable(
                "{{#urlEncode}}{{{VALUE}}}{{/urlEncode}}",
                "{title} writes a blank as +, which is a blank in the query of a link only, encodes"
                " ~, and does not encode *, as in a *~.",
            ),
            is_output=True,
        ),
        FilterName.NUMBER: _iterable(
            "(numberFormat VALUE minimumFractionDigits=ARGUMENT maximumFractionDigits=ARGUMENT"
            ' groupingUsed=false roundingMode="half_up")',
            "{title} shows nothing for a number that is stored as text, rounds some halves down, as"
            " in 1.005, and can show a negative zero: -0.00.",
        ),
        FilterName.DATE: _iterable('(dateFormat VALUE format="ARGUMENT" tz="UTC")'),
    },
    dates=_JAVA_DATES,
)

# Others

_SALESFORCE_PAGES = "https://developer.salesforce.com/docs/marketing/marketing-cloud-ampscript"
_SALESFORCE_ENGINE = "https://github.com/SalesforceLabs/ampscript-core"


def _ampscript(code: str, *differences: str) -> FilterForm:
    return FilterForm(
        code=code,
        needs_value=True,
        source=_SALESFORCE_PAGES,
        strength=Strength.VENDOR,
        differences=differences,
    )


_SALESFORCE = FilterLanguage(
    output="%%=VALUE=%%",
    forms={
        FilterName.UPPER: _ampscript("Uppercase(VALUE)", _UNKNOWN_LETTERS),
        FilterName.LOWER: _ampscript("Lowercase(VALUE)", _UNKNOWN_LETTERS),
        FilterName.TITLE: evolve(
            _ampscript("ProperCase(VALUE)", _AFTER_WHITE_SPACE), source=_SALESFORCE_ENGINE
        ),
        FilterName.TRUNCATE: evolve(
            _ampscript(
                "%%[ IF Length(VALUE) > ARGUMENT THEN ]%%"
                '%%=Concat(Substring(VALUE, 1, LESS), "…")=%%'
                '%%[ ELSE ]%%%%=Concat(VALUE, "")=%%%%[ ENDIF ]%%',
                "{title} counts characters such as 🚀 as two.",
            ),
            source=_SALESFORCE_ENGINE,
            is_output=True,
            least=2,
        ),
        FilterName.URL: evolve(
            _ampscript(
                'Replace(URLEncode(VALUE, 1, 1), "+", "%20")',
                "{title} runs AMPscript in the value, writes codes in small letters, such as %c3%a9"
                " for é, encodes ~, and encodes neither !*() nor a value of blanks only.",
            ),
            source=_SALESFORCE_ENGINE,
        ),
        FilterName.NUMBER: evolve(
            _ampscript(
                'FormatNumber(VALUE, "FARGUMENT", "en-US")',
                "{title} rounds some halves down, as in 1.005, and can show a negative zero:"
                " -0.00.",
            ),
            source=_SALESFORCE_ENGINE,
        ),
        FilterName.DATE: evolve(
            _ampscript('Format(VALUE, "ARGUMENT", "Date", "en-US")'),
            source="https://developer.salesforce.com/docs/marketing/marketing-cloud/guide/dateTimeFormatting.html",
            difference_of_instants=(
                "No source establishes the time zone in which {title} shows an instant, such as"
                " 2026-11-20T00:30:00.000Z."
            ),
        ),
    },
    dates={style: format_ for style, format_ in _JAVA_DATES.items() if style != DateStyle.WEEKDAY},
    missing_style="Two pages of {title} contradict each other about the format of weekdays.",
)

_MAILCHIMP_SOURCE = "public templates and guides that use Mailchimp's merge tags"


def _mailchimp(prefix: str, difference: str = _UNKNOWN_LETTERS) -> FilterForm:
    return FilterForm(
        code=f"{prefix}:VALUE",
        source=_MAILCHIMP_SOURCE,
        strength=Strength.SECONDARY,
        differences=(difference,),
    )


_MAILCHIMP = FilterLanguage(
    output="*|VALUE|*",
    forms={
        FilterName.UPPER: _mailchimp("UPPER"),
        FilterName.LOWER: _mailchimp("LOWER"),
        FilterName.TITLE: _mailchimp(
            "TITLE",
            _UNKNOWN_WORDS,
        ),
        FilterName.URL: _mailchimp(
            "URL",
            "No source establishes how {title} encodes other characters than A to Z and digits,"
            " such as a blank or é.",
        ),
        **_refused(
            (FilterName.TRUNCATE, FilterName.NUMBER),
            FilterRefusal("No source establishes a merge tag of {title} for this."),
        ),
        FilterName.DATE: FilterRefusal(
            "{title} shows a date in the format of its audience field. Choose the format there."
        ),
    },
    joins=False,
)

_HUBSPOT = FilterLanguage(
    forms=_refused(
        FilterName,
        FilterRefusal(
            "{title} applies no filters to the personalization tokens of contacts in emails.",
            "https://developers.hubspot.com/docs/cms/reference/hubl/filters",
            Strength.VENDOR,
        ),
    )
)
_ACTIVECAMPAIGN = FilterLanguage(
    forms=_refused(FilterName, FilterRefusal("No source establishes filters of {title}."))
)

FILTERS: Mapping[Esp, FilterLanguage] = {
    Esp.SALESFORCE: _SALESFORCE,
    Esp.MAILCHIMP: _MAILCHIMP,
    Esp.KLAVIYO: _KLAVIYO,
    Esp.BRAZE: _BRAZE,
    Esp.CUSTOMER_IO: _CUSTOMER_IO,
    Esp.HUBSPOT: _HUBSPOT,
    Esp.SENDGRID: _SENDGRID,
    Esp.ITERABLE: _ITERABLE,
    Esp.BREVO: _BREVO,
    Esp.ACTIVECAMPAIGN: _ACTIVECAMPAIGN,
}
