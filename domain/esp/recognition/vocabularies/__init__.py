"""The vocabularies of the dialects: one module per ESP, and one per language that several share."""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects import Esp
from ..vocabulary import Vocabulary
from . import (
    activecampaign,
    braze,
    brevo,
    customer_io,
    hubspot,
    iterable,
    klaviyo,
    mailchimp,
    salesforce,
    sendgrid,
)

VOCABULARIES: Mapping[Esp, Vocabulary] = {
    Esp.SALESFORCE: salesforce.VOCABULARY,
    Esp.MAILCHIMP: mailchimp.VOCABULARY,
    Esp.KLAVIYO: klaviyo.VOCABULARY,
    Esp.BRAZE: braze.VOCABULARY,
    Esp.CUSTOMER_IO: customer_io.VOCABULARY,
    Esp.HUBSPOT: hubspot.VOCABULARY,
    Esp.SENDGRID: sendgrid.VOCABULARY,
    Esp.ITERABLE: iterable.VOCABULARY,
    Esp.BREVO: brevo.VOCABULARY,
    Esp.ACTIVECAMPAIGN: activecampaign.VOCABULARY,
}

WITH_ANY_NAME = frozenset(esp for esp, vocabulary in VOCABULARIES.items() if vocabulary.any_name)
"""The ESPs whose values can have any name. Their paths can be variables in other dialects."""
