"""The use cases of administrators: organizations and their API keys."""

from __future__ import annotations

import logging
from datetime import timedelta

from attrs import asdict, evolve, field, frozen

from recipient_fields.domain import (
    ADMINISTRATOR,
    DEFAULT_GRACE_PERIOD,
    DEFAULT_LIFETIME,
    Access,
    ApiKey,
    ApiKeyId,
    Author,
    KeyGrant,
    Organization,
    OrganizationChanged,
    OrganizationContents,
    OrganizationId,
    PlainKey,
    grant_key,
)
from recipient_fields.domain.arguments import require_ids, require_type

from ..clock import Clock, system_clock
from ..ports.accounts import ApiKeyRepository, OrganizationRepository
from ..ports.storage import MissingGroup, StorageGroup

__all__ = ["AUDIT", "OPERATOR", "OPERATOR_AUTHOR", "AdministrationService", "IssuedKey"]

AUDIT = "recipient_fields.audit"
"""The name of the audit logger.

It logs the creation, rotation and revocation of API keys, the deletion of organizations, the
pruning of histories, the names that are set for fields at integrations, and the invitation,
revocation and sign-ins of administrators. No record
contains a key, a password, a token or the email address of an unknown account, except those of
invitations.
"""

OPERATOR = "operator"
"""The name of `OPERATOR_AUTHOR`. No administrator has it: it is no email address."""

SERVICE = "service"
"""The author of what the service does by itself."""

OPERATOR_AUTHOR = Author(ADMINISTRATOR, name=OPERATOR)
"""The author of changes on the command line."""

_audit = logging.getLogger(AUDIT)


def audit(subject: str, act: str, *, by: str | None, **facts: object) -> None:
    """Log one record: `by` has done `act` to the subject, such as "created" to "API key 7".

    `by` is the name of the author, or None if it is unknown. The record also contains the other
    facts, with their names.
    """
    facts = {"by": by or "unknown", **facts}
    text = ", ".join(f"{name} {value}" for name, value in facts.items())
    _audit.info("%s %s: %s", subject, act, text, extra={"facts": {"act": act, **facts}})


@frozen
class IssuedKey:
    """A new API key. `plain.reveal()` returns its full text, which is not stored."""

    api_key: ApiKey
    plain: PlainKey


@frozen(kw_only=True)
class AdministrationService:
    """The use cases of organizations and API keys, for one author.

    The audit log has the name of the author, and so does each API key that the service creates.
    Every method raises StorageUnavailable if the storage fails or does not respond in time. The
    methods for API keys raise MissingGroup if `api_keys` is None: the storage has none.
    """

    _organizations: OrganizationRepository = field(alias="organizations")
    _api_keys: ApiKeyRepository | None = field(alias="api_keys")
    _clock: Clock = field(default=system_clock, alias="clock")
    author: Author = OPERATOR_AUTHOR

    def by(self, author: Author) -> AdministrationService:
        """Return this service for another author."""
        require_type(Author, author=author)
        return evolve(self, author=author)

    def create_organization(self, name: str) -> Organization:
        """Create an organization without fields.

        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters.
        """
        return self._organizations.add(name, self._clock())

    def list_organizations(self) -> tuple[Organization, ...]:
        """Return all organizations by ascending id."""
        return self._organizations.all()

    def get_organization(self, organization_id: OrganizationId) -> Organization:
        """Return the organization. Raises: OrganizationNotFound if it does not exist."""
        require_ids(organization_id=organization_id)
        return self._organizations.get(organization_id)

    def rename_organization(self, organization_id: OrganizationId, name: str) -> Organization:
        """Rename an organization.

        Raises: InvalidOrganization if the name is not one line of 1 to 255 characters,
        OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._organizations.rename(organization_id, name)

    def delete_organization(
        self, organization_id: OrganizationId, *, expected: OrganizationContents | None = None
    ) -> OrganizationContents:
        """Delete an organization with its fields, API keys, integrations and administrators.

        An administrator of another organization too keeps the account. Return how many of each were
        deleted. From then on, its API keys are unknown.
        Raises: OrganizationNotFound if it does not exist, OrganizationChanged if `expected` is
        passed and differs from the contents.
        """
        require_ids(organization_id=organization_id)

        def check(contents: OrganizationContents) -> None:
            if expected is not None and contents != expected:
                raise OrganizationChanged

        deleted = self._organizations.delete(organization_id, check)
        facts = {"organization": organization_id, **asdict(deleted)}
        audit("Organization", "deleted", by=self.author.name, **facts)
        return deleted

    def issue_key(
        self,
        organization_id: OrganizationId,
        *,
        name: str,
        access: Access | str = Access.READ_WRITE,
        lifetime: timedelta | None = DEFAULT_LIFETIME,
    ) -> IssuedKey:
        """Create an API key that is valid for `lifetime`. With None, it does not expire.

        `access` can be a text, such as "read_only".
        Raises: InvalidApiKey if the name is not one line of 1 to 100 characters or the lifetime is
        not 1 second to 366 days, ValueError if `access` is the text of no access,
        OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        plain = PlainKey.generate()
        grant = grant_key(
            plain,
            organization_id,
            name=name,
            access=access,
            lifetime=lifetime,
            at=self._clock(),
            by=self.author.name,
        )
        key = self._stored_keys().add(grant)
        audit("API key", "created", by=self.author.name, **_facts(key))
        return IssuedKey(key, plain)

    def list_keys(self, organization_id: OrganizationId) -> tuple[ApiKey, ...]:
        """Return the organization's keys by ascending id, including expired and revoked ones.

        Raises: OrganizationNotFound if the organization does not exist.
        """
        require_ids(organization_id=organization_id)
        return self._stored_keys().all(organization_id)

    def get_key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey:
        """Return the key. Raises: ApiKeyNotFound if the organization has no such key."""
        require_ids(organization_id=organization_id, key_id=key_id)
        return self._stored_keys().get(organization_id, key_id)

    def revoke_key(self, organization_id: OrganizationId, key_id: ApiKeyId) -> ApiKey:
        """Revoke a key. If it is revoked already, nothing changes.

        Raises: ApiKeyNotFound if the organization has no such key.
        """
        require_ids(organization_id=organization_id, key_id=key_id)
        at = self._clock()
        key = self._stored_keys().update(organization_id, key_id, lambda key: key.revoked(at))
        if key.revoked_at == at:
            audit("API key", "revoked", by=self.author.name, **_facts(key))
        return key

    def rotate_key(
        self,
        organization_id: OrganizationId,
        key_id: ApiKeyId,
        *,
        grace: timedelta = DEFAULT_GRACE_PERIOD,
    ) -> tuple[IssuedKey, ApiKey]:
        """Create a successor of a key. Return the successor and the old key, in this order.

        The old key stays valid for `grace`.

        Raises: InvalidApiKey if `grace` is not 0 to 7 days, ApiKeyNotFound if the organization has
        no such key, ApiKeyNotActive if the key is expired or revoked.
        """
        require_ids(organization_id=organization_id, key_id=key_id)
        plain = PlainKey.generate()

        def succession(key: ApiKey) -> tuple[ApiKey, KeyGrant]:
            return key.rotated(plain, at=self._clock(), grace=grace, by=self.author.name)

        replaced, successor = self._stored_keys().rotate(organization_id, key_id, succession)
        audit("API key", "rotated", by=self.author.name, **_facts(replaced), successor=successor.id)
        return IssuedKey(successor, plain), replaced

    def _stored_keys(self) -> ApiKeyRepository:
        if self._api_keys is None:
            raise MissingGroup(StorageGroup.INTEGRATIONS)
        return self._api_keys


def _facts(key: ApiKey) -> dict[str, object]:
    return {"organization": key.organization_id, "key_id": key.id, "display": key.display}
