"""Secret tokens: sessions, links and forms have one each."""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

__all__ = ["SecretToken"]

_RANDOM_BYTES = 32
_FORMAT = re.compile(r"[A-Za-z0-9_-]{43}")


class SecretToken:
    """A token of 256 random bits. Only `reveal` returns its text, and no storage contains it."""

    # This is not an attrs class: `attrs.asdict` of an object with a token would reveal the token.
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def generate(cls) -> SecretToken:
        """Generate a token."""
        return cls(secrets.token_urlsafe(_RANDOM_BYTES))

    @classmethod
    def parse(cls, presented: str) -> SecretToken | None:
        """Parse the token that a client presents. Return None if its format is wrong."""
        return cls(presented) if _FORMAT.fullmatch(presented) is not None else None

    def reveal(self) -> str:
        """Return the text: 43 characters of URL-safe base64."""
        return self._text

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the token, 32 bytes. Storages find the token's owner by it."""
        return sha256(self._text.encode("ascii")).digest()

    def __repr__(self) -> str:
        return "<SecretToken>"
