"""Customer.io: Liquid with tags and filters of its own."""

from __future__ import annotations

from attrs import evolve

from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.conditions import Caveat, Feature
from ..languages.liquid import read_liquid
from ..languages.paths import write_liquid
from ..names import Esp
from . import liquid, shared
from .profile import (
    WORD,
    Creation,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    Form,
    Insertion,
    MissingValue,
    Names,
    OtherDefault,
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

_LIQUID_WORDS = (
    "and|as|blank|cols|contains|continue|else|empty|false|first|for|if|in|last|limit|nil|not|null"
    "|offset|or|required|reversed|size|true|with"
)
"""Keywords of Liquid after a dot: `customer.first` is the first attribute, not `first`."""

_FILTERS = "https://docs.customer.io/journeys/liquid-tag-list"

_TIMESTAMPS = (
    "{title} reads only Unix timestamps in seconds, from 3 March 1973 on: neither 1970-01-01 nor"
    " the text 2026-11-20."
)

_LEGACY_DEFAULT = (
    "{title}'s legacy Liquid, which accounts from before 28 November 2023 can use, has no filter"
    " `default` with this meaning."
)

_LEGACY_ESCAPE = (
    "Customer.io's legacy Liquid, which accounts from before 28 November 2023 can use, encodes"
    " values for URLs with `escape`. Use the latest Liquid, or export raw values."
)

_TAGS = f"{shared.SKILLS}/customerio-liquid/references/syntax.md"

_WHOLE_LINK = shared.WHOLE_LINK.format("Customer.io")

_IF_SET = '{% if EXPRESSION != nil and EXPRESSION != "" %}'


PROFILE = Profile(
    esp=Esp("customerio"),
    title="Customer.io",
    languages=(read_liquid,),
    engines={
        Engine.RUBY_LIQUID: "Accounts from before 28 November 2023 can use legacy Liquid.",
        Engine.LIQUIDJS: "Other accounts, and messages of Design Studio.",
    },
    names=Names(
        source="docs.customer.io/journeys/people/manage/attributes.md",
        strength=Strength.SECONDARY,
        rule="Customer.io can't insert an attribute called size: Liquid reads it as a count.",
        forms=(
            Form(rf"(?!(?:{_LIQUID_WORDS})\Z){WORD}", "customer.NAME"),
            Form(r"(?!size\Z).+", 'customer["NAME"]'),
        ),
        # Secondary sources establish these names.
        standard_fields={"email": "email", "phone": "phone"},
        lists_fields_in_use_only=True,
        creation=Creation(
            "Set the attribute NAME of a person, which creates it: PUT /api/v1/customers/{id}.",
            Strength.NONE,
        ),
    ),
    insertion=Insertion(
        source="docs.customer.io/journeys/liquid-tag-list",
        code="{{EXPRESSION}}",
        # Legacy Liquid has no filter `default` with this meaning.
        with_default=_IF_SET + "{{EXPRESSION}}{% else %}DEFAULT{% endif %}",
        other_defaults=(
            OtherDefault(
                "{{ EXPRESSION | default: 'DEFAULT' }}", _FILTERS, {DataType.BOOLEAN: "false"}
            ),
        ),
        quoting=Quoting.OTHER,
        shown_forms=liquid.SHOWN_FORMS,
        missing_value=MissingValue(
            r"(?s)\A(?!.*(?:\bdefault\b|\{%)).+",
            "Customer.io does not send the message to people without the attribute. Add a default,"
            " or a condition on the attribute.",
        ),
    ),
    conditions=evolve(
        liquid.CONDITIONS,
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
    filters=FilterLanguage(
        output="{{VALUE}}",
        forms={
            **liquid.filters("Customer.io"),
            FilterName.TITLE: FilterForm(
                code="VALUE | titlecase",
                source=f"{_FILTERS}, restated in {shared.GUIDES}",
                strength=Strength.SECONDARY,
                differences=(shared.UNKNOWN_WORDS,),
            ),
            FilterName.DATE: FilterForm(
                code='VALUE | date: "ARGUMENT"',
                source=f"{_FILTERS}, restated in {shared.GUIDES}",
                strength=Strength.SECONDARY,
                differences=(_TIMESTAMPS,),
            ),
        },
        dates=liquid.DATES,
        shared={
            **liquid.SHARED,
            "date": _TIMESTAMPS,
            "default": _LEGACY_DEFAULT,
            "escape": _LEGACY_ESCAPE,
        },
    ),
    surfaces=SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        subject=Escaping.RAW,
        source=shared.THIRD_PARTY.format("Liquid"),
        forms={
            ValueForm.ESCAPED: Templates(
                "{{EXPRESSION | escape}}",
                _IF_SET + "{{EXPRESSION | escape}}{% else %}DEFAULT{% endif %}",
            ),
        },
        caveats={
            Surface.HTML: _LEGACY_ESCAPE,
        },
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{% unsubscribe_url %}", source=_TAGS, also={"unsubscribe": _WHOLE_LINK}
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{% manage_subscription_preferences_url %}", source=_TAGS
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{% view_in_browser_url %}", source=_TAGS, also={"view_in_browser": _WHOLE_LINK}
        ),
        SystemValue.YEAR: SystemCode(code="{{ 'now' | date: '%Y' }}", source=_TAGS),
    },
    events=EventData(
        ways=tuple(
            EventWay(name=name, sent_by=sent_by, value=name, source=source)
            for name, sent_by, source in (
                ("event", "the event that triggers a campaign", _FILTERS),
                ("trigger", "the request that sends a transactional message", _FILTERS),
            )
        ),
        write_path=write_liquid,
        loop=liquid.LOOP,
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.LIQUID,
        fields=words("customer"),
        events=words("event event_id event_name event_timestamp journey trigger"),
        nested=words("objects"),
        system=words(
            "campaign.* content delivery_id editor layout.* manage_subscription_preferences_url"
            " message.* snippets.* unsubscribe_url view_in_browser_url"
        ),
        inserted=words("content snippets.*"),
        common=words("campaign content editor layout message unsubscribe_url"),
        local=liquid.LOCAL,
        system_tags=words(
            "cio_link cio_link_id manage_subscription_preferences_url subscription_topic_name"
            " tracking_consent_url unsubscribe unsubscribe_url view_in_browser view_in_browser_url"
        ),
        tags=liquid.TAGS | words("countdown generate_uuid random render_liquid"),
        filters=liquid.FILTERS
        | words(
            "add_day add_month add_year array_to_sentence_string base64 cgi_escape contains"
            " currency date_to_long_string date_to_rfc822 date_to_string date_to_xmlschema find_exp"
            " format_number from_json group_by group_by_exp hex_base64 hmac_sha1 hmac_sha256"
            " htmlencode json json_array_uniq limit md5 normalize_whitespace number_of_words"
            " number_with_delimeter pluralize pop push random rounded_currency sha1 sha256 shift"
            " slugify subtract_day subtract_month subtract_year timezone titlecase to_json unshift"
            " uri_escape where_exp where_not xml_escape"
        ),
    ),
    adjacent_text=liquid.ADJACENT_TEXT,
    keeping=shared.keeping("raw"),
)
