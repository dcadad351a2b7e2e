"""Braze: Liquid, with `${NAME}` for values of Braze and tags of its own."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import liquid

VOCABULARY = Vocabulary(
    syntax=Syntax.LIQUID,
    fields=words("custom_attribute"),
    events=words(
        "api_trigger_properties canvas_entry_properties context event_properties"
        " purchase_properties"
    ),
    system=words(
        "app.* campaign.* canvas.* card.* content_blocks.* most_recently_used_device.*"
        " preference_center.* preference_center_url set_user_to_* sms.* subscribed_state.*"
        " subscription_group_id* targeted_device.* unsubscribe_url whats_app.*"
    ),
    common=words("app campaign canvas card context sms unsubscribe_url"),
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
        " hmac_sha256_hex hmac_sha512 hmac_sha512_base64 hmac_sha512_hex id json_escape json_parse"
        " md5 money number_with_delimiter property_accessor rsa_sha256 sha1 sha2 sha256 sha512"
        " time_zone url_escape url_param_escape where_exp"
    ),
)
