"""Pages: their base class, templates, static files, and flash messages between two pages."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar

import falcon
from attrs import asdict, field, frozen
from falcon import Request, Response

from recipient_fields.application import Core
from recipient_fields.application.extras import requires_extra
from recipient_fields.application.wording import counted
from recipient_fields.domain import IntegrationId, SecretToken, format_instant
from recipient_fields.domain.integrations import Integration

from .forms import MAX_BODY_SIZE
from .requests import Cookie, Cookies, Visit, base_path, csrf_token, own_path, sign, visit

_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_ONE_YEAR = "public, max-age=31536000, immutable"


@frozen
class StaticFiles:
    """The files, which are read once."""

    contents: Mapping[str, tuple[bytes, str]]
    """The content and the media type, by the name in the URL."""
    names: Mapping[str, str]
    """The name in the URL, by file name."""

    @classmethod
    def read(cls) -> StaticFiles:
        """Return the files of this package."""
        contents, names = {}, {}
        for file, media_type in _MEDIA_TYPES.items():
            content = (_FOLDER / file).read_bytes()
            stem, suffix = file.split(".")
            names[file] = f"{stem}-{sha256(content).hexdigest()[:16]}.{suffix}"
            contents[names[file]] = (content, media_type)
        return cls(contents, names)


@frozen
class StaticFile:
    """`/console/static/{name}`."""

    files: StaticFiles

    def on_get(self, _req: Request, resp: Response, name: str) -> None:
        """Send the file, which never changes under this name."""
        if name not in self.files.contents:
            raise falcon.HTTPNotFound
        resp.data, resp.content_type = self.files.contents[name]
        resp.set_header("Cache-Control", _ONE_YEAR)

    on_head = on_get


with requires_extra("console", "jinja2"):
    from jinja2 import Environment, PackageLoader, StrictUndefined

_HTML = "text/html; charset=utf-8"


@frozen
class Flash:
    """One line at the top of the next page: `before`, a link or a name, and `after`."""

    before: str
    name: str = ""
    after: str = ""
    path: str = ""
    """The path of the linked page. Empty: the name is no link."""
    undo: str = ""
    """The path that receives the form of the button *Undo*. Empty: there is none."""
    version: str = ""
    """The version of what this form changes."""


@frozen
class PageContext:
    """What every template can show, as `page`."""

    visit: Visit
    files: StaticFiles
    flash: Flash | None
    request_id: str
    csrf: str = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "csrf", csrf_token(self.visit.secret))

    @property
    def base(self) -> str:
        """The path of the console."""
        return self.visit.base

    def path(self, path: str = "") -> str:
        """Return the path of a page of the organization."""
        return self.visit.path(path)

    def file(self, name: str) -> str:
        """Return the path of a static file."""
        return f"{self.base}/static/{self.files.names[name]}"

    def new_form(self) -> str:
        """Return a token that makes one form on this page differ from all others."""
        return SecretToken.generate().reveal()


@cache
def _templates() -> Environment:
    """Return the templates of this package, which all applications of a process share."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= {
        "date": format_date,
        "time": format_time,
        "iso": format_instant,
        "count": counted,
        "ago": format_ago,
        "until": format_until,
    }
    return environment


@frozen
class Pages:
    """Sends pages."""

    files: StaticFiles
    cookies: Cookies
    origin: str | None
    """The public origin of the console. None: that of each request's own address."""

    def send(
        self,
        req: Request,
        resp: Response,
        template: str,
        /,
        *,
        status: HTTPStatus = HTTPStatus.OK,
        **values: Any,
    ) -> None:
        """Send a template with these values, and the flash message of the previous page."""
        request_id: str = req.context.get("request_id") or ""
        page = PageContext(visit(req), self.files, self._take_flash(req, resp), request_id)
        text = _templates().get_template(template).render(page=page, **values)
        resp.status = status
        resp.content_type = _HTML
        resp.data = text.encode("utf-8", "replace")

    def redirect(self, req: Request, resp: Response, path: str, flash: Flash | None = None) -> None:
        """Redirect the browser to another page, which shows the flash message."""
        resp.status = HTTPStatus.SEE_OTHER
        resp.set_header("Location", path)
        if flash is not None:
            document = json.dumps(asdict(flash), ensure_ascii=False)
            text = urlsafe_b64encode(document.encode()).decode("ascii")
            code = sign(visit(req).secret, "flash", text)
            self.cookies.set(resp, Cookie.FLASH, f"{code}.{text}")

    def _take_flash(self, req: Request, resp: Response) -> Flash | None:
        value, secret = self.cookies.read(req, Cookie.FLASH), visit(req).secret
        if value is None or not secret:
            return None
        self.cookies.delete(resp, Cookie.FLASH)
        code, _, text = value.partition(".")
        if not hmac.compare_digest(sign(secret, "flash", text).encode(), code.encode()):
            return None  # Another session left it, or another application of this host.
        return Flash(**json.loads(urlsafe_b64decode(text)))


@frozen
class Page:
    """A page. `on_get` shows it. `on_post` handles its forms.

    `on_continue` shows its form with the inputs of an ended session, and saves nothing.
    """

    core: Core
    pages: Pages

    is_public: ClassVar[bool] = False
    """Whether the page needs no session."""

    changes: ClassVar[bool] = False
    """Whether the page exists only to change something, so that viewers may not open it."""

    ends_session: ClassVar[bool] = False
    """Whether the page signs out. Without a session, it leads to the sign-in page."""

    is_for_viewers: ClassVar[bool] = False
    """Whether viewers may submit the forms of the page: they change nothing in the organization."""

    max_body_size: ClassVar[int] = MAX_BODY_SIZE
    """The maximum size of a form, in bytes."""

    @property
    def keeps_inputs(self) -> bool:
        """Whether what was entered is kept if the session ends before the form is submitted."""
        return hasattr(self, "on_continue")

    def form_path(self, req: Request) -> str:
        """Return the path of the page with the form, or of the console if it is not known.

        A page that only receives forms can override it.
        """
        return own_path(req) if hasattr(self, "on_get") else base_path(req)

    def get_integration(self, req: Request, integration_id: IntegrationId) -> Integration:
        """Return the integration, which must be one of the organization of the path."""
        return self.core.integrations.get_integration(visit(req).organization.id, integration_id)

    def on_head(self, req: Request, resp: Response, **ids: Any) -> None:
        """Send the headers of the page. The server omits the content."""
        on_get: Any = getattr(self, "on_get", None)
        if on_get is None:
            raise falcon.HTTPMethodNotAllowed(["POST"])
        on_get(req, resp, **ids)


class ChangingPage(Page):
    """A page that exists only to change something."""

    changes = True


def format_date(at: datetime) -> str:
    """Return the date as `22 Nov 2026`."""
    return f"{at.day} {at:%b %Y}"


def format_time(at: datetime) -> str:
    """Return the date and the time as `22 Nov 2026, 06:00 UTC`."""
    return f"{format_date(at)}, {at:%H:%M} UTC"


def format_ago(at: datetime, now: datetime) -> str:
    """Return the time since an instant as `3 minutes ago`, or the date if it is two days or more.

    An instant of the previous day is `Yesterday, 23:15`.
    """
    passed = now - at
    if passed < timedelta(seconds=1):
        return "Just now"
    if passed < timedelta(hours=24) and (at.date() == now.date() or passed < timedelta(hours=1)):
        return f"{_format_duration(passed)} ago"
    if at.date() == (now - timedelta(days=1)).date():
        return f"Yesterday, {at:%H:%M}"
    return format_date(at)


def format_until(at: datetime, now: datetime) -> str:
    """Return the time until an instant as `in 90 days`."""
    return f"in {_format_duration(at - now)}"


def _format_duration(duration: timedelta) -> str:
    """Return the duration in its largest unit, rounded to the nearest number."""
    for unit, seconds in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if duration.total_seconds() >= seconds - seconds / 120:
            return counted(round(duration.total_seconds() / seconds), unit)
    return counted(int(duration.total_seconds()), "second")
