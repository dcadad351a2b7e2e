"""The list of fields, the page of a field, and its deletion."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from urllib.parse import urlencode

from attrs import asdict, evolve, frozen
from falcon import Request, Response

from recipient_fields.application import Core
from recipient_fields.application.fields.texts import is_id
from recipient_fields.domain import (
    ADMINISTRATOR,
    Access,
    Catalog,
    DataType,
    Denied,
    Field,
    FieldId,
    FieldPage,
    FieldQuery,
    HistoryPage,
    HistoryQuery,
    IntegrationId,
    InvalidQuery,
    KeyState,
    Operation,
    OrganizationId,
    Position,
    Precondition,
    RecipientField,
    SortKey,
    Source,
    VersionConflict,
    format_instant,
    parse_instant,
)
from recipient_fields.domain.esp import CodeWarning
from recipient_fields.domain.integrations import EspNames, Integration

from ..pages import ChangingPage, Flash, Page
from ..requests import Visit, author, visit
from ..submitted_forms import claimed_form
from .changes import changes_of
from .codes import OTHERWISE, THEN, code_rows, condition_examples

PAGE_SIZE = 50
_SHOWN_VALUES = 4
"""Allowed values in a row of the list."""
_SHOWN_MEMBERS = 20
"""Allowed values on the page of a field, before the reader opens the rest."""
_RECENT_CHANGES = HistoryQuery(descending=True, limit=5)
"""The changes on the page of a field."""

SOURCE_NAMES = {
    Source.API: "API",
    Source.MANUAL: "Manual",
    Source.INTEGRATION: "Integration",
}
_SORTS = {
    "name": "Name, A to Z",
    "-name": "Name, Z to A",
    "-updated_at": "Last updated",
    "-created_at": "Newest",
    "created_at": "Oldest",
    "key": "Key",
}
_DEFAULT_SORT = "name"
_PASSED_CHECKS = {
    CodeWarning.EXPRESSION_MISSING: "The insertion code contains the value expression.",
    CodeWarning.UNBALANCED_DELIMITERS: "Every opening delimiter has a closing delimiter.",
}


class FieldList(Page):
    """`/console/o/{organization_id}/fields`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the fields that match the filters."""
        organization_id, content = visit(req).organization.id, self.core.content
        integrations = {
            integration.id: integration
            for integration in self.core.integrations.list_integrations(organization_id)
        }
        filters = _Filters.parse(req, integrations)
        folded: _Folded | None = None
        if integrations and not filters.counterparts:
            names = content.read_codes(organization_id).names
            folded = _Folded.of(names, filters.query(req))
            found = folded.select(organization_id, filters.query(req))
        else:
            found = self.core.fields.find_fields(organization_id, filters.query(req))
        self.pages.send(
            req,
            resp,
            "fields/list.html",
            is_empty=found.total == 0 and not filters.restrict,
            found=found,
            rows=[_Row.of(field, integrations, folded, self.core) for field in found.fields],
            folded_count=0 if folded is None else folded.count,
            unfolded_path=filters.path(visit(req), counterparts="shown"),
            folded_path=filters.path(visit(req), counterparts=""),
            filters=filters,
            selects=filters.selects(integrations.values()),
            columns=filters.columns(visit(req)),
            no_match=filters.describe_no_match(integrations),
            first_path=filters.path(visit(req)) if "after_id" in req.params else None,
            next_path=_next_path(visit(req), filters, found),
        )


class FieldView(Page):
    """`/console/o/{organization_id}/fields/{field_id}`."""

    def on_get(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Show a field: its members, its checks, and how each ESP writes it."""
        organization_id = visit(req).organization.id
        codes = self.core.content.read_codes(organization_id)
        names, field = codes.names, codes.names.get_field(field_id)
        integration = None
        if field.origin.integration_id is not None:
            integration = names.integrations[field.origin.integration_id]
        decision = self.core.fields.by(author(req)).decide(Operation.UPDATE, field.origin)
        warnings = self.core.content.find_warnings(field)
        recent = HistoryPage((), None)
        if self.core.has_history:
            recent = self.core.fields.list_field_changes(organization_id, field_id, _RECENT_CHANGES)
        connected, others = code_rows(codes, field)
        self.pages.send(
            req,
            resp,
            "fields/show.html",
            field=field,
            integration=integration,
            esp=None if integration is None else names.profiles.title(integration.esp),
            read_only=decision.reason if isinstance(decision, Denied) else None,
            warnings=warnings,
            checks=_checks(field, warnings),
            definition=names.definition_of(field),
            counterparts=[
                (names.integrations[integration_id], counterpart)
                for integration_id, counterpart in names.counterparts(field).items()
            ],
            changing_keys=self._changing_keys(field),
            connected=connected,
            others=others,
            examples=condition_examples(field, codes, connected or others),
            then=THEN,
            otherwise=OTHERWISE,
            any_value=_any_value(field.data_type),
            shown_values=_SHOWN_MEMBERS,
            changes=changes_of(self.core, organization_id, recent),
            has_earlier_changes=recent.next is not None,
            has_history=self.core.has_history,
        )

    def _changing_keys(self, field: RecipientField) -> list[str]:
        """Return the names of the API keys with which programs can change the field."""
        if field.origin.source is not Source.API:
            return []
        return [
            key.name
            for key in self.core.administration.list_keys(field.organization_id)
            if key.access is Access.READ_WRITE and key.state(self.core.clock()) is KeyState.ACTIVE
        ]


class FieldDeletion(ChangingPage):
    """`/console/o/{organization_id}/fields/{field_id}/delete`."""

    def on_get(
        self, req: Request, resp: Response, field_id: FieldId, *, has_changed: bool = False
    ) -> None:
        """Show a confirmation that names the field."""
        field = self.core.fields.get_field(visit(req).organization.id, field_id)
        field.require_deletable(by=ADMINISTRATOR)
        self.pages.send(
            req,
            resp,
            "fields/delete.html",
            status=HTTPStatus.CONFLICT if has_changed else HTTPStatus.OK,
            field=field,
            has_changed=has_changed,
            has_history=self.core.has_history,
        )

    def on_post(self, req: Request, resp: Response, field_id: FieldId) -> None:
        """Delete the field in the version that the confirmation showed."""
        organization_id, path = visit(req).organization.id, visit(req).path("/fields")
        manual = self.core.fields.by(author(req))
        shown = Precondition(match=frozenset({visit(req).form.text("version")}))
        try:
            with claimed_form(req, self.core, "/fields"):
                field = manual.get_field(organization_id, field_id)
                manual.delete_field(organization_id, field_id, shown)
        except VersionConflict:
            self.on_get(req, resp, field_id, has_changed=True)
            return
        undo = visit(req).path(f"/fields/{field_id}/restore") if self.core.has_history else ""
        flash = Flash("The field ", field.name, " was deleted.", undo=undo)
        self.pages.redirect(req, resp, path, flash)


@frozen(kw_only=True)
class _Filters:
    """The filters and the order in the URL of the list. Unknown values count as not set."""

    q: str = ""
    origin: str = ""
    type: str = ""
    integration: str = ""
    sort: str = _DEFAULT_SORT
    counterparts: str = ""
    """`shown` if counterparts have rows of their own."""

    @classmethod
    def parse(cls, req: Request, integrations: Mapping[IntegrationId, Integration]) -> _Filters:
        """Return the filters of a request."""

        def choice(name: str, values: Iterable[str], default: str = "") -> str:
            value: str = req.get_param(name, default="")
            return value if value in values else default

        return cls(
            q=(req.get_param("q") or "").strip(),
            origin=choice("origin", [source.value for source in Source]),
            type=choice("type", [data_type.value for data_type in DataType]),
            integration=choice("integration", [str(each) for each in integrations]),
            sort=choice("sort", _SORTS, _DEFAULT_SORT),
            counterparts=choice("counterparts", ["shown"]),
        )

    @property
    def restrict(self) -> bool:
        """Whether the list can omit fields."""
        return any((self.q, self.origin, self.type, self.integration))

    def query(self, req: Request) -> FieldQuery:
        """Return the query for one page of the list."""
        integration_ids = {IntegrationId(int(self.integration))} if self.integration else None
        query = FieldQuery(
            sources={self.origin} if self.origin else None,
            data_types={self.type} if self.type else None,
            integration_ids=integration_ids,
            text=self.q or None,
            sort=self.sort.removeprefix("-"),
            descending=self.sort.startswith("-"),
            limit=PAGE_SIZE,
        )
        return evolve(query, after=_position(req, query.sort))

    def path(self, visit: Visit, **changes: str) -> str:
        """Return the path of the list with these filters, of which some are changed."""
        shown = asdict(self) | changes
        defaults = asdict(_Filters())
        given = {name: value for name, value in shown.items() if value != defaults.get(name)}
        query = f"?{urlencode(given)}" if given else ""
        return visit.path(f"/fields{query}")

    def selects(self, integrations: Iterable[Integration]) -> list[_Select]:
        """Return the lists to choose from."""
        origins = {source.value: name for source, name in SOURCE_NAMES.items()}
        types = {data_type.value: data_type.value for data_type in DataType}
        names = {str(each.id): each.name for each in integrations}
        return [
            _Select("origin", "Origin", {"": "All origins", **origins}, self.origin),
            _Select("type", "Type", {"": "All types", **types}, self.type),
            _Select(
                "integration",
                "Integration",
                {"": "All integrations", **names},
                self.integration,
            ),
            _Select("sort", "Sort by", _SORTS, self.sort),
        ]

    def columns(self, visit: Visit) -> list[_Column]:
        """Return the heads of the columns. The sortable ones are links."""
        return [
            self._sortable(visit, "Name", "name", "-name"),
            _Column("Type"),
            _Column("Allowed values"),
            _Column("Origin"),
            self._sortable(visit, "Updated", "-updated_at"),
        ]

    def _sortable(self, visit: Visit, label: str, *sorts: str) -> _Column:
        """Return a column. A click chooses the first order, and then the next one."""
        position = sorts.index(self.sort) + 1 if self.sort in sorts else 0
        path = self.path(visit, sort=sorts[position % len(sorts)])
        if position == 0:
            return _Column(label, path)
        return _Column(label, path, "descending" if self.sort.startswith("-") else "ascending")

    def describe_no_match(self, integrations: Mapping[IntegrationId, Integration]) -> str:
        """Return a sentence that names the filters."""
        filters = [
            f"origin {SOURCE_NAMES[Source(self.origin)]}" if self.origin else "",
            f"type {self.type}" if self.type else "",
            f"integration {integrations[IntegrationId(int(self.integration))].name}"
            if self.integration
            else "",
        ]
        named = " and ".join(filter(None, filters))
        text = f" “{self.q}”" if self.q else " these filters"
        return f"No field matches{text}" + (f" with {named}" if named and self.q else "")


def _position(req: Request, sort: SortKey) -> Position | None:
    """Return the position after which the page starts. One that no page links to is ignored."""
    value, field_id = req.get_param("after"), req.get_param("after_id") or ""
    if value is None or not is_id(field_id):
        return None
    with suppress(ValueError, OverflowError, InvalidQuery):
        parsed = parse_instant(value) if sort.value_type is datetime else value
        return Position(parsed, FieldId(int(field_id)))
    return None


def _next_path(visit: Visit, filters: _Filters, found: FieldPage) -> str | None:
    if found.next is None:
        return None
    value = found.next.value
    after = format_instant(value) if isinstance(value, datetime) else str(value)
    return filters.path(visit, after=after, after_id=str(found.next.id))


@frozen
class _Folded:
    """The fields of a list in which counterparts are shown below their definitions.

    A counterpart has a row of its own if the list does not contain its definition.
    """

    names: EspNames
    shown: tuple[RecipientField, ...]
    count: int
    """The number of counterparts that have no row of their own."""

    @classmethod
    def of(cls, names: EspNames, query: FieldQuery) -> _Folded:
        """Return the folded list of the fields that match the query."""

        def has_row(field: RecipientField) -> bool:
            definition = names.definition_of(field)
            return definition is None or not query.matches(definition)

        matching = tuple(filter(query.matches, names.fields))
        shown = tuple(filter(has_row, matching))
        return cls(names, shown, len(matching) - len(shown))

    def select(self, organization_id: OrganizationId, query: FieldQuery) -> FieldPage:
        """Return the page of the fields with rows."""
        return query.select(Catalog(organization_id, 0, self.shown))

    def counterparts_of(self, field: RecipientField) -> tuple[_Counterpart, ...]:
        """Return the counterparts of the field, by integration."""
        integrations, profiles = self.names.integrations, self.names.profiles
        return tuple(
            _Counterpart(integrations[each], counterpart, profiles.title(integrations[each].esp))
            for each, counterpart in self.names.counterparts(field).items()
            if self.names.definition_of(counterpart) is field
        )


@frozen
class _Counterpart:
    """A counterpart, and its integration."""

    integration: Integration
    field: Field
    title: str
    """The name of the ESP."""


@frozen(kw_only=True)
class _Row:
    """One field in the list."""

    field: RecipientField
    counterparts: tuple[_Counterpart, ...]
    origin: str
    integration: Integration | None
    esp: str | None
    warnings: int
    allowed: str
    """The first allowed values, or a description if any value is allowed."""
    more: int
    """The number of further allowed values."""

    @classmethod
    def of(
        cls,
        field: RecipientField,
        integrations: Mapping[IntegrationId, Integration],
        folded: _Folded | None,
        core: Core,
    ) -> _Row:
        """Return the row of the field."""
        integration_id = field.origin.integration_id
        integration = None if integration_id is None else integrations.get(integration_id)
        values = () if field.allowed_values is None else field.allowed_values.values
        return cls(
            field=field,
            counterparts=() if folded is None else folded.counterparts_of(field),
            origin=SOURCE_NAMES[field.origin.source],
            integration=integration,
            esp=None if integration is None else core.profiles.title(integration.esp),
            warnings=len(core.content.find_warnings(field)),
            allowed=", ".join(map(str, values[:_SHOWN_VALUES])) or _any_value(field.data_type),
            more=max(len(values) - _SHOWN_VALUES, 0),
        )


@frozen
class _Select:
    """A list of the filters to choose from."""

    name: str
    label: str
    options: Mapping[str, str]
    chosen: str


@frozen
class _Column:
    """The head of a column."""

    label: str
    path: str | None = None
    """The list in the order that a click chooses. None: the column can't be sorted."""
    direction: str | None = None
    """The `aria-sort` of the current order."""


def _any_value(data_type: DataType) -> str:
    return "True or false" if data_type is DataType.BOOLEAN else "Any value"


def _checks(field: RecipientField, warnings: Collection[CodeWarning]) -> list[tuple[bool, str]]:
    """Return a sentence for each check of the field's own codes, and whether it passed."""
    if field.origin.source is Source.INTEGRATION or field.custom_insertion_code is None:
        return []
    return [
        (warning not in warnings, warning.value if warning in warnings else passed)
        for warning, passed in _PASSED_CHECKS.items()
        if field.custom_value_expression is not None
        or warning is not CodeWarning.EXPRESSION_MISSING
    ]
