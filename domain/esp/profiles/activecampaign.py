"""ActiveCampaign: personalization tags."""

from __future__ import annotations

import re

from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ..languages.condition_writers import write_alternatives
from ..languages.conditions import Atom, Caveat, ConditionLanguage, Feature
from ..languages.percent_tags import read_percent_tags
from ..names import Esp
from . import shared
from .profile import (
    AdjacentText,
    Creation,
    FilterLanguage,
    FilterRefusal,
    Form,
    Insertion,
    LinkRule,
    Names,
    Profile,
    Strength,
    SurfaceRules,
    Syntax,
    SystemCode,
    Vocabulary,
    words,
)

_NOT_EMPTY_TEXT = (Atom("{operand} != ''", "{operand} == ''"),)

_UNKNOWN_COMPARISON = Caveat(
    WarningCode.UNKNOWN_COMPARISON,
    "{title} does not document whether case, white space at the ends, and zeros as in 3.0 matter."
    " Sources disagree whether %/IF% or %ENDIF% ends a block. Test the email.",
)

_STANDARD_FIELDS = {
    "first_name": "FIRSTNAME",
    "last_name": "LASTNAME",
    "email": "EMAIL",
    "phone": "PHONE",
}

_PERCENT = re.compile(r"(?<![%A-Z0-9_/])[A-Z0-9_/]*%[A-Z0-9_/]*\Z")
"""In ActiveCampaign, `%TAG%` can be directly before code, but no other percent sign."""

_COMPLETE_TAGS = re.compile(r"(?>(?:[^%]++|%(?:[A-Z0-9_/]++|(?:ELSE)?IF [^%]++)%)*)")

_UNSUBSCRIBE = "activepedia.com/index.php?title=Unsubscribe_Link"

_TAGS = (
    "github.com/newsletter-glue/newsletter-glue/blob/master/includes/integrations/activecampaign"
    "/init.php"
)

_TEMPLATES = "public templates on github.com with `%SENDER-INFO-SINGLELINE%`"

_NAME = "ActiveCampaign shows the name of the sender before the address."

_ADD_NAME = f"{_NAME} Write it here, unless the email has it elsewhere."


PROFILE = Profile(
    esp=Esp("activecampaign"),
    title="ActiveCampaign",
    languages=(read_percent_tags,),
    names=Names(
        rule="An ActiveCampaign tag is capital letters, digits and underscores.",
        forms=(Form(r"[A-Z0-9_]+", "$NAME"),),
        reserved=frozenset({"ELSE", "ELSEIF", "IF"}),
        # Secondary sources establish these names.
        standard_fields=_STANDARD_FIELDS,
        unlisted=frozenset(_STANDARD_FIELDS.values()),
        capitals=True,
        creation=Creation(
            "Create a field with the personalization tag NAME: POST /api/3/fields. Then add it to"
            " the lists: POST /api/3/fieldRels.",
            Strength.SECONDARY,
        ),
    ),
    insertion=Insertion(
        source=(
            "github.com/Automattic/newspack-newsletters, which cites a page of the vendor,"
            " help.activecampaign.com/hc/en-us/articles/220358207"
        ),
        strength=Strength.SECONDARY,
        code="%NAME%",
        with_default="%IF EXPRESSION != ''%%NAME%%ELSE%DEFAULT%/IF%",
        delimiters=("%",),
    ),
    conditions=ConditionLanguage(
        write=write_alternatives,
        tag=("%", "%"),
        begin="IF {test}",
        alternative="ELSEIF {test}",
        otherwise="ELSE",
        end="/IF",
        inseparable=r"\A(?![^%]*(?:%[^%\s][^%]*%[^%]*)*\Z)",  # a percent sign outside tags
        is_set=_NOT_EMPTY_TEXT,
        number_is_set=_NOT_EMPTY_TEXT,
        joiners=(" && ", " || "),
        quote="'",
        quotes_numbers=True,
        booleans=("'false'", "'true'"),
        true=Atom("{operand} == 'true'", "{operand} != 'true'"),
        order=shared.ORDER_WITH_OPPOSITES,
        refused={
            Feature.CONTAINS: "No source establishes a test of {title} for a part of a text.",
            **shared.without_dates("the form in which an email reads a date is not established."),
        },
        caveats={
            **dict.fromkeys(Feature, (_UNKNOWN_COMPARISON,)),
            **dict.fromkeys(
                (Feature.TRUE, Feature.FALSE, Feature.BOOLEAN_SET),
                (_UNKNOWN_COMPARISON, shared.NO_BOOLEANS),
            ),
            Feature.ORDER: (
                _UNKNOWN_COMPARISON,
                shared.SECONDARY_ORDER,
                Caveat(
                    WarningCode.NUMBER_AS_TEXT,
                    "{title} can order numbers as texts, so that 99 comes after 100.",
                ),
            ),
        },
    ),
    filters=FilterLanguage(
        forms=shared.refused(FilterName, FilterRefusal("No source establishes filters of {title}."))
    ),
    surfaces=SurfaceRules(
        caveats={Surface.HTML: shared.NOT_ESTABLISHED.format("ActiveCampaign")},
    ),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(code="%UNSUBSCRIBELINK%", source=_UNSUBSCRIBE),
        SystemValue.UNSUBSCRIBE_ALL: SystemCode(code="%UNSUBSCRIBELINK%&ALL", source=_UNSUBSCRIBE),
        SystemValue.PREFERENCES: SystemCode(code="%UPDATELINK%", source=_TAGS),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="%WEBCOPY%", source=_TEMPLATES),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="%SENDER-INFO-SINGLELINE%",
            source=_TEMPLATES,
            caveat=_NAME,
            caveat_of_reading=_ADD_NAME,
            also={"SENDER-INFO": _ADD_NAME},
        ),
        SystemValue.YEAR: "ActiveCampaign shows only the whole date, `%TODAY%`. Write the year.",
    },
    events="{title} has no code for event data in emails. Store the value in a field.",
    link_rule=LinkRule(
        "ActiveCampaign adds its own footer to an email without a link to unsubscribe.",
        _TEMPLATES,
    ),
    vocabulary=Vocabulary(
        syntax=Syntax.PERCENT_TAGS,
        bare_fields=words("EMAIL FIRSTNAME FULLNAME LASTNAME PHONE"),
        events=words("CART_* DEAL_* ECOM_* EVENT_* ORDER_*"),
        system=words(
            "ACCOUNT_* ACCT_* ADDR_* CAMPAIGNID CAMPAIGNNAME CONFIRMLINK CONTACTID DIGITALSIGNATURE"
            " FORMS_PREF_CENTER* FORWARD2FRIEND FROMEMAIL FROMNAME LISTID LISTNAME MESSAGEID"
            " MESSAGENAME ORGANIZATION OWNER_* PERS_* REPLYTO SENDER-* SITENAME SOCIAL-*"
            " SOCIALSHARE SOCIALSHARE-* SUBDATE SUBDATETIME SUBJECT SUBSCRIBERID SUBSCRIBERIP"
            " SUBTIME TODAY TODAY* TRACKINGLINK UNSUBSCRIBELINK UNSUBSCRIBELINK&ALL UPDATELINK"
            " WEBCOPY"
        ),
        tags=words("ELSE ELSEIF ENDIF IF"),
    ),
    adjacent_text=AdjacentText(_PERCENT, _COMPLETE_TAGS),
    api_hosts=r"[a-z0-9-]+\.(?:api-us1|activehosted)\.com",
)
