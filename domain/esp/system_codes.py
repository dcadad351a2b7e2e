"""The code of each ESP for links, the sender and the year, with the source that establishes it.

To add a code, name its source: code that no source establishes is refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from ..content.system_values import SystemValue
from .dialects import DIALECTS, Esp
from .sources import Strength


@frozen(kw_only=True)
class SystemCode:
    """Code that shows a system value, and its source: the address of a page, or a file on GitHub.

    `caveat` is a difference between what the ESP shows and the meaning of the value, or a type of
    email in which it does not show it. `also` are names in other codes of the ESP for this.
    """

    code: str
    source: str
    strength: Strength = Strength.SECONDARY
    caveat: str | None = None
    also: tuple[str, ...] = ()


@frozen(kw_only=True)
class EmailOnly:
    """A block that the email shows, and its web version does not. Its opening has this name."""

    name: str
    opening: str
    closing: str


@frozen
class LinkRule:
    """What the ESP does with an email without a link to unsubscribe, and the source."""

    message: str
    source: str
    strength: Strength = Strength.SECONDARY


_SKILLS = "github.com/email-love/esp-skills/blob/main/skills"
_SALESFORCE = f"{_SKILLS}/sfmc-ampscript/references/data-sources.md"
_MAILCHIMP_TAGS = (
    "github.com/Automattic/newspack-newsletters/blob/trunk/src/editor/blocks/mailchimp-merge-tags"
    "/merge-tags.js"
)
_MAILCHIMP_TEMPLATES = "github.com/mailchimp/email-blueprints"
_MAILCHIMP_FOOTER = "mailchimp.com/help/customize-your-footer-content"
_KLAVIYO_TAGS = f"{_SKILLS}/klaviyo-django/references/syntax.md"
_KLAVIYO_DATA = f"{_SKILLS}/klaviyo-django/references/data-sources.md"
_BRAZE = (
    "github.com/braze-inc/braze-docs/blob/develop/_docs/_user_guide"
    "/personalization_and_dynamic_content/liquid/supported_personalization_tags.md"
)
_CUSTOMER_IO = f"{_SKILLS}/customerio-liquid/references/syntax.md"
_HUBSPOT = "developers.hubspot.com/docs/cms/reference/hubl/variables"
_HUBSPOT_SNIPPETS = "github.com/HubSpot/hubspot-cms-vscode/blob/master/snippets/man_gen"
_HUBSPOT_SKILLS = f"{_SKILLS}/hubspot-hubl/references/data-sources.md"
_SENDGRID = "github.com/sendgrid/docs/blob/develop/content/docs/ui/sending-email"
_ITERABLE = "support.iterable.com/hc/en-us/articles/206514205-Universal-Merge-Parameters"
_ITERABLE_SKILLS = f"{_SKILLS}/iterable-handlebars/references"
_BREVO = "public templates on github.com with `{{ update_profile }}`"
_BREVO_SENDER = "github.com/analytiq-hub/docrouter.github.io"
_ACTIVECAMPAIGN = "activepedia.com/index.php?title=Unsubscribe_Link"
_ACTIVECAMPAIGN_TAGS = (
    "github.com/newsletter-glue/newsletter-glue/blob/master/includes/integrations/activecampaign"
    "/init.php"
)
_ACTIVECAMPAIGN_TEMPLATES = "public templates on github.com with `%SENDER-INFO-SINGLELINE%`"


def _only_campaigns(transactional: str) -> str:
    return f"SendGrid shows this only in Marketing Campaigns. {transactional}"


def _in_transactional(code: str) -> str:
    return _only_campaigns(f"Write `{code}` in transactional templates.")


SYSTEM_CODES: Mapping[Esp, Mapping[SystemValue, SystemCode | str]] = {
    Esp.SALESFORCE: {
        SystemValue.UNSUBSCRIBE: SystemCode(code="%%unsub_center_url%%", source=_SALESFORCE),
        SystemValue.PREFERENCES: SystemCode(
            code="%%profile_center_url%%", source=_SALESFORCE, also=("subscription_center_url",)
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="%%view_email_url%%", source=_SALESFORCE),
        SystemValue.SENDER_NAME: SystemCode(code="%%member_busname%%", source=_SALESFORCE),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "%%member_addr%%, %%member_city%%, %%member_state%% %%member_postalcode%%,"
                " %%member_country%%"
            ),
            source=_SALESFORCE,
        ),
        SystemValue.YEAR: SystemCode(code="%%xtyear%%", source=_SALESFORCE),
    },
    Esp.MAILCHIMP: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="*|UNSUB|*",
            source="kb.mailchimp.com/tag/unsubscribe",
            strength=Strength.VENDOR,
            also=("UNSUBSCRIBE",),
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="*|UPDATE_PROFILE|*", source=_MAILCHIMP_TEMPLATES, strength=Strength.VENDOR
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="*|ARCHIVE|*",
            source=_MAILCHIMP_TEMPLATES,
            strength=Strength.VENDOR,
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="*|LIST:COMPANY|*", source=_MAILCHIMP_FOOTER, strength=Strength.VENDOR
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="*|LIST:ADDRESSLINE|*",
            source=_MAILCHIMP_TAGS,
            also=("LIST:ADDRESS", "HTML:LIST_ADDRESS_HTML"),
        ),
        SystemValue.YEAR: SystemCode(
            code="*|CURRENT_YEAR|*", source=_MAILCHIMP_FOOTER, strength=Strength.VENDOR
        ),
    },
    Esp.KLAVIYO: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{% unsubscribe_link %}",
            source="help.klaviyo.com/hc/en-us/articles/115005078267",
            strength=Strength.VENDOR,
            also=("unsubscribe",),
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{% manage_preferences_link %}", source=_KLAVIYO_TAGS, also=("manage_preferences",)
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{% web_view_link %}", source=_KLAVIYO_TAGS, also=("web_view",)
        ),
        SystemValue.SENDER_NAME: SystemCode(code="{{ organization.name }}", source=_KLAVIYO_DATA),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{ organization.full_address }}", source=_KLAVIYO_DATA
        ),
        SystemValue.YEAR: SystemCode(code="{% current_year %}", source=_KLAVIYO_TAGS),
    },
    Esp.BRAZE: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{${set_user_to_unsubscribed_url}}}",
            source=_BRAZE,
            strength=Strength.VENDOR,
            also=("unsubscribe_url", "set_user_to_one_click_list_unsubscribe"),
        ),
        SystemValue.PREFERENCES: (
            "Braze requires the API name of a preference center in this link. Write"
            " `{{preference_center.${NAME}}}` with this name."
        ),
        SystemValue.YEAR: SystemCode(
            code="{{ 'now' | date: '%Y' }}",
            source=f"{_SKILLS}/braze-liquid/references/syntax.md",
        ),
    },
    Esp.CUSTOMER_IO: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{% unsubscribe_url %}", source=_CUSTOMER_IO, also=("unsubscribe",)
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{% manage_subscription_preferences_url %}", source=_CUSTOMER_IO
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{% view_in_browser_url %}", source=_CUSTOMER_IO, also=("view_in_browser",)
        ),
        SystemValue.YEAR: SystemCode(code="{{ 'now' | date: '%Y' }}", source=_CUSTOMER_IO),
    },
    Esp.HUBSPOT: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{ unsubscribe_link }}",
            source=f"{_HUBSPOT_SNIPPETS}/hubl_required_email_template_variables.json",
            strength=Strength.VENDOR,
            caveat="HubSpot opens the page of preferences, on which recipients can unsubscribe.",
            also=("unsubscribe_link_single",),
        ),
        SystemValue.UNSUBSCRIBE_ALL: SystemCode(
            code="{{ unsubscribe_link_all }}",
            source=(
                "knowledge.hubspot.com/articles/kcs_article/email/what-is-the-difference-between"
                "-the-two-unsubscribe-links-at-the-bottom-of-an-email"
            ),
            strength=Strength.VENDOR,
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{ unsubscribe_link }}",
            source=f"{_HUBSPOT_SNIPPETS}/hubl_required_email_template_variables.json",
            strength=Strength.VENDOR,
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{{ view_as_page_url }}", source=_HUBSPOT_SKILLS
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{ site_settings.company_name }}", source=_HUBSPOT, strength=Strength.VENDOR
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "{{ site_settings.company_street_address_1 }}"
                " {{ site_settings.company_street_address_2 }}"
                " {{ site_settings.company_city }} {{ site_settings.company_state }}"
                " {{ site_settings.company_zip }} {{ site_settings.company_country }}"
            ),
            source=_HUBSPOT,
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
            also=("year",),
        ),
    },
    Esp.SENDGRID: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{{unsubscribe}}}",
            source=f"{_SENDGRID}/create-and-manage-unsubscribe-groups.md",
            strength=Strength.VENDOR,
            caveat=_in_transactional("<%asm_group_unsubscribe_raw_url%>"),
            also=("asm_group_unsubscribe_raw_url", "asm_group_unsubscribe_url"),
        ),
        SystemValue.UNSUBSCRIBE_ALL: (
            "SendGrid has this link only in transactional templates. Write"
            " `<%asm_global_unsubscribe_raw_url%>` there."
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{{unsubscribe_preferences}}}",
            source="public templates on github.com with `{{{unsubscribe_preferences}}}`",
            caveat=_in_transactional("<%asm_preferences_raw_url%>"),
            also=("asm_preferences_raw_url", "asm_preferences_url"),
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{{Weblink}}",
            source=f"{_SENDGRID}/weblink.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns("Remove it from transactional templates."),
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{Sender_Name}}",
            source=f"{_SENDGRID}/editor.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns("It is the name of the sender, not of the company."),
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code=(
                "{{Sender_Address}}, {{Sender_City}}, {{Sender_State}} {{Sender_Zip}},"
                " {{Sender_Country}}"
            ),
            source=f"{_SENDGRID}/editor.md",
            strength=Strength.VENDOR,
            caveat=_only_campaigns("Write the address in transactional templates."),
        ),
    },
    Esp.ITERABLE: {
        SystemValue.UNSUBSCRIBE: SystemCode(
            code="{{unsubscribeUrl}}",
            source=_ITERABLE,
            strength=Strength.VENDOR,
            also=("unsubscribeMessageTypeUrl",),
        ),
        SystemValue.PREFERENCES: SystemCode(
            code="{{hostedUnsubscribeUrl}}", source=_ITERABLE, strength=Strength.VENDOR
        ),
        SystemValue.VIEW_IN_BROWSER: SystemCode(
            code="{{viewInBrowserUrl}}", source=f"{_ITERABLE_SKILLS}/data-sources.md"
        ),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{companyName}}",
            source="support.iterable.com/hc/en-us/articles/206382645-Project-Settings",
            strength=Strength.VENDOR,
            also=("brandName",),
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{physicalAddress}}", source=f"{_ITERABLE_SKILLS}/data-sources.md"
        ),
        SystemValue.YEAR: SystemCode(
            code='{{now format="yyyy"}}', source=f"{_ITERABLE_SKILLS}/helpers.md"
        ),
    },
    Esp.BREVO: {
        SystemValue.UNSUBSCRIBE: SystemCode(code="{{ unsubscribe }}", source=_BREVO),
        SystemValue.PREFERENCES: SystemCode(code="{{ update_profile }}", source=_BREVO),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="{{ mirror }}", source=_BREVO),
        SystemValue.SENDER_NAME: SystemCode(
            code="{{ sender.name }}",
            source=_BREVO_SENDER,
            caveat="Only one template shows this code. It is the sender's name, not the company's.",
            also=("sender.company",),
        ),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="{{ sender.address }}",
            source=_BREVO_SENDER,
            caveat="Only one template shows this code. Test the email.",
            also=("company_address",),
        ),
        SystemValue.YEAR: (
            "Brevo has a variable for the email's date, but no source establishes the code of its"
            " year. Write the year."
        ),
    },
    Esp.ACTIVECAMPAIGN: {
        SystemValue.UNSUBSCRIBE: SystemCode(code="%UNSUBSCRIBELINK%", source=_ACTIVECAMPAIGN),
        SystemValue.UNSUBSCRIBE_ALL: SystemCode(
            code="%UNSUBSCRIBELINK%&ALL", source=_ACTIVECAMPAIGN
        ),
        SystemValue.PREFERENCES: SystemCode(code="%UPDATELINK%", source=_ACTIVECAMPAIGN_TAGS),
        SystemValue.VIEW_IN_BROWSER: SystemCode(code="%WEBCOPY%", source=_ACTIVECAMPAIGN_TEMPLATES),
        SystemValue.SENDER_ADDRESS: SystemCode(
            code="%SENDER-INFO-SINGLELINE%",
            source=_ACTIVECAMPAIGN_TEMPLATES,
            caveat="ActiveCampaign shows the name of the sender before the address.",
            also=("SENDER-INFO",),
        ),
        SystemValue.YEAR: "ActiveCampaign shows only the whole date, `%TODAY%`. Write the year.",
    },
}
"""The codes of the values, or the reasons why there are none. No source establishes the others."""

EMAIL_ONLY: Mapping[Esp, EmailOnly] = {
    Esp.MAILCHIMP: EmailOnly(
        name="ARCHIVE_PAGE", opening="*|IFNOT:ARCHIVE_PAGE|*", closing="*|END:IF|*"
    ),
}
"""The templates of Mailchimp have this block around the link to the web version."""

LINK_RULES: Mapping[Esp, LinkRule] = {
    Esp.MAILCHIMP: LinkRule(
        "Mailchimp adds its own footer to an email without a link to unsubscribe.",
        "kb.mailchimp.com/tag/unsubscribe",
        Strength.VENDOR,
    ),
    Esp.KLAVIYO: LinkRule(
        "Klaviyo adds a link to unsubscribe to an email without one.",
        "help.klaviyo.com/hc/en-us/articles/115006054267",
        Strength.VENDOR,
    ),
    Esp.BRAZE: LinkRule(
        "Braze does not save an email template without a link to unsubscribe.",
        f"{_SKILLS}/braze-liquid/references/data-sources.md",
    ),
    Esp.HUBSPOT: LinkRule(
        "HubSpot does not publish an email template without a link to unsubscribe.",
        _HUBSPOT,
        Strength.VENDOR,
    ),
    Esp.SENDGRID: LinkRule(
        "SendGrid does not send a campaign without a link to unsubscribe.",
        f"{_SENDGRID}/create-and-manage-unsubscribe-groups.md",
        Strength.VENDOR,
    ),
    Esp.ITERABLE: LinkRule(
        "Iterable requires a link to unsubscribe in a marketing email, unless the project adds it.",
        _ITERABLE,
        Strength.VENDOR,
    ),
    Esp.BREVO: LinkRule("Brevo requires a link to unsubscribe in a campaign.", _BREVO),
    Esp.ACTIVECAMPAIGN: LinkRule(
        "ActiveCampaign adds its own footer to an email without a link to unsubscribe.",
        _ACTIVECAMPAIGN_TEMPLATES,
    ),
}
"""The ESPs that require a link to unsubscribe, or add one."""

_INSTEAD = {
    SystemValue.UNSUBSCRIBE_ALL: f"Write `{SystemValue.UNSUBSCRIBE}` instead.",
    SystemValue.PREFERENCES: "Write the address of a page of yours.",
    SystemValue.VIEW_IN_BROWSER: "Remove this link.",
    SystemValue.SENDER_NAME: "Write the name.",
    SystemValue.SENDER_ADDRESS: "Write the address.",
    SystemValue.YEAR: "Write the year.",
}


def find_system_code(esp: Esp, value: SystemValue) -> SystemCode | str:
    """Return the code of the value, or the reason why there is none, and what to do."""
    code = SYSTEM_CODES[esp].get(value)
    if code is None:
        title = DIALECTS[esp].title
        return f"No source establishes a code of {title} for `{value}`. {_INSTEAD[value]}"
    return code
