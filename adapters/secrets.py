"""The encryption of secrets in a storage, with the library cryptography."""

from __future__ import annotations

from attrs import frozen

from recipient_fields.application import SecretCipher, UnusableCredentials
from recipient_fields.application.environment import SECRETS_KEY
from recipient_fields.application.extras import requires_extra
from recipient_fields.domain.integrations import CredentialUnreadable

with requires_extra("secrets", "cryptography"):
    from cryptography.fernet import Fernet, InvalidToken, MultiFernet


@frozen
class FernetCipher(SecretCipher):
    """Encrypts with the first of several keys, and decrypts with all of them."""

    _keys: MultiFernet

    def encrypt(self, text: str, /) -> str:
        return self._keys.encrypt(text.encode("utf-8")).decode("ascii")

    def decrypt(self, encrypted: str, /) -> str:
        try:
            return self._keys.decrypt(encrypted).decode("utf-8")
        except InvalidToken:
            raise CredentialUnreadable from None


def new_key() -> str:
    """Return a random key."""
    return Fernet.generate_key().decode("ascii")


def open_cipher(keys: str) -> FernetCipher:
    """Return the cipher with these keys, one per line.

    Raises: UnusableCredentials if one is not a key. The message does not repeat it.
    """
    fernets = []
    for number, key in enumerate(keys.split(), start=1):
        try:
            fernets.append(Fernet(key))
        except ValueError:
            raise UnusableCredentials(
                f"Line {number} of {SECRETS_KEY} is not a key. Create one with the command:"
                " recipient-fields secrets new-key"
            ) from None
    return FernetCipher(MultiFernet(fernets))
