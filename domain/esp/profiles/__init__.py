"""The profiles of ESPs: one module per ESP, and one per language that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from ...arguments import require_type
from ...suggestions import closest_match, did_you_mean
from ..errors import MissingProfile
from ..names import Esp

if TYPE_CHECKING:
    from .profile import Profile

__all__ = ["BUILT_IN", "Profiles"]


class Profiles:
    """Profiles by the names of their ESPs, in the order of lists and messages.

    `read` returns them. It is called when the first one is requested.
    Raises: ValueError then, if two profiles have the same name.
    """

    def __init__(self, read: Callable[[], Iterable[Profile]]) -> None:
        self._read = read

    def __repr__(self) -> str:
        return f"Profiles({self._read.__name__})"

    def __iter__(self) -> Iterator[Profile]:
        return iter(self._by_esp.values())

    def __len__(self) -> int:
        return len(self._by_esp)

    def __contains__(self, esp: object) -> bool:
        return esp in self._by_esp

    def __getitem__(self, esp: Esp) -> Profile:
        """Return the profile of the ESP. Raises: MissingProfile if there is none."""
        try:
            return self._by_esp[esp]
        except KeyError:
            raise MissingProfile(
                f"The profile of the ESP {esp} is not installed. Install the package that has the"
                f" entry point `{esp}` in the group `recipient_fields.esp_profile`."
            ) from None

    @property
    def esps(self) -> tuple[Esp, ...]:
        """The names of the ESPs."""
        return tuple(self._by_esp)

    def parse_name(self, name: str) -> Esp:
        """Return the name of the ESP. Raises: ValueError if there is no profile with it."""
        require_type(Esp | str, esp=name)
        if name not in self:
            message = f"{str(name)!r} is no Esp. Use one of {', '.join(self.esps)}."
            raise ValueError(f"{message}{did_you_mean(self.find_similar(name))}")
        return Esp(name)

    def find_similar(self, name: str) -> str | None:
        """Return the ESP that a misspelled name means, also a title or a word of one, or None."""
        esps = {word: each.esp for each in self for word in each.title.split()}
        esps |= {text: each.esp for each in self for text in (each.title, each.esp)}
        word = closest_match(name, esps)
        return None if word is None else esps[word]

    def title(self, esp: Esp) -> str:
        """Return the title of the ESP, or its name if its profile is missing."""
        return self[esp].title if esp in self else str(esp)

    @cached_property
    def _by_esp(self) -> Mapping[Esp, Profile]:
        by_esp: dict[Esp, Profile] = {}
        for each in self._read():
            if by_esp.setdefault(each.esp, each) is not each:
                raise ValueError(f"Two profiles have the name {each.esp}.")
        return by_esp


def read_built_in() -> tuple[Profile, ...]:
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
        onesignal,
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
        onesignal.PROFILE,
    )


BUILT_IN = Profiles(read_built_in)
"""The profiles of this package."""
