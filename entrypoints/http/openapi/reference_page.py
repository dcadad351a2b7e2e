"""The OpenAPI document and the reference page, served without an API key.

The page uses the static files of the package `flask-swagger-ui`, without importing it or Flask. If
it is not installed, the page shows how to install it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import falcon
from attrs import frozen
from falcon import Request, Response

from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain.esp import Profiles

from ..problems import RequestRejected
from ..readiness import SERVICE_TAG
from ..requests import admits_html, mount_path, precondition
from ..resource import HTML, JSON, READS, Resource, Result, operation
from .document import document

FIELDS = "/api/v1/recipient_fields"

_CURL_AUTHORIZATION = '-H "Authorization: Bearer $API_KEY"'
_CURL_JSON = '-H "Content-Type: application/json"'


@frozen
class ExampleRequest:
    """A request that programs can send as it is, with `URL` and `API_KEY` in the environment."""

    summary: str
    method: str
    path: str
    members: Mapping[str, object] | None = None
    """The members of the field in the body."""

    def programs(self) -> dict[str, str]:
        """Return the request in each language."""
        return {"curl": self._curl(), "Python": self._python(), "JavaScript": self._javascript()}

    def _curl(self) -> str:
        method = "" if self.method in {"GET", "POST"} else f"-X {self.method} "
        lines = [f'curl -i {method}"$URL{self.path}"', _CURL_AUTHORIZATION]
        if self.members is not None:
            lines += [_CURL_JSON, f"-d '{self._body}'"]
        return " \\\n  ".join(lines)

    def _python(self) -> str:
        # The examples have no booleans and nulls, so their JSON is also Python.
        body = "" if self.members is None else f"    json={self._body},\n"
        return (
            "import os\n\nimport requests\n\n"
            f"response = requests.{self.method.lower()}(\n"
            f'    os.environ["URL"] + "{self.path}",\n'
            "    headers={\n"
            '        "Authorization": "Bearer " + os.environ["API_KEY"]\n'
            "    },\n"
            f"{body}    timeout=10,\n)\n"
            "print(response.status_code, response.text)"
        )

    def _javascript(self) -> str:
        headers = "    Authorization: `Bearer ${process.env.API_KEY}`,\n"
        body = ""
        if self.members is not None:
            headers += '    "Content-Type": "application/json",\n'
            body = f"  body: JSON.stringify({self._body}),\n"
        return (
            f'const url = process.env.URL + "{self.path}";\n'
            "const response = await fetch(url, {\n"
            f'  method: "{self.method}",\n'
            f"  headers: {{\n{headers}  }},\n{body}}});\n"
            "console.log(response.status, await response.text());"
        )

    @property
    def _body(self) -> str:
        return json.dumps({"recipient_field": self.members})


FIRST_OPERATIONS = (
    ExampleRequest("List the fields", "GET", FIELDS),
    ExampleRequest("Create a field", "POST", FIELDS, {"name": "Shoe size", "data_type": "number"}),
    ExampleRequest("Read a field by its key or id", "GET", f"{FIELDS}/shoe_size"),
    ExampleRequest(
        "Change members of a field",
        "PATCH",
        f"{FIELDS}/shoe_size",
        {"allowed_values": [38, 39.5, 41]},
    ),
    ExampleRequest(
        "Create or replace a field",
        "PUT",
        f"{FIELDS}/shoe_size",
        {"name": "EU shoe size", "data_type": "number"},
    ),
    ExampleRequest("Delete a field", "DELETE", f"{FIELDS}/shoe_size"),
)


def render_examples() -> str:
    """Return the HTML of the operations. The first one is open."""
    return "\n".join(
        _render(request, is_open=index == 0) for index, request in enumerate(FIRST_OPERATIONS)
    )


def _render(request: ExampleRequest, *, is_open: bool) -> str:
    programs = "\n".join(
        f"<figure><figcaption>{language}</figcaption>\n"
        f'<pre tabindex="0">{escape(text)}</pre></figure>'
        for language, text in request.programs().items()
    )
    return (
        f"<details{' open' if is_open else ''}>\n"
        f"<summary><code>{request.method}</code> {escape(request.summary)}</summary>\n"
        f'<div class="programs">\n{programs}\n</div>\n</details>'
    )


REFERENCE_PATH = "/docs"
PAGE_FILES = {
    "favicon-32x32.png": "image/png",
    "page.css": "text/css; charset=utf-8",
    "start.js": "text/javascript; charset=utf-8",
    "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "swagger-ui.css": "text/css; charset=utf-8",
}
"""The files that the page at `/docs` loads, and their media types."""
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""The page loads all files from this service. Swagger UI's style sheet contains `data:` icons."""

_FOLDER = Path(__file__).parent / "page"


class OpenApiDocument(Resource):
    """`/openapi.json`. The document describes these routes."""

    def __init__(self, routes: Mapping[str, Resource], profiles: Profiles) -> None:
        @lru_cache(maxsize=16)  # An application may mount the API at several paths.
        def render(mount_path: str) -> bytes:
            return render_json(document(routes, profiles, mount_path))

        self._render = render

    @operation(
        "get_openapi",
        SERVICE_TAG,
        Result(description="The OpenAPI document.", document={"type": "object"}),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """Read this document."""
        _send_file(req, resp, self._render(mount_path(req)), JSON)


class ReferencePage(Resource):
    """`/docs`."""

    media_types: ClassVar[tuple[str, ...]] = (HTML,)

    @operation(
        "get_docs",
        SERVICE_TAG,
        Result(description="The page.", document=str, headers=("Content-Security-Policy",)),
        is_conditional=True,
    )
    def on_get(self, req: Request, resp: Response) -> None:
        """Read the reference page."""
        resp.set_header("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        resp.set_header("Referrer-Policy", "no-referrer")
        _send_file(req, resp, _page(), f"{HTML}; charset=utf-8")


class ReferenceFile(Resource):
    """`/docs/{file}`: the files that the page loads."""

    media_types: ClassVar[tuple[str, ...]] = ("text/css", "text/javascript", "image/png")

    def on_get(self, req: Request, resp: Response, file: str) -> None:
        """Send one of the page's files, by its exact name."""
        media_type = PAGE_FILES.get(file)
        content = None if media_type is None else page_file(file)
        if media_type is None or content is None:
            raise RequestRejected("not_found")
        _send_file(req, resp, content, media_type)


def redirect_browsers_to(path: str) -> Callable[..., None]:
    """Return a sink that redirects browsers to the path. Other clients get 404."""

    def redirect(req: Request, resp: Response, **_groups: str) -> None:
        if req.method not in READS or not admits_html(req.accept):
            raise RequestRejected("not_found")
        resp.status = falcon.HTTP_302
        resp.set_header("Location", f"{mount_path(req)}{path}")

    return redirect


def _send_file(req: Request, resp: Response, content: bytes, media_type: str) -> None:
    """Send 200 with the content, or 304 if the client already has this version."""
    tag = sha256(content).hexdigest()[:16]
    resp.etag = tag
    resp.set_header("Cache-Control", "no-cache")
    if precondition(req).excludes(tag):
        resp.status = falcon.HTTP_304
        return
    resp.content_type = media_type
    resp.data = content


@cache
def _page() -> bytes:
    page = (_FOLDER / "index.html").read_text("utf-8")
    return page.replace("EXAMPLES", render_examples()).encode()


@cache
def page_file(name: str) -> bytes | None:
    """Return the content of one of the page's files, or None if Swagger UI is not installed."""
    own = _FOLDER / name
    if own.exists():
        return own.read_bytes()
    package = find_spec("flask_swagger_ui")
    if package is None or package.origin is None:
        return None
    return (Path(package.origin).parent / "dist" / name).read_bytes()
