"""An application and an adapter that use the package, for type checkers and to be run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path

from attrs import evolve, frozen

from recipient_fields import (
    ADMINISTRATOR,
    Access,
    Author,
    Credential,
    DataType,
    FieldDraft,
    FieldNotFound,
    FieldQuery,
    InvalidField,
    MemoryStorage,
    OrganizationId,
    RecipientField,
    RecipientFieldsError,
    Rejection,
    RejectionReason,
    SqliteStorage,
    VersionConflict,
    render_field,
)
from recipient_fields.application import (
    AdministrationService,
    AdministratorRepository,
    ApiKeyRepository,
    CatalogPlanner,
    CompleteStorage,
    EspConnectionRepository,
    EspFieldSource,
    FieldRepository,
    HistoryRepository,
    IntegrationRepository,
    IntegrationService,
    IssuedKey,
    KeyValidator,
    MissingExtra,
    OrganizationRepository,
    PublishedCatalog,
    RecipientFields,
    RecipientFieldService,
    SessionRepository,
    StoredKeyValidator,
    system_clock,
)
from recipient_fields.domain import (
    ANY_VERSION,
    API,
    Allowed,
    AllowedValues,
    Catalog,
    CatalogChanges,
    Channel,
    Decision,
    Denied,
    FieldKey,
    FieldPage,
    FieldReference,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    KeyValidationUnavailable,
    Operation,
    Origin,
    Precondition,
    RecordedOperation,
    Rule,
    SortKey,
    Source,
    Violation,
    decide,
)
from recipient_fields.domain.content import Content, parse_content, preview_content
from recipient_fields.domain.esp import Esp, export_content
from recipient_fields.domain.integrations import (
    EspField,
    FieldCodes,
    Integration,
    ReportedField,
    SyncPlan,
)


class WatchedFields:
    """A FieldRepository that counts the calls of another one."""

    def __init__(self, fields: FieldRepository) -> None:
        self._fields = fields
        self.writes: int = 0

    def all(self, organization_id: OrganizationId, /) -> Catalog:
        return self._fields.all(organization_id)

    def publish(self, organization_id: OrganizationId, /) -> PublishedCatalog:
        return self._fields.publish(organization_id)

    def select(self, organization_id: OrganizationId, query: FieldQuery, /) -> FieldPage:
        return self._fields.select(organization_id, query)

    def get(self, organization_id: OrganizationId, reference: FieldReference, /) -> RecipientField:
        return self._fields.get(organization_id, reference)

    def change(
        self,
        organization_id: OrganizationId,
        plan: CatalogPlanner,
        /,
        *,
        author: Author,
        at: datetime,
    ) -> CatalogChanges[RecipientField]:
        self.writes += 1
        return self._fields.change(organization_id, plan, author=author, at=at)


class WatchedStorage:
    """A Storage that wraps another one."""

    def __init__(self, storage: CompleteStorage) -> None:
        self._storage = storage
        self.fields: WatchedFields = WatchedFields(storage.fields)

    @property
    def history(self) -> HistoryRepository:
        return self._storage.history

    @property
    def api_keys(self) -> ApiKeyRepository:
        return self._storage.api_keys

    @property
    def esp_connections(self) -> EspConnectionRepository:
        return self._storage.esp_connections

    @property
    def integrations(self) -> IntegrationRepository:
        return self._storage.integrations

    @property
    def organizations(self) -> OrganizationRepository:
        return self._storage.organizations

    @property
    def administrators(self) -> AdministratorRepository:
        return self._storage.administrators

    @property
    def sessions(self) -> SessionRepository:
        return self._storage.sessions

    def check(self) -> None:
        self._storage.check()

    def close(self) -> None:
        self._storage.close()


@frozen
class StaffKeys:
    """A KeyValidator for keys in a table of the application."""

    organizations: Mapping[str, OrganizationId]
    reachable: bool = True

    def validate(self, presented: str, /) -> Credential | Rejection:
        if not self.reachable:
            raise KeyValidationUnavailable
        organization_id = self.organizations.get(presented)
        if organization_id is None:
            return Rejection(RejectionReason.UNKNOWN)
        return Credential(organization_id, f"staff:{organization_id}", Access.READ_ONLY)


@frozen
class Warehouse:
    """An EspFieldSource that reads a data warehouse."""

    names: tuple[str, ...]

    def fields(self) -> Iterator[ReportedField]:
        for name in self.names:
            yield EspField(name=name, label=name.title(), data_type=DataType.TEXT)


def storages(folder: Path) -> Iterator[CompleteStorage]:
    yield MemoryStorage()
    yield SqliteStorage(folder / "fields.db")
    yield WatchedStorage(MemoryStorage())


def production(url: str) -> CompleteStorage:
    """Open a PostgreSQL storage, if its extra is installed."""
    try:
        from recipient_fields.adapters.postgres import PostgresStorage, migrate
    except MissingExtra as missing:
        raise SystemExit(f"{missing} ({missing.name})") from missing
    migrate(url)
    return PostgresStorage(url, pool_size=8)


def manage_fields(organization_id: OrganizationId, service: RecipientFieldService) -> None:
    """Create, find and delete fields, and read their history."""
    draft = FieldDraft(
        name="Loyalty tier",
        data_type=DataType.TEXT,
        allowed_values=AllowedValues(DataType.TEXT, ["gold", "silver"]),
    )
    tier: RecipientField = service.create_field(organization_id, draft)
    key: FieldKey = tier.key
    values: tuple[object, ...] = tier.allowed_values.values if tier.allowed_values else ()
    assert (key, values) == ("loyalty_tier", ("gold", "silver"))

    made: bool
    _, made = service.replace_or_create_field(
        organization_id,
        FieldDraft(name="Level", key=key, data_type="text"),
        Precondition(match=ANY_VERSION),
    )
    assert not made
    query = FieldQuery(sources=frozenset({Source.API}), sort=SortKey.NAME, limit=1)
    page: FieldPage = service.find_fields(organization_id, query)
    documents: list[dict[str, object]] = [render_field(field) for field in page.fields]
    assert [document["name"] for document in documents] == ["Level"]
    service.delete_field(organization_id, tier.id)
    history: HistoryPage = service.list_changes(organization_id, HistoryQuery(descending=True))
    records: tuple[HistoryRecord, ...] = history.records
    assert records[0].operation is RecordedOperation.DELETED


def errors(organization_id: OrganizationId, service: RecipientFields) -> None:
    """Read the attributes of errors."""
    try:
        FieldDraft(name=" ", data_type=DataType.DATE)
    except InvalidField as error:
        violations: tuple[Violation, ...] = error.violations
        assert violations[0].rule is Rule.BLANK
    try:
        service.get_field(organization_id, FieldKey("missing"))
    except (FieldNotFound, VersionConflict) as error:
        known: RecipientFieldsError = error
        assert str(known)


def explain(channel: Channel, origin: Origin) -> str:
    decision: Decision = decide(channel, Operation.DELETE, origin)
    match decision:
        case Allowed():
            return "allowed"
        case Denied(reason):
            return reason


def sync(organization_id: OrganizationId, storage: CompleteStorage) -> None:
    integrations = IntegrationService(
        integrations=storage.integrations, fields=storage.fields, history=storage.history
    )
    integration: Integration = integrations.create_integration(
        organization_id, esp=Esp("mailchimp"), name="Main list"
    )
    source: EspFieldSource = Warehouse(("FNAME", "LNAME"))
    plan: SyncPlan = integrations.sync_fields(organization_id, integration.id, source.fields())
    assert [definition.key for definition in plan.created] == ["fname", "lname"]
    fields = storage.fields.all(organization_id).fields
    content: Content = parse_content("Hello {{recipient.fname}}")
    codes = FieldCodes.of(fields, [integration])
    exported = export_content(content, codes, integration.id)
    assert exported.content == "Hello *|FNAME|*"
    assert preview_content(content, fields, {"fname": "Ada"}).content == "Hello Ada"


def authenticate(organization_id: OrganizationId, storage: CompleteStorage) -> None:
    administration = AdministrationService(
        organizations=storage.organizations, api_keys=storage.api_keys, clock=system_clock
    )
    issued: IssuedKey = administration.issue_key(organization_id, name="Backend")
    validators: dict[str, KeyValidator] = {
        issued.plain.reveal(): StoredKeyValidator(storage.api_keys),
        "staff-badge": StaffKeys({"staff-badge": organization_id}),
    }
    for presented, validator in validators.items():
        credential = validator.validate(presented)
        assert isinstance(credential, Credential)
        assert credential.organization_id == organization_id
        assert evolve(credential, catalog_revision=None) == credential


def main(folder: Path) -> None:
    for storage in storages(folder):
        with closing(storage):
            acme = storage.organizations.add("Acme", system_clock())
            service = RecipientFieldService(fields=storage.fields, history=storage.history)
            manage_fields(acme.id, service)
            errors(acme.id, service)
            assert explain(ADMINISTRATOR, API.origin()) != "allowed"
            sync(acme.id, storage)
            authenticate(acme.id, storage)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
