"""Iterable: Handlebars, with `[[…]]` for data feeds. Events can have values of any name."""

from __future__ import annotations

from attrs import evolve

from ...conditions import Operator
from ...content import WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.conditions import Atom, Caveat, Feature, Reading
from ..languages.handlebars import read_feeds, read_handlebars
from ..languages.paths import write_handlebars
from ..names import Esp
from . import handlebars, shared
from .profile import (
    Creation,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    Form,
    Insertion,
    LinkRule,
    LoopForm,
    Names,
    Profile,
    Quoting,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Templates,
    ValueForm,
    Vocabulary,
    words,
)

_PART = r"""[^.\[\]'"\s](?:[^.\[\]'"]*[^.\[\]'"\s])?"""
"""A part of a path in Iterable, without white space at the ends."""


def _date(form: str) -> Reading:
    """Return the reading in digits: Iterable orders no dates, but texts of digits."""
    return Reading(f'(dateFormat {{operand}} format="{form}" tz="UTC")', date='"{digits}"')


_DATES = Caveat(
    WarningCode.SECONDARY_SOURCES, "Only secondary sources establish how {title} compares dates."
)

_BOOLEANS = Caveat(
    WarningCode.SECONDARY_SOURCES,
    "Only secondary sources establish how {title} distinguishes false from a missing value.",
)

_HELPERS = f"{shared.GUIDES}; Handlebars.java, StringHelpers"


def _filter(code: str, *differences: str) -> FilterForm:
    return FilterForm(
        code=code, source=_HELPERS, strength=Strength.SECONDARY, differences=differences
    )


_PARAMETERS = "support.iterable.com/hc/en-us/articles/206514205-Universal-Merge-Parameters"

_GUIDE = f"{shared.SKILLS}/iterable-handlebars/references"


_RESERVED = frozenset(
    f"{handlebars.RESERVED} abbreviate and assign base64 block breaklines capitalize"
    " capitalizeFirst catalog center cut dateFormat dateMath defaultIfEmpty embedded eq"
    " groupBy gt gte hexEncode hmacSHA1 hmacSHA256 i18n i18nJs ifContains ifContainsStr"
    " ifEq ifGt ifGte ifLt ifLte ifMatchesRegexStr ifModEq join ljust lower lt lte math"
    " maxInList md5 minInList neq not now numberFormat or partial precompile profile"
    " replace rjust sendSkip sha1 sha256 size slugify snippet sortBy stringFormat"
    " stripTags substring timestamp toJson toUrlEncodedJson upper urlEncode wordWrap"
    " yesno".split()
)

_BLANK_AS_PLUS = (
    "{title} writes a blank as +, which is a blank in the query of a link only, encodes ~, and does"
    " not encode *, as in a *~."
)

PROFILE = Profile(
    esp=Esp("iterable"),
    title="Iterable",
    languages=(read_handlebars, read_feeds),
    engines={Engine.HANDLEBARS: "Iterable documents Handlebars.java, which has the same language."},
    names=Names(
        source=f"{shared.SKILLS}/iterable-handlebars/references/helpers.md",
        strength=Strength.SECONDARY,
        rule="Iterable reads periods, square brackets and quotes in such a name as code.",
        forms=(Form(rf"{_PART}(?:\.{_PART})*", "PATH"),),
        reserved=_RESERVED,
        # `email` is the vendor's. Public templates and guides have the other names.
        standard_fields={
            "first_name": "firstName",
            "last_name": "lastName",
            "email": "email",
            "phone": "phoneNumber",
            "user_id": "userId",
        },
        conventional=frozenset({"firstName", "lastName", "phoneNumber", "userId"}),
        creation=Creation(
            "Set the field NAME of a user, which creates it: POST /api/users/update.",
            Strength.NONE,
        ),
    ),
    insertion=Insertion(
        source="support.iterable.com/hc/articles/115003884806",
        code="{{EXPRESSION}}",
        with_default='{{defaultIfEmpty EXPRESSION "DEFAULT"}}',
        quoting=Quoting.OTHER,
        default_also_replaces={DataType.NUMBER: "0", DataType.BOOLEAN: "false"},
    ),
    conditions=evolve(
        handlebars.CONDITIONS,
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
            DataType.DATE: _date("yyyyMMdd"),
            DataType.DATETIME: _date("yyyyMMddHHmmss"),
        },
        refused={},
        caveats={
            Feature.TRUE: (handlebars.BOOLEANS,),
            Feature.FALSE: (_BOOLEANS,),
            Feature.BOOLEAN_SET: (_BOOLEANS,),
            Feature.DATE_COMPARISON: (_DATES,),
            Feature.INSTANT_COMPARISON: (_DATES, handlebars.WHOLE_SECONDS),
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
    filters=FilterLanguage(
        output="{{VALUE}}",
        forms={
            FilterName.UPPER: _filter("(upper VALUE)"),
            FilterName.LOWER: _filter("(lower VALUE)"),
            FilterName.TITLE: _filter("(capitalize (lower VALUE))", shared.AFTER_WHITE_SPACE),
            FilterName.TRUNCATE: evolve(
                _filter(
                    "(abbreviate VALUE ARGUMENT)",
                    "{title} ends a text that it cuts with three periods instead of …: Züric…"
                    " becomes Zür..., and it counts characters such as 🚀 as two.",
                ),
                least=4,
            ),
            FilterName.URL: evolve(
                _filter("{{#urlEncode}}{{{VALUE}}}{{/urlEncode}}", _BLANK_AS_PLUS),
                is_output=True,
                others={
                    "{{#urlEncode}}{{{VALUE}}}{{/urlEncode}}": _BLANK_AS_PLUS,
                    "{{#urlEncode}}{{VALUE}}{{/urlEncode}}": (
                        "{title} escapes HTML before it encodes the value here: & becomes"
                        " %26amp%3B."
                    ),
                },
            ),
            FilterName.NUMBER: _filter(
                "(numberFormat VALUE minimumFractionDigits=ARGUMENT maximumFractionDigits=ARGUMENT"
                ' groupingUsed=false roundingMode="half_up")',
                "{title} shows nothing for a number that is stored as text, rounds some halves"
                " down, as in 1.005, and can show a negative zero: -0.00.",
            ),
            FilterName.DATE: _filter('(dateFormat VALUE format="ARGUMENT" tz="UTC")'),
        },
        dates=shared.JAVA_DATES,
    ),
    surfaces=SurfaceRules(
        html=Escaping.ESCAPED,
        text=Escaping.ESCAPED,
        subject=Escaping.ESCAPED,
        source=shared.THIRD_PARTY.format("Handlebars"),
        forms={
            ValueForm.RAW: Templates(
                "{{{EXPRESSION}}}", '{{{defaultIfEmpty EXPRESSION "DEFAULT"}}}'
            ),
        },
        unescaped_default=handlebars.BLOCK_WITH_DEFAULT,
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{unsubscribeUrl}}",
            source=_PARAMETERS,
            strength=Strength.VENDOR,
            also={"unsubscribeMessageTypeUrl": None},
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{hostedUnsubscribeUrl}}", source=_PARAMETERS, strength=Strength.VENDOR
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{{viewInBrowserUrl}}", source=f"{_GUIDE}/data-sources.md"
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{companyName}}",
            source="support.iterable.com/hc/en-us/articles/206382645-Project-Settings",
            strength=Strength.VENDOR,
            also={"brandName": None},
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{physicalAddress}}", source=f"{_GUIDE}/data-sources.md"
        ),
        SystemValue.YEAR: SystemCode(code='{{now format="yyyy"}}', source=f"{_GUIDE}/helpers.md"),
    },
    events=EventData(
        ways=(
            EventWay(
                name="dataFields",
                sent_by="the `dataFields` of the event or request, with bare names",
                value="",
                source=f"{_GUIDE}/data-sources.md",
                strength=Strength.SECONDARY,
            ),
        ),
        write_path=write_handlebars,
        loop=LoopForm(
            opening="{{#each ITEMS as |VARIABLE|}}",
            otherwise="{{else}}",
            closing="{{/each}}",
            root="@root",
            members={"first": "@first", "last": "@last"},
            source=f"{_GUIDE}/helpers.md",
            strength=Strength.SECONDARY,
        ),
        reserved=_RESERVED,
        caveat="A field of the profile with the same name has the same code.",
    ),
    link_rule=LinkRule(
        "Iterable requires a link to unsubscribe in a marketing email, unless the project adds it.",
        _PARAMETERS,
        Strength.VENDOR,
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.HANDLEBARS,
        any_name=True,
        has_field_paths=True,
        fields=words("profile"),
        events=words("dataFields shoppingCartItems updatedShoppingCartItems"),
        nested=words("liveData rssFeed [[]]"),
        system=words(
            "brandName campaignId campaignName campaignSeason channelId clientTemplateId"
            " companyName hostedUnsubscribeUrl messageTypeId messagingInitiative physicalAddress"
            " recurringCampaignId sendListIds sentAt smsDisclaimerLink templateId templateName"
            " unsubscribeByPhoneUrl unsubscribeMessageTypeUrl unsubscribeUrl viewInBrowserUrl"
            " workflowId"
        ),
        common=words(
            "brandName campaignId campaignName campaignSeason channelId companyName messageTypeId"
            " messagingInitiative now physicalAddress profile recurringCampaignId sendListIds"
            " sentAt shoppingCartItems templateId templateName timestamp workflowId"
        ),
        local=handlebars.LOCAL | words("now timestamp"),
        tags=handlebars.HELPERS
        | words(
            "abbreviate assign base64 breaklines capitalize capitalizeFirst catalog"
            " catalogCollection catalogKeys center cut dateFormat dateMath defaultIfEmpty eq gt gte"
            " hexEncode hmacSHA1 hmacSHA256 ifContains ifContainsStr ifEq ifGt ifGte ifLt ifLte"
            " ifMatchesRegexStr ifModEq join ljust lookup lower lt lte math maxInList md5 metadata"
            " minInList neq not now numberFormat replace rjust sendSkip sha1 sha256 slugify snippet"
            " sortBy groupBy stringFormat stripTags substring timestamp toJson toUrlEncodedJson"
            " upper urlEncode wordWrap yesno"
        ),
    ),
    adjacent_text=handlebars.ADJACENT_TEXT,
    keeping=handlebars.KEEPING,
    api_hosts=r"api(?:\.eu)?\.iterable\.com",
)
