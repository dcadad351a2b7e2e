"""The fields that syncs have removed from an integration, and their restoration."""

from __future__ import annotations

from http import HTTPStatus

import falcon
from attrs import frozen

from recipient_fields.application import Core
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    CatalogTooLarge,
    FieldNotFound,
    HistoryRemoved,
    IntegrationId,
    KeyTaken,
    RecipientFieldsError,
)
from recipient_fields.domain.esp import PROFILES, EspFieldTaken

from .. import SHOWN_FIELDS
from ..error_pages import STATUSES
from ..form_claims import claimed_form
from ..forms import field_ids
from ..page import Page, author, own_path, visit
from ..rendering import Flash, Pages


@frozen
class RemovedFields(Page):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/removed`."""

    core: Core
    pages: Pages

    def on_get(
        self, req: falcon.Request, resp: falcon.Response, integration_id: IntegrationId
    ) -> None:
        """List the removed fields by the sync that removed them, the newest first."""
        self._send(req, resp, integration_id)

    def on_post(
        self, req: falcon.Request, resp: falcon.Response, integration_id: IntegrationId
    ) -> None:
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
            self._send(req, resp, integration_id, error)
            return
        verb = "was" if len(restored) == 1 else "were"
        before = f"{counted(len(restored), 'field')} of "
        flash = Flash(before, integration.name, f" {verb} restored.", path)
        self.pages.redirect(req, resp, path, flash)

    def _send(
        self,
        req: falcon.Request,
        resp: falcon.Response,
        integration_id: IntegrationId,
        error: RecipientFieldsError | None = None,
    ) -> None:
        organization_id = visit(req).organization.id
        integration = self.core.integrations.get_integration(organization_id, integration_id)
        self.pages.send(
            req,
            resp,
            "integrations/removed.html",
            status=HTTPStatus.OK if error is None else STATUSES[type(error)],
            integration=integration,
            esp=PROFILES[integration.esp].title,
            removals=self.core.integrations.list_removals(organization_id, integration_id),
            shown=SHOWN_FIELDS,
            error=error,
        )
