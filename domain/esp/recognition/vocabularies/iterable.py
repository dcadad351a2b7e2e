"""Iterable: Handlebars, with `[[…]]` for data feeds. Events can have values of any name."""

from __future__ import annotations

from ..vocabulary import Syntax, Vocabulary, words
from . import handlebars

VOCABULARY = Vocabulary(
    syntax=Syntax.HANDLEBARS,
    any_name=True,
    has_field_paths=True,
    fields=words("profile"),
    events=words("dataFields shoppingCartItems updatedShoppingCartItems"),
    nested=words("liveData rssFeed"),
    system=words(
        "brandName campaignId campaignName campaignSeason channelId clientTemplateId companyName"
        " hostedUnsubscribeUrl messageTypeId messagingInitiative physicalAddress"
        " recurringCampaignId sendListIds sentAt smsDisclaimerLink templateId templateName"
        " unsubscribeByPhoneUrl unsubscribeMessageTypeUrl unsubscribeUrl viewInBrowserUrl"
        " workflowId"
    ),
    common=words(
        "brandName campaignId campaignName campaignSeason channelId companyName messageTypeId"
        " messagingInitiative physicalAddress profile recurringCampaignId sendListIds sentAt"
        " shoppingCartItems templateId templateName workflowId"
    ),
    local=handlebars.LOCAL | words("now timestamp"),
    tags=handlebars.HELPERS
    | words(
        "abbreviate assign base64 breaklines capitalize capitalizeFirst catalog catalogCollection"
        " catalogKeys center cut dateFormat dateMath defaultIfEmpty eq gt gte hexEncode hmacSHA1"
        " hmacSHA256 ifContains ifContainsStr ifEq ifGt ifGte ifLt ifLte ifMatchesRegexStr ifModEq"
        " join ljust lookup lower lt lte math maxInList md5 metadata minInList neq not now"
        " numberFormat replace rjust sendSkip sha1 sha256 slugify snippet sortBy groupBy"
        " stringFormat stripTags substring timestamp toJson toUrlEncodedJson upper urlEncode"
        " wordWrap yesno"
    ),
)
