"""The email service providers (ESPs)."""

from __future__ import annotations

from ..choices import Choice

__all__ = ["Esp"]


class Esp(Choice):
    """The supported providers."""

    SALESFORCE = "sfmc"
    MAILCHIMP = "mailchimp"
    KLAVIYO = "klaviyo"
    BRAZE = "braze"
    CUSTOMER_IO = "customerio"
    HUBSPOT = "hubspot"
    SENDGRID = "sendgrid"
    ITERABLE = "iterable"
    BREVO = "brevo"
    ACTIVECAMPAIGN = "activecampaign"
