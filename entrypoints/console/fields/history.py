"""The history of an organization and of a field, and the restoration of deleted fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from http import HTTPStatus
from urllib.parse import urlencode

from attrs import asdict, frozen
from falcon import Request, Response

from recipient_fields.application import Core, RecipientFieldService
from recipient_fields.application.fields.texts import is_id
from recipient_fields.application.restoration import INTEGRATION_DELETED, restore_field
from recipient_fields.domain import (
    Denied,
    FieldId,
    HistoryPage,
    HistoryQuery,
    HistoryRecord,
    KeyTaken,
    Operation,
    RecipientField,
    RecordedOperation,
    Source,
)
from recipient_fields.domain.integrations import IntegrationNotFound

from ..pages import Flash, Page
from ..requests import author, visit
from ..submitted_forms import claimed_form
from .changes import author_name, changes_of, key_names
from .fields import SOURCE_NAMES

PAGE_SIZE = 50
_ORIGINS = {source.value: name for source, name in SOURCE_NAMES.items()}
_OPERATIONS = {operation.value: operation.value.capitalize() for operation in RecordedOperation}


class HistoryList(Page):
    """`/console/o/{organization_id}/history`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the changes that match the filters, the newest first."""
        filters = _Filters.parse(req)
        found = self.core.fields.list_changes(visit(req).organization.id, filters.query(req))
        path = visit(req).path("/history")
        self.pages.send(
            req,
            resp,
            "history/list.html",
            changes=changes_of(self.core, visit(req).organization.id, found),
            restorable=self._restorable(req, found),
            filters=filters,
            origins=_ORIGINS,
            operations=_OPERATIONS,
            links=_links(req, path, found, asdict(filters)),
        )

    def _restorable(self, req: Request, found: HistoryPage) -> Collection[int]:
        """Return the sequence numbers of the newest deletions that this visitor can undo."""
        deleted: dict[FieldId, HistoryRecord] = {}
        for record in found.records:
            if record.operation is RecordedOperation.DELETED:
                deleted.setdefault(record.field_id, record)
        if not deleted or not visit(req).may_change:
            return ()
        fields = self.core.fields.list_fields(visit(req).organization.id).fields
        existing, manual = {field.id for field in fields}, self.core.fields.by(author(req))
        return {
            record.sequence
            for field_id, record in deleted.items()
            if field_id not in existing
            and _restoration_obstacle(self.core, manual, record.field) is None
        }


class FieldHistory(Page):
    """`/console/o/{organization_id}/fields/{field_id}/history`."""

    def on_get(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Show the changes of a field, which may be deleted."""
        _send_field_history(self, req, resp, field_id)


class FieldRestoration(Page):
    """`/console/o/{organization_id}/fields/{field_id}/restore`."""

    def on_post(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Restore a deleted field, or show why that is not possible."""
        path = visit(req).path(f"/fields/{field_id}")
        organization_id = visit(req).organization.id
        try:
            with claimed_form(req, self.core, f"/fields/{field_id}/history"):
                restored = restore_field(self.core, organization_id, field_id, by=author(req))
        except KeyTaken as taken:
            if taken.existing_id == field_id:
                self.pages.redirect(req, resp, path, Flash("The field is not deleted."))
                return
            _send_field_history(self, req, resp, field_id, taken=taken)
            return
        is_manual = restored.origin.source is Source.MANUAL
        flash = Flash(
            "The field ",
            restored.name,
            " was restored.",
            undo=f"{path}/delete" if is_manual else "",
            version=restored.version_tag,
        )
        self.pages.redirect(req, resp, path, flash)


@frozen(kw_only=True)
class _Filters:
    """The filters in the URL of the history. Unknown values count as not set."""

    key: str = ""
    origin: str = ""
    operation: str = ""

    @classmethod
    def parse(cls, req: Request) -> _Filters:
        """Return the filters of a request."""
        return cls(
            key=req.get_param("key", default="").strip(),
            origin=_choice(req, "origin", _ORIGINS),
            operation=_choice(req, "operation", _OPERATIONS),
        )

    @property
    def restrict(self) -> bool:
        """Whether the list can omit changes."""
        return any((self.key, self.origin, self.operation))

    def query(self, req: Request) -> HistoryQuery:
        """Return the query for one page of the list."""
        return HistoryQuery(
            keys=[self.key] if self.key else None,
            sources=[self.origin] if self.origin else None,
            operations=[self.operation] if self.operation else None,
            descending=True,
            limit=PAGE_SIZE,
            after=_position(req),
        )


def _send_field_history(
    page: Page,
    req: Request,
    resp: Response,
    field_id: FieldId,
    *,
    taken: KeyTaken | None = None,
) -> None:
    """Send the history of a field. `taken` is the reason why the field was not restored.

    Raises: FieldNotFound if there is neither a field with this id nor a record of one.
    """
    organization_id = visit(req).organization.id
    service = page.core.fields
    newest = service.list_field_changes(
        organization_id, field_id, HistoryQuery(descending=True, limit=1)
    )
    deletion = next(
        (each for each in newest.records if each.operation is RecordedOperation.DELETED), None
    )
    field = service.get_field(organization_id, field_id) if deletion is None else deletion.field
    query = HistoryQuery(descending=True, limit=PAGE_SIZE, after=_position(req))
    found = service.list_field_changes(organization_id, field_id, query)
    page.pages.send(
        req,
        resp,
        "history/field.html",
        status=HTTPStatus.OK if taken is None else HTTPStatus.CONFLICT,
        field=field,
        deletion=deletion,
        forbidden=_restoration_obstacle(page.core, page.core.fields.by(author(req)), field),
        taken=taken,
        deleted_by=deletion and author_name(deletion.author, key_names(page.core, organization_id)),
        changes=changes_of(page.core, organization_id, found),
        links=_links(req, visit(req).path(f"/fields/{field_id}/history"), found, {}),
    )


def _restoration_obstacle(
    core: Core, manual: RecipientFieldService, field: RecipientField
) -> str | None:
    """Return the reason why an administrator can't restore the field, or None."""
    integration_id = field.origin.integration_id
    if integration_id is None:
        decision = manual.decide(Operation.CREATE, field.origin)
        return decision.reason if isinstance(decision, Denied) else None
    try:
        core.integrations.get_integration(field.organization_id, integration_id)
    except IntegrationNotFound:
        return INTEGRATION_DELETED
    return None


def _links(
    req: Request, path: str, found: HistoryPage, filters: Mapping[str, str]
) -> dict[str, str | None]:
    """Return the paths of the first and the next page.

    The first is None if this page has no position, and the next is None on the last page.
    """
    set_filters = {name: value for name, value in filters.items() if value}

    def page(**position: int) -> str:
        query = urlencode({**set_filters, **position})
        return f"{path}?{query}" if query else path

    return {
        "first": None if _position(req) is None else page(),
        "next": None if found.next is None else page(before=found.next),
    }


def _position(req: Request) -> int | None:
    """Return the sequence number before which the page starts."""
    text = req.get_param("before", default="")
    return int(text) if is_id(text) else None


def _choice(req: Request, name: str, values: Collection[str]) -> str:
    value: str = req.get_param(name, default="")
    return value if value in values else ""
