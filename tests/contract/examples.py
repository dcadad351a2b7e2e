"""Example values of every kind, including edge cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from typing import Any, Final, TypeAlias

import pytest
from attrs import evolve

from recipient_fields.application import (
    AdministratorRepository,
    HistoryRepository,
    IntegrationCheck,
    IntegrationRepository,
    KeySuccession,
    NamePlanner,
    NamesPlanner,
    SyncPlanner,
)
from recipient_fields.domain import (
    ADMINISTRATOR,
    API,
    MAX_HISTORY_PAGE,
    MAX_SAFE_INTEGER,
    Access,
    Administrator,
    AllowedValues,
    Author,
    Channel,
    DataType,
    EmailAddress,
    FieldChanges,
    FieldDefinition,
    FieldDraft,
    FieldId,
    FieldName,
    HistoryQuery,
    HistoryRecord,
    IntegrationId,
    InvitationDraft,
    KeyGrant,
    Link,
    LinkPurpose,
    OrganizationContents,
    OrganizationId,
    PlainKey,
    RecipientField,
    Role,
    SecretToken,
    Source,
    grant_key,
    sync_channel,
)
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import (
    EspField,
    Integration,
    IntegrationDraft,
    ReportedField,
    SetName,
    SyncPlan,
    SyncRun,
)

FieldChange: TypeAlias = Callable[[RecipientField], RecipientField]
"""Return the changed field. It has no side effects: a storage may call it several times."""

NOW: Final = datetime(2026, 11, 20, 9, 15, 0, 123_000, tzinfo=UTC)
LATER: Final = NOW + timedelta(hours=1)

AUTHOR: Final = Author(API, id=7, name="rfk_0123…AuoE", request_id="4f1c")
"""An API key, the author of changes in a request."""

NEVER_ASSIGNED: Final = (0, -1, 2**31, 2**53, 2**63 - 1, 2**63, 2**70, -(2**70))
"""Ids that no storage assigns, including some that a column can't store."""


def in_pairs(**parameters: Iterable[object]) -> pytest.MarkDecorator:
    """Run a test with each value of each parameter, in as few cases as the longest one requires.

    It is for parameters that have no effect on each other, such as columns of a row. The keys of
    a mapping are the ids of its values.
    """
    named = [
        [pytest.param(value, id=f"{name:.40}") for name, value in each.items()]
        if isinstance(each, Mapping)
        else [pytest.param(value, id=f"{value!s:.40}") for value in each]
        for each in parameters.values()
    ]
    rows = islice(zip(*map(cycle, named), strict=False), max(map(len, named)))
    cases = [
        pytest.param(
            *(value for each in row for value in each.values),
            id=", ".join(str(each.id) for each in row),
        )
        for row in rows
    ]
    return pytest.mark.parametrize(tuple(parameters), cases)


MAX_INTEGRATION_ID: Final = IntegrationId(MAX_SAFE_INTEGER)

SYNC: Final = sync_channel(IntegrationId(7))
"""The channel of an integration's sync runs."""

INSTANTS: Final = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
    datetime(2026, 3, 29, 1, 30, 0, 1_000, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
)

LINES: Final = {
    "umlauts": "Größe",
    "kanji": "日本語",
    "emoji": "👩‍👩‍👧 😀",
    "right-to-left": "مرحبا",
    "injection": "Robert'); DROP TABLE recipient_fields; --",
    "placeholders": '"C:\\new" %s %(x)s {} :name ?1 $1',
    "noncharacters": "\U0010ffff\ufeff\ufffe",
    "longest": "😀" * 255,
}
"""Texts of one line that storages change if they escape or encode them incorrectly."""

INSERTION_CODES: Final = {
    **LINES,
    "variable function": "%%=v(@firstName)=%%",
    "outer white space": "  {{ city }}  ",
    "lines": "{\r\n\tcity\n\u2028}",
    "controls": "\x01\x1b\x7f\x80",
    "both normal forms": "e\u0301 is not \u00e9",
    "longest": "😀" * 2_000,
}
"""Texts that are stored verbatim."""

ALLOWED_VALUES: Final = {
    "zero": AllowedValues(DataType.NUMBER, [-0.0]),
    "one": AllowedValues(DataType.NUMBER, [1.0]),
    "integers": AllowedValues(DataType.NUMBER, [1, -1, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER]),
    "doubles": AllowedValues(
        DataType.NUMBER, [5e-324, -1.5, 0.1, 0.30000000000000004, 4503599627370495.5, 1]
    ),
    "1000 numbers": AllowedValues(DataType.NUMBER, range(1_000, 0, -1)),
    "like JSON": AllowedValues(DataType.TEXT, ["b", "B", "a", "1", "null", "true", '["a"]']),
    "lines": AllowedValues(DataType.TEXT, tuple(LINES.values())),
    "1000 long texts": AllowedValues(DataType.TEXT, [f"{n:04}" + "😀" * 251 for n in range(1_000)]),
    "dates": AllowedValues(DataType.DATE, ["9999-12-31", "0001-01-01"]),
    "instants": AllowedValues(
        DataType.DATETIME, ["2026-11-20T09:15:00.123Z", "0001-01-01T00:00:00.000Z"]
    ),
}


EVERY_NAME: Final[Mapping[FieldId, SetName]] = {
    FieldId(number): SetName(name, custom=number % 2 == 0)
    for number, name in enumerate(LINES.values(), start=MAX_SAFE_INTEGER - len(LINES))
}
"""Names of fields, which need not exist, at an integration."""


def a_definition(key: str = "city", *, by: Channel = API, **members: Any) -> FieldDefinition:
    """Return a definition with this key and channel; `members` are those of FieldDraft."""
    if by.source is Source.INTEGRATION:
        members.setdefault("esp_field_name", "CITY")
    # Not in the draft: storages keep values that are larger than those of a new field can be.
    allowed_values = members.pop("allowed_values", None)
    draft = FieldDraft(**{"name": "City", "key": key, "data_type": DataType.TEXT, **members})
    return evolve(draft.define(by=by, at=NOW), allowed_values=allowed_values)


MIXED_DEFINITIONS: Final = (
    a_definition("city", name="b"),
    a_definition("zip", name="a", data_type=DataType.NUMBER, insertable=False),
    a_definition("size", name="Größe", by=ADMINISTRATOR),
    a_definition("greek", name="Όσας"),
    a_definition("loyalty_tier", name="a", data_type=DataType.DATE),
    a_definition("percent", name="100 % \\ sure"),
    a_definition("first", name="b", by=SYNC, esp_field_name="FName"),
    a_definition("emoji", name="😀", insertable=False),
    a_definition("private_use", name="\uf8ff"),
    a_definition("upper", name="B", by=ADMINISTRATOR),
)
"""Fields of every kind, some with equal names."""


ACCEPTED_VALUES: Final = {k: v for k, v in ALLOWED_VALUES.items() if k != "1000 long texts"}
"""Those that a field can be created with. Storages also keep larger ones."""


def a_grant(
    organization_id: OrganizationId, *, key: PlainKey | None = None, **members: Any
) -> KeyGrant:
    """Return a grant of the key, by default a random one; `members` are those of `grant_key`."""
    usual = {"name": "CI", "access": Access.READ_WRITE, "lifetime": timedelta(days=90), "at": NOW}
    return grant_key(key or PlainKey.generate(), organization_id, **{**usual, **members})


def grant(
    administrators: AdministratorRepository,
    organization_id: OrganizationId,
    email: str = "",
    role: Role = Role.ADMIN,
) -> Administrator:
    """Store and return an administrator, by default one that no other organization has.

    An existing account joins the organization.
    """
    address = EmailAddress(email or f"Dana@{organization_id}.example")
    account = administrators.find(address)
    draft = an_invitation_draft(address, role=role)
    administrators.invite(organization_id, draft)
    return administrators.accept_invitation(
        organization_id, draft.digest, NOW, None if account is None else account.password_hash
    )


def a_digest() -> bytes:
    """Return the digest of a new token."""
    return SecretToken.generate().digest


def an_invitation_draft(email: EmailAddress | str, **members: Any) -> InvitationDraft:
    """Return a draft of an invitation with a new digest; `members` are those of InvitationDraft."""
    address = EmailAddress(email) if isinstance(email, str) else email
    usual = {"role": Role.ADMIN, "created_at": NOW, "expires_at": LATER, "digest": a_digest()}
    return InvitationDraft(email=address, **{**usual, **members})


def a_link(administrator: Administrator, **members: Any) -> Link:
    """Return a link that sets a password; `members` are those of Link."""
    usual = {"purpose": LinkPurpose.SET_PASSWORD, "expires_at": LATER, "digest": a_digest()}
    return Link(**{**usual, "administrator_id": administrator.id, **members})


def store_link(
    administrators: AdministratorRepository, administrator: Administrator, **members: Any
) -> Link:
    """Store and return a link that sets a password; `members` are those of Link."""
    link = a_link(administrator, **members)
    administrators.add_link(link)
    return link


def set_password_hash(
    administrators: AdministratorRepository, administrator: Administrator, password_hash: str
) -> Administrator:
    """Store the hash, and return the administrator with it."""
    link = store_link(administrators, administrator)
    return administrators.redeem_link(link.digest, link.purpose, NOW, password_hash)


def an_integration_draft(esp: Esp | str = "mailchimp", **members: Any) -> IntegrationDraft:
    """Return a draft of an integration; `members` are those of IntegrationDraft."""
    return IntegrationDraft(**{"esp": esp, "name": "Main list", "created_at": NOW, **members})


def an_esp_field(name: str = "CITY", **members: Any) -> EspField:
    """Return a field that an ESP reports; `members` are those of EspField."""
    return EspField(**{"name": name, "data_type": DataType.TEXT, **members})


def reporting(*reported: ReportedField, at: datetime = LATER) -> SyncPlanner:
    """Return the planner of a sync run that began at `at` and in which the ESP reported these."""

    def plan(
        integration: Integration,
        fields: tuple[RecipientField, ...],
        others: tuple[Integration, ...],
    ) -> SyncPlan:
        run = SyncRun.from_report(integration, reported, at=at)
        return run.plan(integration, fields, integrations=others)

    return plan


def naming_created(names: Mapping[IntegrationId, SetName]) -> NamesPlanner:
    """Return the planner that sets these names of the newest field at integrations."""

    def plan(
        integrations: tuple[Integration, ...], fields: tuple[RecipientField, ...]
    ) -> Iterable[Integration]:
        for each in integrations:
            if each.id in names:
                yield naming({fields[-1].id: names[each.id]})(each, fields)

    return plan


def naming(names: Mapping[FieldId, SetName | None]) -> NamePlanner:
    """Return the planner that sets these names at an integration, or removes them if None."""

    def plan(integration: Integration, _: tuple[RecipientField, ...]) -> Integration:
        changed = {**integration.names, **names}
        kept = {field_id: name for field_id, name in changed.items() if name is not None}
        return evolve(integration, names=kept)

    return plan


def records_of(
    history: HistoryRepository, organization_id: OrganizationId
) -> tuple[HistoryRecord, ...]:
    """Return all records of the organization, which has at most 1,000."""
    page = history.select(organization_id, HistoryQuery(limit=MAX_HISTORY_PAGE))
    assert page.next is None
    return page.records


def channel_of(field: RecipientField) -> Channel:
    """Return the channel that created the field."""
    return Channel(field.origin.source, field.origin.integration_id)


def changing(**members: Any) -> FieldChange:
    """Return a change of these members, by the channel that created the field."""
    return lambda field: field.with_changes(FieldChanges(**members), by=channel_of(field), at=NOW)


def renaming(name: str) -> FieldChange:
    """Return a change of the field's name."""
    return changing(name=FieldName(name))


def restoring(*, at: datetime = LATER) -> FieldChange:
    """Return the restoration of a deleted field, by the channel that created it."""
    return lambda field: field.restored(by=channel_of(field), at=at)


def unchanged(field: RecipientField) -> RecipientField:
    """Return the field without a change."""
    return field


def permit(_: RecipientField) -> None:
    """Permit the deletion of any field."""


def permit_integration(_: tuple[RecipientField, ...]) -> None:
    """Permit the deletion of any integration."""


def rotation(plain: PlainKey | None = None) -> KeySuccession:
    """Return a rotation to this key, by default to a random one, without a grace period."""
    return lambda key: key.rotated(plain or PlainKey.generate(), at=LATER, grace=timedelta())


def run_sync(
    integrations: IntegrationRepository, integration: Integration, planner: SyncPlanner
) -> SyncPlan:
    """Make a sync run of the integration with this planner."""
    owner = integration.organization_id
    return integrations.sync(owner, integration.id, planner, author=AUTHOR, at=LATER)


def delete_integration(
    integrations: IntegrationRepository,
    integration: Integration,
    check: IntegrationCheck = permit_integration,
) -> tuple[RecipientField, ...]:
    """Delete the integration with its fields, unless `check` raises."""
    owner = integration.organization_id
    return integrations.delete(owner, integration.id, check, author=AUTHOR, at=LATER)


def permit_organization(_: OrganizationContents) -> None:
    """Permit the deletion of any organization."""


def permit_change(_before: tuple[Administrator, ...], _after: tuple[Administrator, ...]) -> None:
    """Permit any change of an organization's administrators."""


def must_not_be_called(*_: object) -> Any:
    """Fail: this change, check, succession or planner must not be called."""
    raise AssertionError("called for a row that must not be found")
