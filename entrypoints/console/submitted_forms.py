"""Forms that were submitted before, and forms whose session has ended.

A claim lets each form take effect once, although browsers can send it twice. If a session has
ended, the sign-in page keeps what was entered, and the service nothing:

1. `SessionGuard` raises `SessionEnded` for the form. The sign-in page contains the inputs.
2. After the sign-in, `continue.html` sends them to the page of the form, which checks the new
   session and its role as for each form.
3. `SessionGuard` calls `on_continue` of the page, which shows the form with these inputs. Nothing
   is saved before the administrator presses its button again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import falcon
from falcon import Request

from recipient_fields.application import Core
from recipient_fields.domain import Administrator, RecipientFieldsError, StorageUnavailable

from .forms import MAX_BODY_SIZE, Form, decode_form, read_form
from .pages import Flash, Page
from .requests import visit

_ALREADY_SUBMITTED = Flash("This form was submitted already, so nothing was changed this time.")


class SubmittedBefore(Exception):
    """An earlier submission of the form has had its effect. Lead to this path with this message."""

    def __init__(self, path: str, flash: Flash) -> None:
        self.path: str = path
        self.flash: Flash = flash
        super().__init__(flash.before)


@contextmanager
def claimed_form(
    req: Request, core: Core, path: str, flash: Flash = _ALREADY_SUBMITTED
) -> Iterator[None]:
    """Claim the request's form for the effect of the block.

    If the block raises an error of the core, nothing was changed, so the form can be submitted
    again. After StorageUnavailable, the effect is unknown, and the form stays used. `path` is a
    page of the organization.

    Raises: SubmittedBefore with this path and message if an earlier submission has claimed the
    form. `ErrorPages` redirects the browser.
    """
    visited = visit(req)
    session, token = visited.session, visited.form.text("form")
    if session is None or not token:
        raise falcon.HTTPBadRequest(description="The form is incomplete. Reload the page.")
    if not core.administrators.use_form(session.id, token):
        raise SubmittedBefore(visited.path(path), flash)
    try:
        yield
    except StorageUnavailable:
        raise
    except RecipientFieldsError:
        core.administrators.release_form(session.id, token)
        raise


KEPT = "kept"
"""The name of the hidden input that contains all inputs of the form."""

MAX_KEPT_SIZE = MAX_BODY_SIZE - 64 * 1024
"""The maximum size of the kept inputs, in bytes. A form with them has other inputs, too."""

_TOKENS = ("csrf", "form")
"""Inputs of the ended session, which are of no use."""

_ENDED = "Your session has ended, so nothing was changed."
_REPEAT = f"{_ENDED} Sign in, then repeat what you did."
_TOO_LARGE = f"{_ENDED} The form is too large to be kept. Sign in, then fill it in again."
_NO_FILE = "The file can't be kept: choose it again after you have signed in."
CONTINUE = f"{_ENDED} Sign in to continue with what you have entered."


class SessionEnded(Exception):
    """The session of a form has ended. After the sign-in, the page at `path` follows.

    `kept` is the value of the input `KEPT`. If it is empty, nothing is kept.
    """

    def __init__(self, path: str, message: str = _REPEAT, kept: str = "") -> None:
        self.path: str = path
        self.message: str = message
        self.kept: str = kept
        super().__init__(message)

    @classmethod
    def of_request(cls, req: Request, page: Page) -> SessionEnded:
        """Return the error for the form in the body of a request without a session.

        A browser that is not signed in uploads no more than the sign-in page accepts.
        """
        try:
            return cls.of_form(read_form(req, MAX_BODY_SIZE), req, page)
        except falcon.HTTPContentTooLarge:
            return cls(page.form_path(req), _TOO_LARGE)

    @classmethod
    def of_form(cls, form: Form, req: Request, page: Page) -> SessionEnded:
        """Return the error for a form of the page."""
        kept = entered_form(form).without(_TOKENS).encode() if page.keeps_inputs else ""
        message = CONTINUE if kept else _REPEAT
        if len(kept) > MAX_KEPT_SIZE:
            kept, message = "", _TOO_LARGE
        if form.has_files:
            message = f"{message} {_NO_FILE}"
        return cls(page.form_path(req), message, kept)


def continues(form: Form) -> bool:
    """Return whether the form contains the inputs of an ended session."""
    return bool(form.text(KEPT))


def entered_form(form: Form) -> Form:
    """Return what was entered: the inputs of an ended session, or the form itself."""
    return decode_form(form.text(KEPT)) if continues(form) else form


def is_entered_by(form: Form, administrator: Administrator) -> bool:
    """Return whether the form was on a page of this administrator."""
    return entered_form(form).text("by") == str(administrator.id)
