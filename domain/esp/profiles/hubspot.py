"""HubSpot: HubL, which follows Jinja."""

from __future__ import annotations

from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.condition_writers import write_inline
from ..languages.conditions import (
    FALSY_IN_PYTHON,
    Atom,
    Caveat,
    ConditionLanguage,
    Falsy,
    Feature,
    Missing,
    Presence,
)
from ..languages.hubl import read_hubl
from ..languages.paths import write_hubl
from ..names import Esp
from . import django, shared
from .profile import (
    Creation,
    Engine,
    EventData,
    EventWay,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    LinkRule,
    LoopForm,
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

_VARIABLES = "developers.hubspot.com/docs/cms/reference/hubl/variables"

_SNIPPETS = "github.com/HubSpot/hubspot-cms-vscode/blob/master/snippets/man_gen"

_LINKS = (
    "knowledge.hubspot.com/articles/kcs_article/email/what-is-the-difference-between"
    "-the-two-unsubscribe-links-at-the-bottom-of-an-email"
)

_PREFERENCES = "HubSpot opens the page of preferences, on which recipients can unsubscribe."

_DATA = f"{shared.SKILLS}/hubspot-hubl/references/data-sources.md"

_JINJAVA = "github.com/HubSpot/jinjava, DefaultFilter.java, OrOperator.java, ObjectTruthValue.java"
"""Sources of Jinjava, which HubSpot publishes."""

_NOT_NULL = Atom("{operand} is not none", "{operand} is none")
_NOT_EMPTY_TEXT = Atom('{operand} != ""', '{operand} == ""')

PROFILE = Profile(
    esp=Esp("hubspot"),
    title="HubSpot",
    languages=(read_hubl,),
    engines={
        Engine.JINJAVA: "HubSpot publishes it. It runs on Java, so the tests have a stand-in."
    },
    names=Names(
        rule=(
            "A HubSpot property is 1 to 100 lower-case letters, digits and underscores, and begins"
            " with a letter."
        ),
        forms=(Form(r"[a-z][a-z0-9_]{0,99}", "contact.NAME"),),
        # github.com/HubSpot/hubspot-api-nodejs and developers.hubspot.com/docs/api/crm/contacts
        standard_fields={"first_name": "firstname", "last_name": "lastname", "email": "email"},
        creation=Creation(
            "Create the contact property NAME: POST /crm/v3/properties/contacts.", Strength.VENDOR
        ),
    ),
    insertion=Insertion(
        source="developers.hubspot.com/docs/cms/guides/email/hubdb-crm-objects",
        code="{{ EXPRESSION }}",
        with_default="{{ personalization_token('EXPRESSION', 'DEFAULT') }}",
        other_defaults=(
            *(
                OtherDefault(code, _JINJAVA, {DataType.NUMBER: "0", DataType.BOOLEAN: "false"})
                for code in (
                    "{{ EXPRESSION|default('DEFAULT', true) }}",
                    "{{ EXPRESSION or 'DEFAULT' }}",
                )
            ),
            OtherDefault(
                "{{ EXPRESSION|default('DEFAULT') }}",
                _JINJAVA,
                caveat="{title} does not show the default instead of an empty text.",
            ),
        ),
        quoting=Quoting.OTHER,
        shown_forms={
            DataType.NUMBER: (
                "Jinjava shows a number that is stored as a decimal with its zero, 3.0, and from"
                " 10,000,000 on with an exponent: 1.0E7."
            ),
        },
    ),
    conditions=ConditionLanguage(
        write=write_inline,
        is_set=(_NOT_NULL, _NOT_EMPTY_TEXT),
        presences=(
            Presence((Atom("{operand}"),), FALSY_IN_PYTHON | {Falsy.FALSE_TEXT}),
            Presence((_NOT_NULL,), frozenset({Falsy.MISSING})),
            Presence((_NOT_EMPTY_TEXT,), frozenset({Falsy.FALSE, Falsy.ZERO, Falsy.EMPTY_TEXT})),
        ),
        # 0 and false equal an empty text, but their texts don't.
        number_is_set=(Atom('{operand} ~ "" != ""', '{operand} ~ "" == ""'),),
        decimal_literals=True,  # beside an integer, a number that is stored as "0.5" is an error
        missing_number=Missing.IS_ZERO,
        guards_false=True,
        true=Atom("{operand} == true", "{operand} != true"),
        state=shared.IS_TRUE,
        contains=Atom("{operand} is string_containing {value}"),
        refused=shared.without_dates("the form in which an email reads a date is not established."),
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
    filters=FilterLanguage(
        forms=shared.refused(
            FilterName,
            FilterRefusal(
                "{title} applies no filters to the personalization tokens of contacts in emails,"
                " and content has none for its other values.",
                "https://developers.hubspot.com/docs/cms/reference/hubl/filters",
                Strength.VENDOR,
            ),
        )
    ),
    surfaces=SurfaceRules(
        caveats=dict.fromkeys(Surface, shared.NOT_ESTABLISHED.format("HubSpot")),
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{ unsubscribe_link }}",
            source=f"{_SNIPPETS}/hubl_required_email_template_variables.json",
            strength=Strength.VENDOR,
            caveat=_PREFERENCES,
            caveat_of_reading=_PREFERENCES,
            also={"unsubscribe_link_single": None},
        ),
        SystemValue.UNSUBSCRIBE_ALL: SystemCode(
            code="{{ unsubscribe_link_all }}", source=_LINKS, strength=Strength.VENDOR
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{ unsubscribe_link }}", source=_LINKS, strength=Strength.VENDOR
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="{{ view_as_page_url }}", source=_DATA),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{ site_settings.company_name }}", source=_VARIABLES, strength=Strength.VENDOR
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "{{ site_settings.company_street_address_1 }}"
                " {{ site_settings.company_street_address_2 }}"
                " {{ site_settings.company_city }} {{ site_settings.company_state }}"
                " {{ site_settings.company_zip }} {{ site_settings.company_country }}"
            ),
            source=_VARIABLES,
            strength=Strength.VENDOR,
        ),
        SystemValue.YEAR: SystemCode(
            code="{{ local_dt|format_datetime('yyyy') }}",
            source=(
                "github.com/Mistralys/mailcode/blob/main/src/Mailcode/Translator/Syntax/HubL"
                "/ShowDateTranslation.php"
            ),
            caveat=(
                "HubSpot applies no filters to personalization tokens in emails, and does not"
                " document whether `local_dt` is one. Test the email."
            ),
            also={"year": None},
        ),
    },
    events=EventData(
        ways=(
            EventWay(
                name="custom",
                sent_by="`customProperties` of the single-send API",
                value="custom",
                source="https://developers.hubspot.com/docs/api/marketing/single-send-api",
            ),
        ),
        write_path=write_hubl,
        loop=LoopForm(
            opening="{% for VARIABLE in ITEMS %}",
            otherwise=None,
            closing="{% endfor %}",
            guard=("{% if ITEMS %}", "{% else %}", "{% endif %}"),
            members={"number": "loop.index", "first": "loop.first", "last": "loop.last"},
            source="https://developers.hubspot.com/docs/cms/reference/hubl/loops",
            strength=Strength.VENDOR,
        ),
        with_default='{% if EXPRESSION ~ "" != "" %}{{ EXPRESSION }}{% else %}DEFAULT{% endif %}',
        caveat="Lists and objects require programmable email.",
    ),
    link_rule=LinkRule(
        "HubSpot does not publish an email template without a link to unsubscribe.",
        _VARIABLES,
        Strength.VENDOR,
    ),
    link_to_all="unsubscribe_link_all",
    vocabulary=Vocabulary(
        syntax=Syntax.HUBL,
        fields=words("contact"),
        field_pattern=r"[a-z0-9_]+",
        path_functions=words("personalization_token"),
        events=words("custom"),
        nested=words("account company deal invoice line_item order quote ticket"),
        system=words(
            "account_id base_url blog_* content.* email_body hub_domain hub_id hubspot_user.*"
            " local_dt local_time_zone office_location.* owner.* portal_id preview_text request.*"
            " site_settings.* standard_footer_includes standard_header_includes"
            " subscription_confirmation_url subscription_name subscription_type.* theme.*"
            " unsubscribe_anchor unsubscribe_link unsubscribe_link_all unsubscribe_link_single"
            " unsubscribe_section view_as_page_section view_as_page_url year"
        ),
        common=words(
            "account account_id base_url company content custom deal email_body invoice line_item"
            " order owner preview_text quote request theme ticket year"
        ),
        local=words(
            "and caller eq false False gt gte if import in is loop lt lte module ne none None"
            " not null or recursive self super true True varargs widget widget_data with without"
            " context kwargs"
        ),
        tags=words(
            "autoescape block blog_comments boolean break call choice color content_attribute"
            " continue cta custom_widget cycle do dnd_area dnd_column dnd_module dnd_row"
            " dnd_section editable_value elif else end_dnd_area end_dnd_column end_dnd_module"
            " end_dnd_row end_dnd_section end_module_attribute end_module_block"
            " end_widget_attribute end_widget_block end_content_attribute endautoescape endblock"
            " endcall endfilter endfor endif endmacro endraw endset endunless extends filter flag"
            " follow_me for form from gallery global_module global_partial global_widget header if"
            " ifchanged endifchanged image image_src import include include_all_from_file"
            " includedcss includejs inline_rich_text inline_text js_partial language_switcher"
            " linked_image logo macro menu module module_attribute module_block page_footer"
            " post_filter post_listing print raw related_blog_posts require_css require_head"
            " require_js end_require_css end_require_head end_require_js rich_text rss_listing"
            " scope endscope section_header set simple_menu social_sharing spacer stylesheet tag"
            " text textarea unless video_player widget widget_attribute widget_block"
            " widget_container widget_wrapper"
        ),
        filters=words(
            "abs add allow_snake_case attr base64_decode base64_encode batch between_times bool"
            " capitalize center concat convert_rgb cut d date datetimeformat default dictsort"
            " difference divide divisible e escape escape_attr escape_html escape_jinjava escape_js"
            " escape_link_url escape_url escapejson filesizeformat first float forceescape format"
            " format_currency format_currency_value format_date format_datetime format_number"
            " format_time fromjson geo_distance groupby indent int intersect ipaddr items join last"
            " length list log lower map md5 minus_time multiply normalize_unicode plus_time pprint"
            " prettify random regex_replace reject rejectattr render replace reverse root round"
            " safe sanitize_html select selectattr shuffle slice sort split string string_to_date"
            " string_to_time striptags strtodate strtotime sum symmetric_difference title tojson"
            " to_local_time trim truncate truncatehtml type unescape_html union unique"
            " unixtimestamp upper urldecode urlencode urlize wordcount wordwrap xmlattr"
        ),
        functions=words(
            "blog_* color_* content_by_id content_by_ids create_event crm_associations crm_object"
            " crm_objects crm_property_definition crm_property_definitions cta custom_widget"
            " datetimeformat dynamic_page_* file_by_id files_by_ids flag_content follow_me_links"
            " format_address format_company_name format_date format_datetime format_name"
            " format_time geo_distance get_asset_url get_asset_version get_public_template_url"
            " get_public_template_url_by_id hubdb_* include_default_custom_css include_javascript"
            " index is_* item_list locale_name menu module_asset_url namespace nav oembed"
            " personalization_token postListing range rate_limit resize_image_url set_response_code"
            " strtotime super time_local to_local_time today topics truncate type unixtimestamp"
            " update_timestamp_rtu"
        ),
    ),
    adjacent_text=django.ADJACENT_TEXT,
    keeping=shared.keeping("raw"),
    api_hosts=r"api(?:-[a-z0-9]+)?\.hubapi\.com",
)
