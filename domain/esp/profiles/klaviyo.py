"""Klaviyo: Django's language with tags and filters of its own."""

from __future__ import annotations

from functools import partial

from attrs import evolve

from ...content import WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.conditions import Caveat, Feature, Reading
from ..languages.django import BLANK_AFTER_COLON, read_django
from ..languages.paths import write_with_lookup
from ..names import Esp
from . import django, shared
from .profile import (
    Creation,
    Dropped,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    Form,
    Insertion,
    LinkRule,
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

_FILTERS = "https://developers.klaviyo.com/en/docs/glossary_of_variable_filters"

_TAGS = f"{shared.SKILLS}/klaviyo-django/references/syntax.md"

_DATA = f"{shared.SKILLS}/klaviyo-django/references/data-sources.md"


# https://help.klaviyo.com/hc/en-us/articles/360004785571 for `catalog`
_BLOCKS = words("catalog customobject customobjects")


PROFILE = Profile(
    esp=Esp("klaviyo"),
    title="Klaviyo",
    languages=(partial(read_django, blocks=_BLOCKS),),
    unestablished=frozenset({BLANK_AFTER_COLON}),
    engines={Engine.DJANGO: "Klaviyo documents the template language of Django."},
    names=Names(
        rule="A Klaviyo property is one line of text.",
        forms=(Form(r".+", "person|lookup:'NAME'"),),
        standard_rule=(
            "Klaviyo's standard fields are first_name, last_name, full_name, email, phone_number,"
            " organization, City and Country."
        ),
        standard_forms=(
            Form(r"first_name|last_name|full_name|email", "NAME"),
            Form(r"phone_number|organization|City|Country", "person.NAME"),
        ),
        # Secondary sources establish these names.
        standard_fields={
            "first_name": "first_name",
            "last_name": "last_name",
            "email": "email",
            "phone": "phone_number",
            "city": "City",
            "country": "Country",
            "company": "organization",
        },
        lists_fields_in_use_only=True,
        creation=Creation(
            "Set the property NAME of a profile, which creates it: POST /api/profile-import.",
            Strength.NONE,
        ),
    ),
    insertion=Insertion(
        source="developers.klaviyo.com/en/docs/use-conditionals-in-messages",
        code="{{ EXPRESSION }}",
        guarded="{{ EXPRESSION|default_if_none:'' }}",
        with_default="{{ EXPRESSION|default:'DEFAULT' }}",
        quoting=Quoting.OTHER,
        shown_forms=django.SHOWN_FORMS,
        default_also_replaces={DataType.NUMBER: "0", DataType.BOOLEAN: "False"},
    ),
    conditions=evolve(
        django.CONDITIONS,
        readings={
            **django.LOWER_CASE,
            DataType.DATE: Reading("{operand}|format_date_string|date:'Ymd'", date='"{digits}"'),
        },
        refused={Feature.INSTANT_COMPARISON: shared.NO_INSTANTS},
        caveats={
            **django.CONDITIONS.caveats,
            Feature.DATE_COMPARISON: (
                Caveat(
                    WarningCode.SECONDARY_SOURCES,
                    "Only secondary sources establish how {title} reads dates, and none the time"
                    " zone: midnight in UTC can be the day before.",
                ),
            ),
        },
    ),
    filters=FilterLanguage(
        value="VALUE|default_if_none:''",
        forms={
            FilterName.UPPER: FilterForm(code="VALUE|upper", source=_FILTERS),
            FilterName.LOWER: FilterForm(code="VALUE|lower", source=_FILTERS),
            FilterName.TITLE: FilterForm(
                code="VALUE|title", source=_FILTERS, strength=Strength.VENDOR
            ),
            FilterName.TRUNCATE: FilterForm(
                code="VALUE|truncatechars:ARGUMENT",
                source=_FILTERS,
                differences=(django.ACCENTS,),
            ),
            FilterName.URL: FilterForm(
                code="VALUE|urlencode:''",
                others={"VALUE|urlencode": "{title} does not encode the character / here."},
                source=_FILTERS,
            ),
            FilterName.NUMBER: FilterForm(code="VALUE|floatformat:ARGUMENT", source=_FILTERS),
            FilterName.FIRST: FilterForm(code="VALUE|first", source=_FILTERS),
            FilterName.JOIN: FilterForm(
                code="VALUE|join:'ARGUMENT'",
                source=_FILTERS,
                differences=("In text, {title} can show & in an item as &amp;.",),
            ),
            FilterName.DATE: FilterForm(
                code="VALUE|format_date_string|date:'ARGUMENT'",
                needs_value=True,
                source=(
                    "https://help.klaviyo.com/hc/en-us/articles/115005257788, restated in"
                    f" {shared.GUIDES}"
                ),
                strength=Strength.SECONDARY,
                others={"VALUE|date:'ARGUMENT'": "{title} shows no date here that is a text."},
                difference_of_instants=shared.INSTANTS,
            ),
        },
        dates=django.DATES,
    ),
    surfaces=SurfaceRules(
        html=Escaping.ESCAPED,
        source=shared.THIRD_PARTY.format("Klaviyo"),
        # `safe` is right whether or not the surface escapes.
        forms={
            ValueForm.RAW: Templates(
                "{{ EXPRESSION|default_if_none:''|safe }}",
                "{{ EXPRESSION|default:'DEFAULT'|safe }}",
            ),
        },
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{% unsubscribe_link %}",
            source="help.klaviyo.com/hc/en-us/articles/115005078267",
            strength=Strength.VENDOR,
            also={"unsubscribe": None},
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{% manage_preferences_link %}", source=_TAGS, also={"manage_preferences": None}
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{% web_view_link %}", source=_TAGS, also={"web_view": None}
        ),
        SystemValue.SENDER_NAME: SystemCode(code="{{ organization.name }}", source=_DATA),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{ organization.full_address }}", source=_DATA
        ),
        SystemValue.YEAR: SystemCode(
            code="{% current_year %}", source=_TAGS, also={"today '%Y'": None}
        ),
    },
    events=EventData(
        ways=(
            EventWay(
                name="event",
                sent_by="the event that triggers a flow",
                value="event",
                source=_DATA,
                strength=Strength.SECONDARY,
            ),
        ),
        write_path=write_with_lookup,
        loop=django.LOOP,
    ),
    link_rule=LinkRule(
        "Klaviyo adds a link to unsubscribe to an email without one.",
        "help.klaviyo.com/hc/en-us/articles/115006054267",
        Strength.VENDOR,
    ),
    dropped=Dropped(
        tags={"{% render_variable preview_text %}": shared.GUIDES},
        attributes={"data-klaviyo-region": _DATA},
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.DJANGO,
        fields=words("person"),
        member_filters=words("lookup"),
        bare_fields=words("email first_name full_name last_name phone_number"),
        events=words("event"),
        nested=words("catalog_id catalog_item feeds object object_filter"),
        system=words("organization.*"),
        common=words("email first_name full_name last_name object phone_number"),
        local=django.LOCAL,
        tags_with_text=words("manage_preferences unsubscribe web_view"),
        system_tags=words(
            "current_day current_month current_month_name current_weekday current_year"
            " manage_preferences manage_preferences_link render_variable today unsubscribe"
            " unsubscribe_link update_property_link web_view web_view_link"
        ),
        tags=django.TAGS
        | words("barcode coupon_code currency_format has_category media object object_filter")
        | _BLOCKS
        | {f"end{each}" for each in _BLOCKS},
        filters=django.FILTERS
        | words(
            "abs append at_least at_most base64_decode base64_encode base64_url_safe_decode"
            " base64_url_safe_encode capitalize ceil compact concat count datetime_from_string"
            " days_later dictfilter divide divided_by downcase escape_once find_replace floatadd"
            " floatsub floor format_date_string gt gte httpize httpsize list_to_string list_where"
            " lookup lstrip lt lte map md5_hash minus missing_image missing_product_image modulo"
            " multiply newline_to_br percentize plus prepend remainder remove remove_first"
            " remove_last replace replace_first replace_last resplit reverse round round_down"
            " round_up rstrip sha_1 sha_256 size sort sort_natural split strip strip_html"
            " strip_newlines sum_list times trim_slash truncate uniq upcase urldecode urldecodeplus"
            " urlencodeplus weeks_since"
        ),
    ),
    adjacent_text=django.ADJACENT_TEXT,
    keeping=shared.keeping("verbatim"),
    api_hosts=r"a\.klaviyo\.com",
)
