"""Mailchimp: merge tags."""

from __future__ import annotations

import re

from ...conditions import Operator
from ...content import Surface, WarningCode
from ...content.filters import FilterName
from ...content.system_values import SystemValue
from ..languages.condition_writers import write_nested_blocks
from ..languages.conditions import Atom, Caveat, ConditionLanguage, Feature
from ..languages.merge_tags import read_merge_tags
from ..names import Esp
from . import shared
from .profile import (
    AdjacentText,
    Creation,
    Dropped,
    EmailOnly,
    FilterForm,
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

_UNKNOWN_CASE = Caveat(
    WarningCode.UNKNOWN_CASE_AND_SPACES,
    "{title} does not document whether comparisons of texts are case-sensitive, and whether they"
    " ignore white space at the ends.",
)

_PREFIXES = "public templates and guides that use Mailchimp's merge tags"


def _filter(prefix: str, difference: str = shared.UNKNOWN_LETTERS) -> FilterForm:
    return FilterForm(
        code=f"{prefix}:VALUE",
        source=_PREFIXES,
        strength=Strength.SECONDARY,
        differences=(difference,),
    )


_TAGS = (
    "github.com/Automattic/newspack-newsletters/blob/trunk/src/editor/blocks/mailchimp-merge-tags"
    "/merge-tags.js"
)

_TEMPLATES = "github.com/mailchimp/email-blueprints"

_FOOTER = "mailchimp.com/help/customize-your-footer-content"


PROFILE = Profile(
    esp=Esp("mailchimp"),
    title="Mailchimp",
    languages=(read_merge_tags,),
    names=Names(
        rule=(
            "A Mailchimp tag is 1 to 10 capital letters, digits and underscores, and begins with a"
            " letter."
        ),
        forms=(Form(r"[A-Z][A-Z0-9_]{0,9}", "NAME"),),
        # The second line inserts links or the current date, not a field.
        reserved=frozenset(
            {"ELSE", "ELSEIF", "END", "IF", "IFNOT"}
            | {"ARCHIVE", "DATE", "FORWARD", "REWARDS", "UNSUB"}
        ),
        # Secondary sources establish these names.
        standard_fields={
            "first_name": "FNAME",
            "last_name": "LNAME",
            "email": "EMAIL",
            "phone": "PHONE",
            "birthday": "BIRTHDAY",
        },
        unlisted=frozenset({"EMAIL"}),
        differing_values={
            "BIRTHDAY": (
                "BIRTHDAY of {title} is a month and a day without a year, such as 11/29. It is no"
                " date."
            )
        },
        capitals=True,
        max_length=10,
        creation=Creation(
            "Add a merge field with the tag NAME to the audience:"
            " POST /3.0/lists/{list_id}/merge-fields.",
            Strength.SECONDARY,
        ),
    ),
    insertion=Insertion(
        source="mandrill.zendesk.com/hc/en-us/articles/360039278713",
        code="*|NAME|*",
        with_default="*|IF:NAME|**|NAME|**|ELSE:|*DEFAULT*|END:IF|*",
        delimiters=("*|", "|*"),
    ),
    conditions=ConditionLanguage(
        write=write_nested_blocks,
        tag=("*|", "|*"),
        begin="IF:{test}",
        alternative="ELSEIF:{test}",
        otherwise="ELSE:",
        end="END:IF",
        # A tag without its end
        inseparable=(r"(?s)\A(?:\||(?!(?:(?!\*\|).)*(?:\*\|(?:(?!\|\*).)+\|\*(?:(?!\*\|).)*)*\Z))"),
        equal=Atom("{operand}={value}"),
        order={
            Operator.LESS: Atom("{operand}<{value}"),
            Operator.AT_MOST: Atom("{operand}<={value}"),
            Operator.GREATER: Atom("{operand}>{value}"),
            Operator.AT_LEAST: Atom("{operand}>={value}"),
        },
        quote=None,
        true=Atom("{operand}=true"),
        refused={
            Feature.CONTAINS: shared.NO_CONTAINS,
            **shared.without_dates(
                "it shows a date in the format of its field, which no sync reads."
            ),
        },
        caveats={
            Feature.TRUE: (shared.NO_BOOLEANS,),
            Feature.FALSE: (shared.NO_BOOLEANS,),
            Feature.BOOLEAN_SET: (shared.NO_BOOLEANS,),
            Feature.TEXT_EQUALITY: (_UNKNOWN_CASE,),
            Feature.NUMBER_EQUALITY: (
                Caveat(
                    WarningCode.UNKNOWN_NUMBER_FORM,
                    "{title} does not document whether 3 equals 3.0.",
                ),
            ),
            Feature.ORDER: (shared.SECONDARY_ORDER,),
        },
        zero_caveat=Caveat(
            WarningCode.UNKNOWN_ZERO,
            "{title} does not document how it reads the number 0.",
        ),
        numeric_text_caveat=Caveat(
            WarningCode.NUMERIC_TEXT,
            "{title} does not document whether it compares texts that are numbers by value.",
        ),
        nesting=(
            re.compile(r"(?s)\*\|IF:(?:(?!\*\|END:IF\|\*).)*?\*\|IF:"),
            Caveat(
                WarningCode.NESTED_CONDITIONS,
                "{title} documents blocks in blocks for Transactional emails only. Test the"
                " campaign.",
            ),
        ),
    ),
    filters=FilterLanguage(
        output="*|VALUE|*",
        forms={
            FilterName.UPPER: _filter("UPPER"),
            FilterName.LOWER: _filter("LOWER"),
            FilterName.TITLE: _filter(
                "TITLE",
                shared.UNKNOWN_WORDS,
            ),
            FilterName.URL: _filter(
                "URL",
                "No source establishes how {title} encodes other characters than A to Z and digits,"
                " such as a blank or é.",
            ),
            **shared.refused(
                (FilterName.TRUNCATE, FilterName.NUMBER),
                FilterRefusal("No source establishes a merge tag of {title} for this."),
            ),
            FilterName.DATE: FilterRefusal(
                "{title} shows a date in the format of its audience field. Choose the format there."
            ),
        },
        joins=False,
    ),
    surfaces=SurfaceRules(caveats={Surface.HTML: shared.NOT_ESTABLISHED.format("Mailchimp")}),
    system_codes={
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="*|UNSUB|*",
            source="kb.mailchimp.com/tag/unsubscribe",
            strength=Strength.VENDOR,
            also={"UNSUBSCRIBE": None},
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="*|UPDATE_PROFILE|*", source=_TEMPLATES, strength=Strength.VENDOR
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="*|ARCHIVE|*",
            source=_TEMPLATES,
            strength=Strength.VENDOR,
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="*|LIST:COMPANY|*", source=_FOOTER, strength=Strength.VENDOR
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="*|LIST:ADDRESSLINE|*",
            source=_TAGS,
            also={
                "LIST:ADDRESS": "Mailchimp shows the address on several lines.",
                # github.com/Automattic/newspack-newsletters, and emails with `class="vcard"`
                "HTML:LIST_ADDRESS_HTML": (
                    "Mailchimp shows the name of the company before the address, and a link to add"
                    " both to an address book."
                ),
            },
        ),
        SystemValue.YEAR: SystemCode(
            code="*|CURRENT_YEAR|*",
            source=_FOOTER,
            strength=Strength.VENDOR,
            also={"DATE:Y": None},
        ),
    },
    events="{title} sends no event data with its campaigns. Store the value in a field.",
    link_rule=LinkRule(
        "Mailchimp adds its own footer to an email without a link to unsubscribe.",
        "kb.mailchimp.com/tag/unsubscribe",
        Strength.VENDOR,
    ),
    email_only=EmailOnly(
        name="ARCHIVE_PAGE", opening="*|IFNOT:ARCHIVE_PAGE|*", closing="*|END:IF|*"
    ),
    dropped=Dropped(
        tags={
            "*|MC_PREVIEW_TEXT|*": "the code of templates that Mailchimp exports",
            # The title of the archive's page: mail programs show the subject itself.
            "*|MC:SUBJECT|*</title>": _TEMPLATES,
            '<meta property="og:title" content="*|MC:SUBJECT|*"': _TEMPLATES,
            # The badge of Mailchimp
            "*|REWARDS|*": _TEMPLATES,
            "*|HTML:REWARDS|*": _TEMPLATES,
        },
        attributes=dict.fromkeys(
            (
                *("mc:allowdesigner", "mc:allowtext", "mc:edit", "mc:hideable", "mc:label"),
                *("mc:repeatable", "mc:variant"),
            ),
            "github.com/mailchimp/email-blueprints/blob/master/templates",
        ),
    ),
    own_features={
        "FORWARD": "Only Mailchimp has this page to forward the email. Remove this link.",
        "LIST": "Only Mailchimp tests the audience. Keep the text for it, without these tags.",
        "LIST:DESCRIPTION": "Mailchimp shows what its audience says about itself. Write this text.",
        "MC:SUBJECT": "Mailchimp shows the subject of the email. Write this text.",
    },
    vocabulary=Vocabulary(
        syntax=Syntax.MERGE_TAGS,
        # A colon follows a word of Mailchimp. MERGE1 is the first field of an audience.
        field_pattern=r"(?!(?i:MERGE)[0-9]+\Z)[^:]+",
        events=words("CART CART:* CART_* ORDER ORDER:* ORDER_* PRODUCT PRODUCT:* PRODUCT_*"),
        system=words(
            "ABOUT_LIST ABUSE_EMAIL ACCOUNT_URL ARCHIVE ARCHIVE_* AUTOMATION:* CAMPAIGN:*"
            " CAMPAIGN_UID COUPON* CURRENT_YEAR DATE DATE.* EMAIL_UID FACEBOOK:* FEED:* FEEDBLOCK:*"
            " FEEDITEM:* FEEDITEMS:* FORWARD GOOGLE:* LIST_ADDRESS* INSTAGRAM:* LIST LIST:* MC:*"
            " MC_* POLL:* PROMO_CODE PROMO_CODE:* RECOMMENDATIONS:* REWARDS REWARDS_* RSS:*"
            " RSSFEED:* RSSITEM:* RSSITEMS:* SHARE:* SUBSCRIBER_STATUS SURVEY SURVEY:* TRANSLATE:*"
            " TWITTER:* UNIQID UNSUB UNSUB:* UNSUBSCRIBE UPDATE_PROFILE USER:* VIDEO:* WEB_PAGE"
        ),
        # What follows these prefixes is a field.
        filters=words("HTML LOWER TITLE UPPER URL"),
        tags=words("ELSE ELSEIF END GROUP IF IFNOT INTERESTED INTERESTGROUP UNLESS"),
    ),
    adjacent_text=AdjacentText(),
    api_hosts=r"[a-z0-9-]+\.api\.mailchimp\.com",
)
