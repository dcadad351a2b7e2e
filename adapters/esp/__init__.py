"""Field sources that read the fields of ESPs over HTTP. Each ESP has its own module."""

from collections.abc import Callable, Mapping

from recipient_fields.application import EspFieldSource
from recipient_fields.application.extras import requires_extra

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

SOURCES: Mapping[str, Callable[..., EspFieldSource]] = {
    "sfmc": SalesforceFieldSource,
    "mailchimp": MailchimpFieldSource,
    "klaviyo": KlaviyoFieldSource,
    "braze": BrazeFieldSource,
    "hubspot": HubSpotFieldSource,
    "sendgrid": SendGridFieldSource,
    "iterable": IterableFieldSource,
    "brevo": BrevoFieldSource,
    "activecampaign": ActiveCampaignFieldSource,
}
"""The field source of each ESP. Those of Customer.io and OneSignal do not list fields."""

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
