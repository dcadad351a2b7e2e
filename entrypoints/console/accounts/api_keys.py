"""API keys: the list, and the forms that create, rotate and revoke a key."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import falcon
from attrs import field, frozen
from falcon import Request, Response

from recipient_fields.application import OPERATOR, IssuedKey
from recipient_fields.domain import (
    MIN_LIFETIME,
    Access,
    ApiKey,
    ApiKeyId,
    ApiKeyNotActive,
    InvalidApiKey,
    KeyState,
    NoSuchTime,
    Rule,
    Violation,
    Violations,
    parse_date,
)

from ..forms import NO_ERRORS, Form, FormErrors
from ..pages import ChangingPage, Flash, Page
from ..requests import author, visit
from ..submitted_forms import claimed_form

EXPIRES_SOON = timedelta(days=14)
"""A key is marked if it expires within this time."""

ACCESS_NAMES = {
    Access.READ_WRITE.value: "Read and write",
    Access.READ_ONLY.value: "Read only",
}
_DAYS = {"30": "30 days", "90": "90 days", "365": "365 days"}
_EXPIRIES = {**_DAYS, "date": "On a date", "never": "Never"}
_GRACE_PERIODS = {
    "0": ("At once", timedelta()),
    "1": ("After 1 hour", timedelta(hours=1)),
    "24": ("After 24 hours", timedelta(hours=24)),
    "168": ("After 7 days", timedelta(days=7)),
}
_DEFAULT_GRACE = "24"
_LAST_DAY = timedelta(days=365)
"""The last day of the date input. It ends within the 366 days that the core permits."""
_END_OF_DAY = time(23, 59, 59, tzinfo=UTC)
_LABELS = {"name": "Name", "access": "Access", "expiry": "Expires", "date": "Date"}

_LIST = "/settings/api-keys"
_CREATED_ALREADY = Flash(
    "This form was submitted already, and the console shows a key only once. If the list has a key"
    " that you could not copy, revoke it and create another one."
)


@frozen
class ApiKeyList(Page):
    """`/console/o/{organization_id}/settings/api-keys`."""

    issues_keys: bool
    """Whether keys can be created. Otherwise another system issues the keys of the service."""

    def on_get(self, req: Request, resp: Response) -> None:
        """List all keys of the organization."""
        _send_list(self, req, resp, issues_keys=self.issues_keys)


class ApiKeyCreation(ChangingPage):
    """`/console/o/{organization_id}/settings/api-keys/new`."""

    def on_get(self, req: Request, resp: Response) -> None:
        """Show the form."""
        self._show(req, resp, KeyInputs())

    def on_continue(self, req: Request, resp: Response) -> None:
        """Show the form with the inputs of an ended session."""
        self._show(req, resp, KeyInputs.of_form(visit(req).form))

    def on_post(self, req: Request, resp: Response) -> None:
        """Create a key, and show it once."""
        inputs = KeyInputs.of_form(visit(req).form)
        try:
            access, lifetime = inputs.parse(self.core.clock())
            with claimed_form(req, self.core, _LIST, _CREATED_ALREADY):
                issued = self.core.administration.by(author(req)).issue_key(
                    visit(req).organization.id, name=inputs.name, access=access, lifetime=lifetime
                )
        except InvalidApiKey as invalid:
            self._show(req, resp, inputs, FormErrors.of(invalid, _LABELS))
            return
        _send_list(self, req, resp, issued=issued)

    def _show(
        self,
        req: Request,
        resp: Response,
        inputs: KeyInputs,
        errors: FormErrors = NO_ERRORS,
    ) -> None:
        today = self.core.clock().date()
        self.pages.send(
            req,
            resp,
            "api_keys/form.html",
            status=errors.status,
            form=inputs,
            errors=errors,
            access_names=ACCESS_NAMES,
            expiries=_EXPIRIES,
            first_day=today,
            last_day=today + _LAST_DAY,
        )


class ApiKeyRotation(ChangingPage):
    """`/console/o/{organization_id}/settings/api-keys/{key_id}/rotate`."""

    def on_get(self, req: Request, resp: Response, key_id: ApiKeyId) -> None:
        """Show the form for the grace period of the old key."""
        key = self.core.administration.get_key(visit(req).organization.id, key_id)
        now = self.core.clock()
        if key.state(now) is not KeyState.ACTIVE:
            raise ApiKeyNotActive
        self.pages.send(
            req,
            resp,
            "api_keys/rotate.html",
            key=key,
            access=ACCESS_NAMES[key.access.value],
            now=now,
            grace_periods={value: label for value, (label, _) in _GRACE_PERIODS.items()},
            default=_DEFAULT_GRACE,
        )

    def on_post(self, req: Request, resp: Response, key_id: ApiKeyId) -> None:
        """Create the successor, and show it once."""
        key = self.core.administration.get_key(visit(req).organization.id, key_id)
        _, grace = _GRACE_PERIODS.get(visit(req).form.text("grace"), (None, None))
        if grace is None:
            raise falcon.HTTPBadRequest(description="Choose when the old key expires.")
        with claimed_form(req, self.core, _LIST, _CREATED_ALREADY):
            issued, replaced = self.core.administration.by(author(req)).rotate_key(
                visit(req).organization.id, key.id, grace=grace
            )
        _send_list(self, req, resp, issued=issued, replaced=replaced)


@frozen
class ApiKeyRevocation(ChangingPage):
    """`/console/o/{organization_id}/settings/api-keys/{key_id}/revoke`."""

    issues_keys: bool

    def on_get(self, req: Request, resp: Response, key_id: ApiKeyId) -> None:
        """Show the confirmation, which contains the name of the key."""
        key = self.core.administration.get_key(visit(req).organization.id, key_id)
        now = self.core.clock()
        self.pages.send(
            req,
            resp,
            "api_keys/revoke.html",
            key=key,
            now=now,
            is_active=key.state(now) is KeyState.ACTIVE,
            issues_keys=self.issues_keys,
        )

    def on_post(self, req: Request, resp: Response, key_id: ApiKeyId) -> None:
        """Revoke the key. If it is revoked already, nothing changes."""
        key = self.core.administration.by(author(req)).revoke_key(
            visit(req).organization.id, key_id
        )
        flash = Flash("The key ", key.name, " was revoked.")
        self.pages.redirect(req, resp, visit(req).path(_LIST), flash)


@frozen(kw_only=True)
class KeyInputs:
    """What the administrator has entered."""

    name: str = ""
    access: str = Access.READ_WRITE.value
    expiry: str = "90"
    date: str = ""

    @classmethod
    def of_form(cls, form: Form) -> KeyInputs:
        """Return the inputs of a form."""
        return cls(**{name: form.text(name) for name in _LABELS})

    def parse(self, now: datetime) -> tuple[Access, timedelta | None]:
        """Return the access and the lifetime. A key that expires on a date is valid on that day.

        Raises: InvalidApiKey if one of them is invalid.
        """
        violations = Violations()
        access, lifetime = Access.READ_ONLY, None
        with violations.collect():
            access = self._parse_access()
        with violations.collect():
            lifetime = self._parse_lifetime(now)
        if violations:
            raise InvalidApiKey(violations)
        return access, lifetime

    def _parse_access(self) -> Access:
        if self.access not in ACCESS_NAMES:
            raise _invalid(Rule.UNKNOWN_VALUE, "Choose what the key may do.", "access")
        return Access(self.access)

    def _parse_lifetime(self, now: datetime) -> timedelta | None:
        if self.expiry == "never":
            return None
        if self.expiry in _DAYS:
            return timedelta(days=int(self.expiry))
        if self.expiry != "date":
            raise _invalid(Rule.UNKNOWN_VALUE, "Choose when the key expires.", "expiry")
        try:
            day = parse_date(self.date.strip())
        except NoSuchTime as error:
            raise _invalid(Rule.FORMAT, str(error), "date") from None
        except ValueError:
            message = f"Enter a date, such as {now.date() + timedelta(days=90)}."
            raise _invalid(Rule.FORMAT, message, "date") from None
        if not now.date() <= day <= now.date() + _LAST_DAY:
            message = f"Enter a date from {now.date()} to {now.date() + _LAST_DAY}."
            raise _invalid(Rule.OUT_OF_RANGE, message, "date")
        return max(datetime.combine(day, _END_OF_DAY) - now, MIN_LIFETIME)


@frozen(kw_only=True)
class _Row:
    """One key in the list."""

    key: ApiKey
    state: KeyState
    access: str
    creator: str
    is_new: bool = field(default=False)
    is_replaced: bool = field(default=False)
    expires_soon: bool


def _send_list(
    page: Page,
    req: Request,
    resp: Response,
    *,
    issued: IssuedKey | None = None,
    replaced: ApiKey | None = None,
    issues_keys: bool = True,
) -> None:
    """Send the list: active keys before others, the newest first. `issued` is shown once."""
    now = page.core.clock()
    new_id = None if issued is None else issued.api_key.id
    replaced_id = None if replaced is None else replaced.id
    rows = [
        _Row(
            key=key,
            state=key.state(now),
            access=ACCESS_NAMES[key.access.value],
            creator=_creator(key),
            is_new=key.id == new_id,
            is_replaced=key.id == replaced_id,
            expires_soon=key.expires_at is not None and key.expires_at - now <= EXPIRES_SOON,
        )
        for key in page.core.administration.list_keys(visit(req).organization.id)
    ]
    rows.sort(key=lambda row: (row.state is not KeyState.ACTIVE, -row.key.id))
    page.pages.send(
        req,
        resp,
        "api_keys/list.html",
        rows=rows,
        now=now,
        issued=issued,
        replaced=replaced,
        issues_keys=issues_keys,
    )


def _creator(key: ApiKey) -> str:
    return {OPERATOR: "Operator", None: "Unknown"}.get(key.created_by, str(key.created_by))


def _invalid(rule: Rule, message: str, name: str) -> InvalidApiKey:
    return InvalidApiKey([Violation(rule, message, (name,))])
