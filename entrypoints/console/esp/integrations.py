"""Integrations: the list, and the forms that create, rename, delete and sync an integration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import partial
from http import HTTPStatus
from threading import Lock
from typing import TypeAlias

from attrs import field, frozen
from falcon import Request, Response

from recipient_fields.application import (
    Core,
    Credential,
    EspFieldSource,
    InvalidDocument,
    MissingCredentials,
    MissingExtra,
    NotJson,
    TooManyValues,
    UnusableCredentials,
)
from recipient_fields.application.documents.strict_json import parse_json
from recipient_fields.application.environment import CredentialsNotPermitted
from recipient_fields.application.esp.documents import parse_report
from recipient_fields.application.wording import counted
from recipient_fields.domain import (
    IntegrationId,
    InvalidInput,
    OrganizationId,
    RecipientField,
    Rule,
    Violation,
)
from recipient_fields.domain.esp import Esp, MissingProfile
from recipient_fields.domain.integrations import (
    CredentialUnreadable,
    EmptyReport,
    EspConnection,
    EspRefused,
    EspUnavailable,
    Integration,
    IntegrationChanged,
    Interval,
    InvalidIntegration,
    InvalidNames,
    NameMatch,
    NoFieldSource,
    NotConnected,
    ReportedField,
    SetName,
    SyncNotConfirmed,
    SyncOvertaken,
    SyncPlan,
    SyncPlanChanged,
)
from recipient_fields.domain.text import normalize_nfc

from .. import SHOWN_FIELDS
from ..fields.changes import Difference, differences
from ..forms import NO_ERRORS, Form, FormError, FormErrors, field_ids
from ..pages import ChangingPage, Flash, Page
from ..requests import author, own_path, visit
from ..submitted_forms import claimed_form

OpenFieldSource: TypeAlias = Callable[[OrganizationId, Esp], EspFieldSource]
"""Returns the source of an ESP's fields for the organization.

Raises one of `NO_SOURCE` if the server can't read it.
"""

NO_SOURCE = (
    CredentialUnreadable,
    CredentialsNotPermitted,
    EspRefused,
    MissingCredentials,
    MissingExtra,
    NoFieldSource,
    UnusableCredentials,
)
_MAX_REPORT_VALUES = 200_000
"""Member names and values. Reports of 1 MiB, the maximum size of a form, have fewer."""
_LABELS = {"name": "Name", "esp": "Email service provider"}

NAMED_REMOVALS = 10
"""From this number of removed fields on, the administrator types the name of the integration."""
_NAME_INPUT = "integration_name"
_IF_EMPTY = (
    "If the account has no fields any more, delete the integration, or ask the operator to run the"
    " command integrations sync with --allow-empty."
)

SHOWN_NAMES = 500
"""Rows of a table with names. The page shows the number of the others."""

_LIST = "/settings/integrations"
_SYNCED_ALREADY = Flash(
    "This sync was submitted already. Its result is stored when “Last sync” changes: reload the"
    " page to see that."
)


@frozen
class _IntegrationPage(Page):
    """A page with integrations, and whether the server can read their ESPs."""

    open_source: OpenFieldSource

    def send_list(self, req: Request, resp: Response, *, result: _Result | None = None) -> None:
        """Send the list, below the result of a sync run if there is one."""
        organization_id = visit(req).organization.id
        counts = self.core.integrations.count_fields(organization_id)
        rows = [
            _Row(
                integration=each,
                esp=self.core.profiles.title(each.esp),
                fields=counts.get(each.id, 0),
                obstacle=self._obstacle(each),
                connection=self.core.connections.get(organization_id, each.id),
            )
            for each in self.core.integrations.list_integrations(organization_id)
        ]
        unconfirmed = None if result is None else result.unconfirmed
        self.pages.send(
            req,
            resp,
            "integrations/list.html",
            status=HTTPStatus.OK if unconfirmed is None else unconfirmed.status,
            rows=rows,
            result=result,
            has_history=self.core.has_history,
        )

    def send_integration(
        self,
        req: Request,
        resp: Response,
        integration: Integration,
        *,
        failure: _Failure | None = None,
    ) -> None:
        """Send the page of the integration, with the failure of a sync run if there is one."""
        if failure is not None and failure.status is HTTPStatus.SERVICE_UNAVAILABLE:
            resp.set_header("Retry-After", "60")
        counts = self.core.integrations.count_fields(integration.organization_id)
        profiles, matches = self.core.profiles, tuple[NameMatch, ...]()
        if integration.esp in profiles:
            matches = self.core.integrations.match_names(
                integration.organization_id, integration.id
            )
        self.pages.send(
            req,
            resp,
            "integrations/show.html",
            status=HTTPStatus.OK if failure is None else failure.status,
            integration=integration,
            esp=profiles.title(integration.esp),
            fields=counts.get(integration.id, 0),
            obstacle=self._obstacle(integration),
            removes_missing=integration.esp in profiles
            and not profiles[integration.esp].names.lists_fields_in_use_only,
            has_history=self.core.has_history,
            failure=failure,
            connection=_Connection.of(self.core, integration),
            intervals=[each.value for each in Interval],
            matches=matches[:SHOWN_NAMES],
            others=max(len(matches) - SHOWN_NAMES, 0),
        )

    def open(self, integration: Integration) -> EspFieldSource:
        """Return the source with the stored credentials, or those of the server.

        Raises: one of `NO_SOURCE`.
        """
        try:
            return self.core.connections.open_source(integration.organization_id, integration.id)
        except NotConnected:
            return self.open_source(integration.organization_id, integration.esp)

    def _obstacle(self, integration: Integration) -> _Obstacle | None:
        """Return why the server can't read the ESP, or None if it can."""
        try:
            self.core.profiles[integration.esp]  # It raises MissingProfile if there is none.
            self.open(integration)
        except (MissingExtra, MissingProfile, NoFieldSource) as error:
            return _Obstacle(str(error), can_connect=False)
        except NO_SOURCE as error:
            return _Obstacle(str(error), can_connect=True)
        return None


class IntegrationList(_IntegrationPage):
    """`/console/o/{organization_id}/settings/integrations`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """List the integrations."""
        self.send_list(req, resp)


class IntegrationCreation(ChangingPage):
    """`/console/o/{organization_id}/settings/integrations/new`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form, with the inputs of an ended session if there are some."""
        _send_form(self, req, resp)

    on_continue = on_get

    def on_post(self, req: Request, resp: Response) -> None:
        """Create the integration."""
        form = visit(req).form
        try:
            esp = _parse_esp(self.core, form.text("esp"))
            with claimed_form(req, self.core, _LIST):
                created = self.core.integrations.create_integration(
                    visit(req).organization.id, esp=esp, name=form.text("name")
                )
        except InvalidIntegration as invalid:
            _send_form(self, req, resp, errors=FormErrors.of(invalid, _LABELS))
            return
        path = visit(req).path(f"{_LIST}/{created.id}")
        flash = Flash("The integration ", created.name, " was created. Sync it to add its fields.")
        self.pages.redirect(req, resp, path, flash)


class IntegrationView(_IntegrationPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}`."""

    def on_get(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Show the integration, and the forms that sync it."""
        self.send_integration(req, resp, self.get_integration(req, integration_id))


class IntegrationMatching(_IntegrationPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/match`."""

    def form_path(self, req: Request) -> str:
        """Return the path of the integration, whose page has the form with the proposals."""
        return own_path(req).removesuffix("/match")

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Set the names that were chosen among the proposals, or none."""
        chosen = [each.partition("=") for each in visit(req).form.texts("match")]
        integration = self.get_integration(req, integration_id)
        try:
            self.core.integrations.by(author(req)).set_names(
                integration.organization_id,
                integration.id,
                {key: SetName(name) for key, _, name in chosen},
            )
        except InvalidNames as invalid:
            failure = _Failure(
                status=HTTPStatus.UNPROCESSABLE_ENTITY,
                title="The fields have changed, so no name was set",
                messages=tuple(str(InvalidNames([each])) for each in invalid.violations),
            )
            self.send_integration(req, resp, integration, failure=failure)
            return
        verb = "was" if len(chosen) == 1 else "were"
        flash = Flash(f"{counted(len(chosen), 'name')} at ", integration.name, f" {verb} set.")
        self.pages.redirect(req, resp, self.form_path(req), flash)


class IntegrationRenaming(ChangingPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/edit`."""

    def on_get(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Show the form with the name of the integration."""
        integration = self.get_integration(req, integration_id)
        _send_form(self, req, resp, integration.name, integration)

    def on_continue(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Show the form with the name that was entered in an ended session."""
        _send_form(self, req, resp, integration=self.get_integration(req, integration_id))

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Rename the integration."""
        integration, name = self.get_integration(req, integration_id), visit(req).form.text("name")
        try:
            renamed = self.core.integrations.rename_integration(
                integration.organization_id, integration.id, name
            )
        except InvalidIntegration as invalid:
            errors = FormErrors.of(invalid, _LABELS)
            _send_form(self, req, resp, integration=integration, errors=errors)
            return
        path = visit(req).path(f"{_LIST}/{renamed.id}")
        flash = Flash("The integration ", renamed.name, " was renamed.", path)
        self.pages.redirect(req, resp, visit(req).path(_LIST), flash)


class IntegrationDeletion(ChangingPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/delete`."""

    def on_get(
        self,
        req: Request,
        resp: Response,
        integration_id: IntegrationId,
        *,
        has_changed: bool = False,
    ) -> None:
        """Show the confirmation, which lists the fields of the integration."""
        integration = self.get_integration(req, integration_id)
        self.pages.send(
            req,
            resp,
            "integrations/delete.html",
            status=HTTPStatus.CONFLICT if has_changed else HTTPStatus.OK,
            integration=integration,
            esp=self.core.profiles.title(integration.esp),
            fields=self.core.integrations.list_fields(integration),
            shown=SHOWN_FIELDS,
            has_changed=has_changed,
        )

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Delete the integration with the fields that the confirmation named, or nothing."""
        path, expected = visit(req).path(_LIST), field_ids(visit(req).form, "expected")
        try:
            with claimed_form(req, self.core, _LIST):
                integration = self.get_integration(req, integration_id)
                deleted = self.core.integrations.by(author(req)).delete_integration(
                    integration.organization_id, integration.id, expected=expected
                )
        except IntegrationChanged:
            self.on_get(req, resp, integration_id, has_changed=True)
            return
        after = f" was deleted, with {counted(len(deleted), 'field')}."
        self.pages.redirect(req, resp, path, Flash("The integration ", integration.name, after))


@frozen
class IntegrationSync(_IntegrationPage):
    """`/console/o/{organization_id}/settings/integrations/{integration_id}/sync`.

    A process reads one ESP at a time, because each read occupies one of the server's threads until
    the ESP has responded.
    """

    reading: Lock = field(factory=Lock)

    def form_path(self, req: Request) -> str:
        """Return the path of the integration, whose page has the forms that sync it."""
        return own_path(req).removesuffix("/sync")

    def on_post(self, req: Request, resp: Response, integration_id: IntegrationId) -> None:
        """Sync the integration from its ESP or from a report, or show what a sync would change."""
        integration, form = self.get_integration(req, integration_id), visit(req).form
        dry_run = form.text("action") != "sync" or not form.text("plan")
        report = _report(form) if form.text("from") == "report" else None
        claim = nullcontext() if dry_run else claimed_form(req, self.core, _LIST, _SYNCED_ALREADY)
        unconfirmed: _Unconfirmed | None = None
        try:
            with claim:
                plan = self._sync(req, integration, report, dry_run=dry_run)
                if not dry_run:
                    self.core.connections.note_sync(plan)
        except SyncNotConfirmed as error:
            plan, unconfirmed = error.plan, _Unconfirmed.of(error, form)
        except _FAILURES as error:
            self.send_integration(
                req,
                resp,
                integration,
                failure=_Failure.of(error, integration, dry_run=dry_run),
            )
            return
        self.send_list(
            req,
            resp,
            result=_Result(
                plan=plan,
                esp=self.core.profiles.title(integration.esp),
                is_stored=not dry_run and unconfirmed is None,
                report=None if report is None else report.decode("utf-8"),
                unconfirmed=unconfirmed,
            ),
        )

    def _sync(
        self,
        req: Request,
        integration: Integration,
        report: bytes | None,
        *,
        dry_run: bool,
    ) -> SyncPlan:
        """Sync from the report, or from the ESP if there is none.

        Raises: SyncNotConfirmed if the form does not confirm the plan.
        """
        form = visit(req).form
        sync_fields = partial(
            self.core.integrations.sync_fields,
            integration.organization_id,
            integration.id,
            dry_run=dry_run,
            allow_empty=False,
            max_removals=_permitted_removals(form, integration),
            confirmed=form.text("plan") or None,
            request_id=author(req).request_id,
        )
        if report is not None:
            return sync_fields(_parse_report(report))
        source = self.open(integration)
        if not self.reading.acquire(blocking=False):
            raise EspUnavailable(
                "The server reads the fields of another integration at the moment. Wait until that"
                " has ended."
            )
        try:
            return sync_fields(source.fields())
        finally:
            self.reading.release()


def _permitted_removals(form: Form, integration: Integration) -> int | None:
    """Return how many fields the form permits to remove, or None for any number."""
    if _visible(form.text(_NAME_INPUT)) == _visible(integration.name):
        return None
    return NAMED_REMOVALS - 1


def _visible(text: str) -> str:
    """Return the text as a browser shows it, so that it can be typed."""
    return " ".join(normalize_nfc(text).split())


_STATUSES: Mapping[type[Exception], HTTPStatus] = {
    EmptyReport: HTTPStatus.UNPROCESSABLE_ENTITY,
    EspUnavailable: HTTPStatus.SERVICE_UNAVAILABLE,
    InvalidDocument: HTTPStatus.UNPROCESSABLE_ENTITY,
    NotJson: HTTPStatus.UNPROCESSABLE_ENTITY,
    SyncOvertaken: HTTPStatus.CONFLICT,
    TooManyValues: HTTPStatus.UNPROCESSABLE_ENTITY,
}
"""The statuses of failed runs. Without a source, a run conflicts with the state of the server."""
_FAILURES: tuple[type[Exception], ...] = (*_STATUSES, *NO_SOURCE)


@frozen
class _Obstacle:
    """Why the server can't read an ESP, and whether credentials of the integration end that."""

    reason: str
    can_connect: bool = field(kw_only=True)


@frozen(kw_only=True)
class _Connection:
    """The connection of an integration, and its credential if it can be decrypted."""

    state: EspConnection
    credential: Credential | None
    failure: str
    """Why the credential can't be used, or an empty text."""
    waiting: tuple[RecipientField, ...]
    """The fields that wait for their removal."""

    @classmethod
    def of(cls, core: Core, integration: Integration) -> _Connection:
        """Return what the page of the integration shows."""
        ids = integration.organization_id, integration.id
        state, credential, failure = core.connections.get(*ids), None, ""
        try:
            credential = core.connections.get_credential(*ids)
        except (CredentialUnreadable, MissingCredentials, UnusableCredentials) as error:
            failure = str(error)
        waiting: tuple[RecipientField, ...] = ()
        if state.waiting:
            fields = core.integrations.list_fields(integration)
            waiting = tuple(each for each in fields if each.id in state.waiting_fields)
        return cls(state=state, credential=credential, failure=failure, waiting=waiting)


@frozen(kw_only=True)
class _Row:
    """One integration in the list."""

    integration: Integration
    esp: str
    fields: int
    obstacle: _Obstacle | None
    connection: EspConnection


@frozen(kw_only=True)
class _Failure:
    """A sync or its plan that failed: a title, and one or more messages."""

    status: HTTPStatus
    title: str
    messages: tuple[str, ...]

    @classmethod
    def of(cls, error: Exception, integration: Integration, *, dry_run: bool) -> _Failure:
        """Return what the page says about the error."""
        name, act = integration.name, "plan of the sync" if dry_run else "sync"
        messages = [str(error)]
        if isinstance(error, InvalidDocument):
            messages = [str(InvalidInput([each])) for each in error.violations[:SHOWN_FIELDS]]
        elif isinstance(error, TooManyValues):
            messages = ["The report has too many values. Remove members that no field needs."]
        elif isinstance(error, EmptyReport):
            messages.append(_IF_EMPTY)
        return cls(
            status=_STATUSES.get(type(error), HTTPStatus.CONFLICT),
            title=f"The {act} of {name} failed, and nothing was changed",
            messages=tuple(messages),
        )


@frozen(kw_only=True)
class _Unconfirmed:
    """The reason why a sync did not store its plan: a sentence, or an error at the input."""

    status: HTTPStatus
    reason: str = ""
    errors: FormErrors = NO_ERRORS
    entered: str = ""
    """The entered name, if it is not that of the integration."""

    @classmethod
    def of(cls, error: SyncNotConfirmed, form: Form) -> _Unconfirmed:
        """Return what the page says about the error."""
        if isinstance(error, SyncPlanChanged):
            return cls(status=HTTPStatus.CONFLICT, reason=str(error))
        message = f"Type {error.plan.integration.name}"
        wrong = FormError(_NAME_INPUT, "Name of the integration", message)
        return cls(
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
            errors=FormErrors((wrong,)),
            entered=form.text(_NAME_INPUT),
        )


@frozen(kw_only=True)
class _Result:
    """What a sync run changed, or what it would change."""

    plan: SyncPlan
    esp: str
    """The title of the ESP."""
    is_stored: bool
    unconfirmed: _Unconfirmed | None
    """Why it is not stored, although the administrator has pressed *Sync*."""
    report: str | None
    """The uploaded report, or None if the fields came from the ESP."""

    @property
    def changed(self) -> list[tuple[RecipientField, tuple[Difference, ...]]]:
        """The changed fields, and their members that differ."""
        return [(each.field, differences(each)) for each in self.plan.changes.updated]

    @property
    def changes(self) -> int:
        """The number of fields that are created, changed or removed."""
        plan = self.plan
        return sum(map(len, (plan.links, plan.standalone, plan.updated, plan.removed)))

    @property
    def needs_name(self) -> bool:
        """Whether the confirmation requires the name of the integration."""
        return len(self.plan.removed) >= NAMED_REMOVALS

    @property
    def reported(self) -> int:
        """The number of fields in the report."""
        plan = self.plan
        return self.changes - len(plan.removed) + len(plan.refused) + plan.unchanged


def _send_form(
    page: Page,
    req: Request,
    resp: Response,
    name: str | None = None,
    integration: Integration | None = None,
    *,
    errors: FormErrors = NO_ERRORS,
) -> None:
    """Send the form of a new integration, or of the one to rename, with the entered inputs.

    A `name` replaces the entered one.
    """
    form = visit(req).form
    page.pages.send(
        req,
        resp,
        "integrations/form.html",
        status=errors.status,
        integration=integration,
        name=form.text("name") if name is None else name,
        esp=form.text("esp") if integration is None else integration.esp,
        esps={each.esp: each.title for each in page.core.profiles},
        errors=errors,
    )


def _parse_esp(core: Core, text: str) -> Esp:
    if text not in core.profiles:
        message = "Choose the provider whose fields the integration syncs."
        raise InvalidIntegration([Violation(Rule.UNKNOWN_VALUE, message, ("esp",))])
    return Esp(text)


def _report(form: Form) -> bytes:
    """Return the uploaded report, or the one that a plan has put into the form."""
    return form.file("report").content or form.text("report").encode("utf-8")


def _parse_report(report: bytes) -> Iterable[ReportedField]:
    """Return the fields of the report. Raises: NotJson, TooManyValues, InvalidDocument."""
    if not report.strip():
        raise NotJson("No report was uploaded. Choose a file.")
    return parse_report(parse_json(report, max_values=_MAX_REPORT_VALUES))
