"""The errors of organizations, API keys, administrators and their sessions."""

from __future__ import annotations

from ..errors import RecipientFieldsError

__all__ = [
    "AdministratorNotFound",
    "AdministratorShared",
    "ApiKeyNotActive",
    "ApiKeyNotFound",
    "DigestTaken",
    "InsufficientAccess",
    "InvitationNotFound",
    "LastAdministrator",
    "LinkNotValid",
    "OrganizationChanged",
    "OrganizationNotFound",
    "PasswordHashingBusy",
    "SignInFailed",
    "SignInThrottled",
]


class OrganizationNotFound(RecipientFieldsError):
    """The organization does not exist."""

    _message = "There is no such organization."


class OrganizationChanged(RecipientFieldsError):
    """The organization's contents differ from those that the caller expects."""

    _message = "The organization's contents have changed. Read them again and retry."


class ApiKeyNotFound(RecipientFieldsError):
    """The organization has no such API key. The key of another organization counts as missing."""

    _message = "There is no such API key in this organization."


class ApiKeyNotActive(RecipientFieldsError):
    """The API key can't be rotated because it is expired or revoked."""

    _message = "This API key is no longer active. Create a new one instead."


class DigestTaken(RecipientFieldsError):
    """The storage already has an API key with this digest, in any organization."""

    _message = "This API key is already stored. Generate another one."


class AdministratorNotFound(RecipientFieldsError):
    """There is no such administrator, or not in this organization."""

    _message = "There is no such administrator."


class AdministratorShared(RecipientFieldsError):
    """The account belongs to another organization too, so only the operator may change it."""

    _message = (
        "This account belongs to another organization too. Ask the operator of the service to"
        " reset its password."
    )


class InvitationNotFound(RecipientFieldsError):
    """The organization has no such invitation: it was accepted or withdrawn, or never existed."""

    _message = "There is no such invitation. It can have been accepted or withdrawn."


class LastAdministrator(RecipientFieldsError):
    """The change would leave the organization without an administrator in the role `admin`."""

    _message = (
        "An organization needs at least one administrator with the role admin."
        " Give another administrator this role first."
    )


class SignInFailed(RecipientFieldsError):
    """The account does not exist, has no password, or has another password.

    The message is the same in all three cases, so that it does not reveal which accounts exist.
    """

    _message = "The email address or the password is not correct. Check both and try again."


class SignInThrottled(RecipientFieldsError):
    """There were too many sign-in attempts. `retry_after` is in seconds, at least 1."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        minutes = -(-retry_after // 60)
        unit = "minute" if minutes == 1 else "minutes"
        super().__init__(f"Too many sign-in attempts. Try again in {minutes} {unit}.")


class PasswordHashingBusy(RecipientFieldsError):
    """The process already hashes as many passwords as it may. `retry_after` is in seconds."""

    def __init__(self, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__("Too many people sign in at the moment. Try again in a few seconds.")


class LinkNotValid(RecipientFieldsError):
    """There is no such link: it was used or replaced, it has expired, or it is mistyped."""

    _message = "This link was used already or has expired. Ask for a new one."


class InsufficientAccess(RecipientFieldsError):
    """The credential is read-only."""

    _message = "This API key can only read. Use a key with read and write access."
