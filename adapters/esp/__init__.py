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

ADVICE: Mapping[str, str] = {
    "sfmc": "In Setup, open Installed Packages, and add an API integration (server-to-server) with"
    " the permission data_extensions_read. The subdomain is the first part of its base URIs.",
    "mailchimp": "In your profile, open Extras, API keys. The list ID is in the settings of the"
    " audience. The key needs access to this audience.",
    "klaviyo": "In Settings, open API keys, and create a private key with the scope profiles:read."
    " With the scope accounts:read, a test also shows the name of the account.",
    "braze": "In Settings, open APIs and Identifiers, and create a key with the permission"
    " custom_attributes.get. The URL is the REST endpoint of your instance, such as"
    " https://rest.iad-01.braze.com.",
    "hubspot": "In Settings, open Integrations, Private Apps, and create an app with the scope"
    " crm.schemas.contacts.read. Copy its access token.",
    "sendgrid": "In Settings, open API Keys, and create a key with read access to Marketing.",
    "iterable": "In Integrations, open API Keys, and create a server-side key. For Europe, the URL"
    " is https://api.eu.iterable.com.",
    "brevo": "In Settings, open SMTP and API, and create an API key. Permit the IP address of this"
    " service, if Brevo restricts addresses.",
    "activecampaign": "In Settings, open Developer: it shows the API URL and the key of a user with"
    " access to fields.",
}
"""Where a person finds the credentials of each ESP, and which permissions they need."""

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
