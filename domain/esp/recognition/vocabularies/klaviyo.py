"""Klaviyo: Django's language with tags and filters of its own."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import django

VOCABULARY = Vocabulary(
    syntax=Syntax.DJANGO,
    fields=words("person"),
    bare_fields=words("email first_name full_name last_name phone_number"),
    events=words("event"),
    nested=words("catalog_id catalog_item feeds object object_filter"),
    system=words("organization.*"),
    common=words("email first_name full_name last_name object phone_number"),
    local=django.LOCAL,
    tags_with_text=words("manage_preferences unsubscribe web_view"),
    system_tags=words(
        "current_day current_month current_month_name current_weekday current_year"
        " manage_preferences manage_preferences_link render_variable unsubscribe unsubscribe_link"
        " update_property_link web_view web_view_link"
    ),
    tags=django.TAGS
    | words(
        "barcode catalog coupon_code currency_format customobject customobjects endcatalog"
        " endcustomobject endcustomobjects has_category media object object_filter today"
    ),
    filters=django.FILTERS
    | words(
        "abs append at_least at_most base64_decode base64_encode base64_url_safe_decode"
        " base64_url_safe_encode capitalize ceil compact concat count datetime_from_string"
        " days_later dictfilter divide divided_by downcase escape_once find_replace floatadd"
        " floatsub floor format_date_string gt gte httpize httpsize list_to_string list_where"
        " lookup lstrip lt lte map md5_hash minus missing_image missing_product_image modulo"
        " multiply newline_to_br percentize plus prepend remainder remove remove_first remove_last"
        " replace replace_first replace_last resplit reverse round round_down round_up rstrip"
        " sha_1 sha_256 size sort sort_natural split strip strip_html strip_newlines sum_list"
        " times trim_slash truncate uniq upcase urldecode urldecodeplus urlencodeplus weeks_since"
    ),
)
