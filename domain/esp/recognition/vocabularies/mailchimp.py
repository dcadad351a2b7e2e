"""Mailchimp: merge tags. Case does not matter."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words

VOCABULARY = Vocabulary(
    syntax=Syntax.MERGE_TAGS,
    events=words("CART CART:* CART_* ORDER ORDER:* ORDER_* PRODUCT PRODUCT:* PRODUCT_*"),
    system=words(
        "ABOUT_LIST ABUSE_EMAIL ACCOUNT_URL ARCHIVE ARCHIVE_* AUTOMATION:* CAMPAIGN:* CAMPAIGN_UID"
        " COUPON* CURRENT_YEAR DATE DATE:* EMAIL_UID FACEBOOK:* FEED:* FEEDBLOCK:* FEEDITEM:*"
        " FEEDITEMS:* FORWARD GOOGLE:* HTML:LIST_* INSTAGRAM:* LIST:* MC:* MC_* POLL:* PROMO_CODE"
        " PROMO_CODE:* RECOMMENDATIONS:* REWARDS REWARDS_* RSS:* RSSFEED:* RSSITEM:* RSSITEMS:*"
        " SHARE:* SUBSCRIBER_STATUS SURVEY SURVEY:* TRANSLATE:* TWITTER:* UNIQID UNSUB UNSUB:*"
        " UNSUBSCRIBE UPDATE_PROFILE USER:* VIDEO:* WEB_PAGE"
    ),
    # What follows these prefixes is a field.
    filters=words("HTML LOWER TITLE UPPER URL"),
    tags=words("ELSE ELSEIF END GROUP IF IFNOT INTERESTED INTERESTGROUP UNLESS"),
)
