"""Rendering: static files, templates to responses, and flash messages between two pages."""

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
from typing import Any

import falcon
from attrs import asdict, field, frozen

from recipient_fields.application.extras import requires_extra
from recipient_fields.application.wording import counted
from recipient_fields.domain import SecretToken, format_instant

from .page import Cookie, Cookies, Visit, csrf_token, sign, visit

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

    def on_get(self, _req: falcon.Request, resp: falcon.Response, name: str) -> None:
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

    def send(
        self,
        req: falcon.Request,
        resp: falcon.Response,
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

    def redirect(
        self, req: falcon.Request, resp: falcon.Response, path: str, flash: Flash | None = None
    ) -> None:
        """Redirect the browser to another page, which shows the flash message."""
        resp.status = HTTPStatus.SEE_OTHER
        resp.set_header("Location", path)
        if flash is not None:
            document = json.dumps(asdict(flash), ensure_ascii=False)
            text = urlsafe_b64encode(document.encode()).decode("ascii")
            code = sign(visit(req).secret, "flash", text)
            self.cookies.set(resp, Cookie.FLASH, f"{code}.{text}")

    def _take_flash(self, req: falcon.Request, resp: falcon.Response) -> Flash | None:
        value, secret = self.cookies.read(req, Cookie.FLASH), visit(req).secret
        if value is None or not secret:
            return None
        self.cookies.delete(resp, Cookie.FLASH)
        code, _, text = value.partition(".")
        if not hmac.compare_digest(sign(secret, "flash", text).encode(), code.encode()):
            return None  # Another session left it, or another application of this host.
        return Flash(**json.loads(urlsafe_b64decode(text)))


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
