"""The profiles of ESPs: one module per ESP, and one per language that several of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..esps import Profiles

if TYPE_CHECKING:
    from .profile import Profile

__all__ = ["BUILT_IN"]


def _read() -> tuple[Profile, ...]:
    # Imported here because only what writes code for ESPs needs these modules.
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

    return (
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


BUILT_IN = Profiles(_read)
"""The profiles of this package."""
