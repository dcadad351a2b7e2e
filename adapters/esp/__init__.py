"""Field sources that read the fields of ESPs over HTTP. Each ESP has its own module."""

from collections.abc import Callable, Mapping

from recipient_fields.application import EspFieldSource
from recipient_fields.application.extras import requires_extra
from recipient_fields.domain.esp import Esp

with requires_extra("esp", "urllib3"):
    from .activecampaign import ActiveCampaignFieldSource
    from .braze import BrazeFieldSource
    from .brevo import BrevoFieldSource
    from .hubspot import HubSpotFieldSource
    from .iterable import IterableFieldSource
    from .klaviyo import KlaviyoFieldSource
    from .mailchimp import MailchimpFieldSource
    from .run import Limits
    from .salesforce import SalesforceFieldSource
    from .sendgrid import SendGridFieldSource

SOURCES: Mapping[Esp, Callable[..., EspFieldSource]] = {
    Esp.SALESFORCE: SalesforceFieldSource,
    Esp.MAILCHIMP: MailchimpFieldSource,
    Esp.KLAVIYO: KlaviyoFieldSource,
    Esp.BRAZE: BrazeFieldSource,
    Esp.HUBSPOT: HubSpotFieldSource,
    Esp.SENDGRID: SendGridFieldSource,
    Esp.ITERABLE: IterableFieldSource,
    Esp.BREVO: BrevoFieldSource,
    Esp.ACTIVECAMPAIGN: ActiveCampaignFieldSource,
}
"""The field source of each ESP. Customer.io has none: its API does not list fields."""

__all__ = [
    "SOURCES",
    "ActiveCampaignFieldSource",
    "BrazeFieldSource",
    "BrevoFieldSource",
    "HubSpotFieldSource",
    "IterableFieldSource",
    "KlaviyoFieldSource",
    "Limits",
    "MailchimpFieldSource",
    "SalesforceFieldSource",
    "SendGridFieldSource",
]
