"""The page that connects an integration to its account at the ESP."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from http import HTTPStatus

from attrs import Factory, field, frozen
from falcon import Request, Response

from recipient_fields.application import (
    AccountParameter,
    TestedAccount,
    UnusableCredentials,
)
from recipient_fields.domain import IntegrationId, OrganizationId
from recipient_fields.domain.integrations import (
    AccountNotConfirmed,
    CredentialUnreadable,
    EspUnavailable,
    Integration,
    Interval,
    InvalidConnection,
    NotConnected,
)

from ..forms import NO_ERRORS, FormErrors
from ..pages import ChangingPage, Flash
from ..requests import author, visit
from ..submitted_forms import claimed_form
from .integrations import NO_SOURCE

_LIST = "/settings/integrations"
_PER_MINUTE = 10
"""Tests of one organization. Each sends its credentials to an ESP, and occupies a thread."""
_FAILURES = (*NO_SOURCE, EspUnavailable, NotConnected)


@frozen
class Attempts:
    """The times of the tests in the last minute, by organization, in this process."""

    _times: dict[OrganizationId, list[datetime]] = field(factory=lambda: defaultdict(list))

    def are_exhausted(self, organization_id: OrganizationId, at: datetime) -> bool:
        """Count an attempt. Return whether the organization has made too many."""
        recent = [each for each in self._times[organization_id] if at - each < timedelta(minutes=1)]
        self._times[organization_id] = [*recent, at][-_PER_MINUTE - 1 :]
        return len(recent) >= _PER_MINUTE


@frozen(kw_only=True)
class _Shown:
    """What the page shows besides the form: an error, or the account that was tested."""

    status: HTTPStatus = HTTPStatus.OK
    failure: str = ""
    errors: FormErrors = NO_ERRORS
    tested: TestedAccount | None = None
    sealed: str = ""
    """The encrypted values of the form, so that the secrets need not be entered again."""
    differs: str = ""
    """Why a person must confirm the account."""


@frozen
class IntegrationConnection(ChangingPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/connect`."""

    attempts: Attempts = Factory(Attempts)

    def on_get(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Show the form."""
        self._show(req, resp, self.get_integration(req, integration_id), _Shown())

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Test the values, store them, set the schedule, or disconnect."""
        integration, form = self.get_integration(req, integration_id), visit(req).form
        connections = self.core.connections.by(author(req))
        path = f"{_LIST}/{integration_id}"
        ids = integration.organization_id, integration_id
        action = form.text("action")
        try:
            if action == "disconnect":
                with claimed_form(req, self.core, path):
                    connections.disconnect(*ids)
                self._leave(req, resp, integration, " was disconnected. Its fields stay.")
                return
            if action == "schedule":
                with claimed_form(req, self.core, path):
                    connections.schedule(*ids, Interval(form.text("interval")))
                self._leave(req, resp, integration, " has another schedule.")
                return
            if self.attempts.are_exhausted(integration.organization_id, self.core.clock()):
                failure = "Your organization has tested too many credentials. Wait a minute."
                shown = _Shown(status=HTTPStatus.TOO_MANY_REQUESTS, failure=failure)
                resp.set_header("Retry-After", "60")
                self._show(req, resp, integration, shown)
                return
            values, sealed = self._values(req, integration), form.text("sealed")
            if action == "test":
                tested = connections.test(*ids, values, sealed=sealed)
                shown = _Shown(tested=tested, sealed=tested.sealed, differs=tested.differs)
                self._show(req, resp, integration, shown)
                return
            is_confirmed = form.text("confirmed") == "yes"
            with claimed_form(req, self.core, path):
                connections.connect(*ids, values, sealed=sealed, confirmed=is_confirmed)
        except AccountNotConfirmed as error:
            shown = _Shown(status=HTTPStatus.CONFLICT, sealed=error.sealed, differs=str(error))
            self._show(req, resp, integration, shown)
        except InvalidConnection as invalid:
            labels = {each.name: each.label for each in self._parameters(integration)}
            errors = FormErrors.of(invalid, labels)
            self._show(req, resp, integration, _Shown(status=errors.status, errors=errors))
        except _FAILURES as error:
            is_temporary = isinstance(error, EspUnavailable)
            status = (
                HTTPStatus.SERVICE_UNAVAILABLE if is_temporary else HTTPStatus.UNPROCESSABLE_ENTITY
            )
            self._show(req, resp, integration, _Shown(status=status, failure=str(error)))
        else:
            self._leave(req, resp, integration, " is connected. Sync it to read its fields.")

    def _parameters(self, integration: Integration) -> tuple[AccountParameter, ...]:
        return self.core.connections.accounts.parameters(integration.esp)

    def _values(self, req: Request, integration: Integration) -> dict[str, str]:
        form = visit(req).form
        return {each.name: form.text(each.name) for each in self._parameters(integration)}

    def _leave(self, req: Request, resp: Response, integration: Integration, done: str) -> None:
        flash = Flash("The integration ", integration.name, done)
        self.pages.redirect(req, resp, visit(req).path(f"{_LIST}/{integration.id}"), flash)

    def _show(self, req: Request, resp: Response, integration: Integration, shown: _Shown) -> None:
        """Send the form. No response contains a secret."""
        connections, ids = self.core.connections, (integration.organization_id, integration.id)
        parameters = self._parameters(integration)
        try:
            credential = connections.get_credential(*ids) if connections.has_key else None
        except (CredentialUnreadable, UnusableCredentials):
            credential = None
        stored = {} if credential is None else credential.values
        entered = self._values(req, integration) if req.method == "POST" else stored
        self.pages.send(
            req,
            resp,
            "integrations/connect.html",
            status=shown.status,
            integration=integration,
            esp=self.core.profiles.title(integration.esp),
            advice=connections.accounts.advice(integration.esp) if parameters else "",
            parameters=parameters,
            values={
                each.name: "" if each.secret else entered.get(each.name, "") for each in parameters
            },
            credential=credential,
            has_key=connections.has_key,
            shown=shown,
        )
