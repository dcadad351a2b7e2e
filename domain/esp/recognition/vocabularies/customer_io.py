"""Customer.io: Liquid with tags and filters of its own."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import liquid

VOCABULARY = Vocabulary(
    syntax=Syntax.LIQUID,
    fields=words("customer"),
    events=words("event event_id event_name event_timestamp journey trigger"),
    nested=words("objects"),
    system=words(
        "campaign.* content delivery_id editor layout.* manage_subscription_preferences_url"
        " message.* snippets.* unsubscribe_url view_in_browser_url"
    ),
    common=words("campaign content editor layout message unsubscribe_url"),
    local=liquid.LOCAL,
    system_tags=words(
        "cio_link cio_link_id manage_subscription_preferences_url subscription_topic_name"
        " tracking_consent_url unsubscribe unsubscribe_url view_in_browser view_in_browser_url"
    ),
    tags=liquid.TAGS | words("countdown generate_uuid random render_liquid"),
    filters=liquid.FILTERS
    | words(
        "add_day add_month add_year array_to_sentence_string base64 cgi_escape contains currency"
        " date_to_long_string date_to_rfc822 date_to_string date_to_xmlschema find_exp"
        " format_number from_json group_by group_by_exp hex_base64 hmac_sha1 hmac_sha256"
        " htmlencode json json_array_uniq limit md5 normalize_whitespace"
        " number_of_words number_with_delimeter pluralize pop push random rounded_currency sha1"
        " sha256 shift slugify subtract_day subtract_month subtract_year timezone titlecase to_json"
        " unshift uri_escape where_exp where_not xml_escape"
    ),
)
