"""The profiles of ESPs: one module per ESP, and one per language that several of them share."""

from __future__ import annotations

from collections.abc import Mapping

from ..esps import Esp
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
from .profile import Profile

__all__ = ["BUILT_IN", "PROFILES"]

BUILT_IN: tuple[Profile, ...] = (
    salesforce.PROFILE,
    mailchimp.PROFILE,
    klaviyo.PROFILE,
    braze.PROFILE,
    customer_io.PROFILE,
    hubspot.PROFILE,
    sendgrid.PROFILE,
    iterable.PROFILE,
    brevo.PROFILE,
    activecampaign.PROFILE,
)
"""The profiles of this package, in the order of lists and messages."""

PROFILES: Mapping[Esp, Profile] = {each.esp: each for each in BUILT_IN}
"""The built-in profiles by their ESPs."""
