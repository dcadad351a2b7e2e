"""Claims of forms, so that each form takes effect once, although browsers can send it twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import falcon

from recipient_fields.application import Core
from recipient_fields.domain import RecipientFieldsError, StorageUnavailable

from .page import visit
from .rendering import Flash

_ALREADY_SUBMITTED = Flash("This form was submitted already, so nothing was changed this time.")


class SubmittedBefore(Exception):
    """An earlier submission of the form has had its effect. Lead to this path with this message."""

    def __init__(self, path: str, flash: Flash) -> None:
        self.path: str = path
        self.flash: Flash = flash
        super().__init__(flash.before)


@contextmanager
def claimed_form(
    req: falcon.Request, core: Core, path: str, flash: Flash = _ALREADY_SUBMITTED
) -> Iterator[None]:
    """Claim the request's form for the effect of the block.

    If the block raises an error of the core, nothing was changed, so the form can be submitted
    again. After StorageUnavailable, the effect is unknown, and the form stays used. `path` is a
    page of the organization.

    Raises: SubmittedBefore with this path and message if an earlier submission has claimed the
    form. `ErrorPages` redirects the browser.
    """
    session, token = visit(req).session, visit(req).form.text("form")
    if session is None or not token:
        raise falcon.HTTPBadRequest(description="The form is incomplete. Reload the page.")
    if not core.administrators.use_form(session.id, token):
        raise SubmittedBefore(visit(req).path(path), flash)
    try:
        yield
    except StorageUnavailable:
        raise
    except RecipientFieldsError:
        core.administrators.release_form(session.id, token)
        raise
