"""The profiles of ESPs: one module per ESP, and one per language that several of them share."""

from __future__ import annotations

from functools import cache

from ...arguments import require_type
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

__all__ = ["BUILT_IN", "profile_of"]

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


def profile_of(esp: Esp) -> Profile:
    """Return the profile of the ESP."""
    require_type(Esp, esp=esp)
    return _by_esp()[esp]


@cache
def _by_esp() -> dict[Esp, Profile]:
    return {each.esp: each for each in BUILT_IN}
