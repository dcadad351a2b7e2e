"""Braze: Liquid, with `${NAME}` for values of Braze and tags of its own."""

from __future__ import annotations

from functools import partial

from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ...fields.values import DataType
from ..languages.liquid import LiquidWords, read_liquid
from ..languages.paths import write_liquid
from ..names import Esp
from . import liquid, shared
from .profile import (
    Creation,
    Engine,
    Escaping,
    EventData,
    EventWay,
    FilterForm,
    FilterLanguage,
    FilterRefusal,
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

_FILTERS = (
    "https://www.braze.com/docs/user_guide/personalization_and_dynamic_content/liquid/filters"
)

_STANDARD_FIELDS = {
    "first_name": "first_name",
    "last_name": "last_name",
    "email": "email_address",
    "phone": "phone_number",
    "city": "city",
    "country": "country",
    "birthday": "date_of_birth",
    "user_id": "user_id",
}

_TAGS = (
    "github.com/braze-inc/braze-docs/blob/develop/_docs/_user_guide"
    "/personalization_and_dynamic_content/liquid/supported_personalization_tags.md"
)


PROFILE = Profile(
    esp=Esp("braze"),
    title="Braze",
    languages=(
        partial(
            read_liquid,
            words=LiquidWords(
                has_interpolation=True,
                free_text=words(
                    "abort_message catalog_items catalog_selection_items connected_content liquid"
                    " message_extras multi_language promotion shopping_cart translation"
                ),
            ),
        ),
    ),
    engines={
        Engine.RUBY_LIQUID: "Braze documents Shopify's Liquid, which is Ruby's.",
        Engine.LIQUIDJS: "The engine is not public, and LiquidJS is the other common one.",
    },
    names=Names(
        source="braze.com/docs/user_guide/messaging/design_and_edit/personalize/sources/user_profile/",
        strength=Strength.VENDOR,
        rule=(
            "Braze reads periods, brackets, quotes, |, <, >, = and %, and a - at either end, as"
            " code."
        ),
        forms=(Form(r"""(?!-)[^.()\[\]'"|<>=%]+(?<!-)""", "custom_attribute.${NAME}"),),
        standard_rule=("A standard field of Braze is lower-case letters, digits and underscores."),
        standard_forms=(Form(r"[a-z][a-z0-9_]*", "${NAME}"),),
        reserved=frozenset({"size"}),
        # Secondary sources establish these names.
        standard_fields=_STANDARD_FIELDS,
        unlisted=frozenset(_STANDARD_FIELDS.values()),
        creation=Creation(
            "Add the custom attribute NAME in the dashboard, or set it for a user: POST"
            " /users/track.",
            Strength.NONE,
        ),
    ),
    insertion=Insertion(
        source=(
            "braze.com/docs/user_guide/personalization_and_dynamic_content/liquid"
            "/setting_default_values/"
        ),
        code="{{EXPRESSION}}",
        with_default="{{EXPRESSION | default: 'DEFAULT'}}",
        quoting=Quoting.OTHER,
        shown_forms=liquid.SHOWN_FORMS,
        default_also_replaces={DataType.BOOLEAN: "false"},
    ),
    conditions=liquid.CONDITIONS,
    filters=FilterLanguage(
        output="{{VALUE}}",
        forms={
            **liquid.filters("Braze"),
            FilterName.UPPER: FilterForm(
                code="VALUE | upcase", source=_FILTERS, strength=Strength.VENDOR
            ),
            FilterName.TITLE: FilterRefusal(
                "{title} lists no filter that writes each word with a capital.",
                _FILTERS,
                Strength.VENDOR,
            ),
        },
        dates=liquid.DATES,
        shared=liquid.SHARED,
    ),
    surfaces=SurfaceRules(
        html=Escaping.RAW,
        text=Escaping.RAW,
        source=shared.THIRD_PARTY.format("Liquid"),
        forms={
            ValueForm.ESCAPED: Templates(
                "{{EXPRESSION | escape}}", "{{EXPRESSION | escape | default: 'DEFAULT'}}"
            ),
        },
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{${set_user_to_unsubscribed_url}}}",
            source=_TAGS,
            strength=Strength.VENDOR,
            also=dict.fromkeys(("unsubscribe_url", "set_user_to_one_click_list_unsubscribe")),
        ),
        SystemValue.PREFERENCES: (
            "Braze requires the API name of a preference center in this link. Write"
            " `{{preference_center.${NAME}}}` with this name."
        ),
        SystemValue.YEAR: SystemCode(
            code="{{ 'now' | date: '%Y' }}",
            source=f"{shared.SKILLS}/braze-liquid/references/syntax.md",
        ),
    },
    events=EventData(
        ways=tuple(
            EventWay(
                name=name,
                sent_by=sent_by,
                value=f"{name}.${{NAME}}",
                # No leading $: https://www.braze.com/docs/api/objects_filters/event_object/
                pattern=r"""(?![-$])[^.()\[\]'"|<>=%{}]+(?<!-)""",
                source=_TAGS,
            )
            for name, sent_by in (
                ("event_properties", "the event that triggers a campaign or the step of a Canvas"),
                ("api_trigger_properties", "the request that triggers an API-triggered campaign"),
                ("canvas_entry_properties", "the request or event with which a Canvas begins"),
                ("context", "the context of a Canvas"),
            )
        ),
        write_path=write_liquid,
        loop=liquid.LOOP,
    ),
    link_rule=LinkRule(
        "Braze does not save an email template without a link to unsubscribe.",
        f"{shared.SKILLS}/braze-liquid/references/data-sources.md",
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.LIQUID,
        # `$` is a name in `${…}`.
        fields=words("$ custom_attribute.$"),
        events=words(
            "api_trigger_properties.$ canvas_entry_properties.$ context.$ event_properties.$"
            " purchase_properties.$"
        ),
        system=words(
            "$.preference_center_url $.set_user_to_* $.subscription_group_id* $.unsubscribe_url"
            " app.$.* campaign.$.* canvas.$.* card.$.* content_blocks.$.*"
            " most_recently_used_device.$.* preference_center.$.* sms.$.* subscribed_state.$.*"
            " targeted_device.$.* whats_app.$.*"
        ),
        inserted=words("content_blocks.*"),
        common=words("app campaign canvas card context sms"),
        # `connected` and `items` are set by the tags for Connected Content and catalogs.
        local=liquid.LOCAL | words("connected items shopping_cart"),
        tags=liquid.TAGS
        | words(
            "abort_message catalog_items catalog_selection_items connected_content message_extras"
            " multi_language promotion random shopping_cart translation endtranslation"
        ),
        filters=liquid.FILTERS
        | words(
            "as_json_string hmac_sha1_base64 hmac_sha1_hex hmac_sha256 hmac_sha256_base64"
            " hmac_sha256_hex hmac_sha512 hmac_sha512_base64 hmac_sha512_hex id json_escape"
            " json_parse md5 money number_with_delimiter property_accessor rsa_sha256 sha1 sha2"
            " sha256 sha512 time_zone url_escape url_param_escape where_exp"
        ),
    ),
    adjacent_text=liquid.ADJACENT_TEXT,
    keeping=shared.keeping("raw"),
    api_hosts=r"rest\.[a-z0-9-]+\.braze\.(?:com|eu)",
)
