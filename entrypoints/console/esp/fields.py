"""The names of fields at an integration, and the fields that its syncs have removed."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from attrs import frozen
from falcon import Request, Response

from recipient_fields.application.documents.conversion import with_suggestion
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    CatalogTooLarge,
    FieldNotFound,
    HistoryRemoved,
    IntegrationId,
    KeyTaken,
    RecipientField,
    RecipientFieldsError,
    Rule,
)
from recipient_fields.domain.esp import EspName, NameFrom
from recipient_fields.domain.integrations import (
    EspFieldTaken,
    EspNames,
    Integration,
    InvalidNames,
    SetName,
)

from .. import SHOWN_FIELDS
from ..error_pages import STATUSES
from ..fields.codes import ShownState, shown_state
from ..forms import NO_ERRORS, FormError, FormErrors, field_ids
from ..pages import Flash, Page
from ..requests import author, own_path, visit
from ..submitted_forms import claimed_form
from .integrations import SHOWN_NAMES


class IntegrationNames(Page):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/names`."""

    def on_get(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """List what the fields are called at the integration, and show the form for a name."""
        self._send(req, resp, integration_id, _Entered.proposed(req))

    def on_continue(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Show the form with the inputs of an ended session."""
        self._send(req, resp, integration_id, _Entered.of(req))

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Set or remove the name of a field."""
        entered = _Entered.of(req)
        try:
            integration = self.core.integrations.by(author(req)).set_names(
                visit(req).organization.id, integration_id, entered.changes
            )
        except InvalidNames as invalid:
            self._send(req, resp, integration_id, entered, _errors(invalid))
            return
        act = f" was set to {entered.name}." if entered.sets else " is no longer set."
        flash = Flash(f"The name of {entered.key} at ", integration.name, act)
        self.pages.redirect(req, resp, own_path(req), flash)

    def _send(
        self,
        req: Request,
        resp: Response,
        integration_id: IntegrationId,
        entered: _Entered,
        errors: FormErrors = NO_ERRORS,
    ) -> None:
        integration = self.get_integration(req, integration_id)
        profile = self.core.profiles[integration.esp]
        codes = self.core.content.read_codes(integration.organization_id)
        rows = _rows(codes.names, integration)
        self.pages.send(
            req,
            resp,
            "integrations/names.html",
            status=errors.status,
            integration=integration,
            esp=profile.title,
            has_standard_names=bool(profile.names.standard_forms),
            rows=[(each, codes.get(each.field, integration.id)) for each in rows[:SHOWN_NAMES]],
            others=max(len(rows) - SHOWN_NAMES, 0),
            entered=entered,
            errors=errors,
        )


@frozen(kw_only=True)
class _Entered:
    """What was entered: the key of a field, and its name at the integration."""

    key: str
    name: str = ""
    custom: bool = False
    sets: bool = True
    """Whether the form sets the name, and does not remove it."""

    @classmethod
    def of(cls, req: Request) -> _Entered:
        """Return what the form of the request contains."""
        form = visit(req).form
        return cls(
            key=form.text("key").strip(),
            name=form.text("name").strip(),
            custom=form.text("custom") != "",
            sets=form.text("action") != "remove",
        )

    @classmethod
    def proposed(cls, req: Request) -> _Entered:
        """Return what the link to the form proposes."""
        return cls(key=req.get_param("key") or "", name=req.get_param("name") or "")

    @property
    def changes(self) -> Mapping[str, SetName | None]:
        """The change that the form describes."""
        return {self.key: SetName(self.name, self.custom) if self.sets else None}


@frozen
class _Row:
    """What one field is called at the integration."""

    field: RecipientField
    name: EspName | None

    @property
    def is_set(self) -> bool:
        """Whether the name was set."""
        return self.name is not None and self.name.name_from is NameFrom.INTEGRATION

    @property
    def state(self) -> ShownState:
        """The state of the name, as pages show it."""
        return shown_state(self.name)


_ORDER = (
    *(ShownState.MISSING, ShownState.NONE, ShownState.AMBIGUOUS),
    *(ShownState.ASSUMED, ShownState.FOUND),
)
"""The states that need a decision come first."""


def _rows(names: EspNames, integration: Integration) -> list[_Row]:
    """Return a row for each field for which people set names."""
    fields = names.fields_to_name(integration.id)
    rows = [_Row(field, names.find(field, integration.id)) for field in fields]
    return sorted(rows, key=lambda row: (_ORDER.index(row.state), row.field.key))


_RULES_OF_KEYS = {Rule.UNKNOWN_VALUE, Rule.NOT_APPLICABLE}
"""The rules that the key of a field can break. All others are about its name."""


def _errors(invalid: InvalidNames) -> FormErrors:
    """Return the violations at the inputs that are wrong."""
    errors = []
    for violation in invalid.violations:
        is_about_key = violation.rule in _RULES_OF_KEYS
        anchor, label = ("key", "Key of the field") if is_about_key else ("name", "Name")
        errors.append(FormError(anchor, label, with_suggestion(violation).message))
    return FormErrors(tuple(errors))


class RemovedFields(Page):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/removed`."""

    def on_get(
        self,
        req: Request,
        resp: Response,
        integration_id: IntegrationId,
        error: RecipientFieldsError | None = None,
    ) -> None:
        """List the removed fields by the sync that removed them, the newest first."""
        integration = self.get_integration(req, integration_id)
        self.pages.send(
            req,
            resp,
            "integrations/removed.html",
            status=HTTPStatus.OK if error is None else STATUSES[type(error)],
            integration=integration,
            esp=self.core.profiles.title(integration.esp),
            removals=self.core.integrations.list_removals(
                integration.organization_id, integration_id
            ),
            shown=SHOWN_FIELDS,
            error=error,
        )

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Restore all fields that the form names, or show why that is not possible."""
        path = own_path(req).removesuffix("/removed")
        integrations = self.core.integrations.by(author(req))
        organization_id = visit(req).organization.id
        ids = field_ids(visit(req).form, "fields")
        try:
            with claimed_form(req, self.core, f"/settings/integrations/{integration_id}/removed"):
                integration = integrations.get_integration(organization_id, integration_id)
                restored = integrations.restore_fields(organization_id, integration_id, ids)
        except (
            CatalogTooLarge,
            EspFieldTaken,
            FieldNotFound,
            HistoryRemoved,
            KeyTaken,
        ) as error:
            self.on_get(req, resp, integration_id, error)
            return
        verb = "was" if len(restored) == 1 else "were"
        before = f"{counted(len(restored), 'field')} of "
        flash = Flash(before, integration.name, f" {verb} restored.", path)
        self.pages.redirect(req, resp, path, flash)
