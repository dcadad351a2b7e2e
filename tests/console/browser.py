"""A browser without a script: it keeps cookies, reads forms and submits them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from attrs import Factory, define
from falcon.testing import TestClient

ORIGIN = "http://console.test"
URLENCODED = "application/x-www-form-urlencoded"


@define
class Form:
    """A form of a page."""

    action: str
    method: str
    inputs: list[tuple[str, str]] = Factory(list)
    buttons: list[tuple[str, str]] = Factory(list)
    """The name and the value of each submit button."""

    @property
    def is_post(self) -> bool:
        """Whether the form changes something."""
        return self.method.lower() == "post"

    def value(self, name: str) -> str:
        """Return the value of an input."""
        return dict(self.inputs)[name]

    @property
    def main_button(self) -> tuple[str, str] | None:
        """The button that saves, or the first one with a name."""
        named = [each for each in self.buttons if each[0]]
        return next(
            (each for each in named if each[1] in {"save", "export"}), next(iter(named), None)
        )

    def values(self, name: str) -> list[str]:
        """Return the values of all inputs with this name."""
        return [value for each, value in self.inputs if each == name]


@define
class Response:
    """A response, and the page in it."""

    status: int
    headers: Any
    html: str
    path: str

    @cached_property
    def _page(self) -> _Reader:
        reader = _Reader()
        reader.feed(self.html)
        return reader

    @property
    def forms(self) -> list[Form]:
        return self._page.forms

    @property
    def links(self) -> dict[str, str]:
        """The path of each link, by its text."""
        return self._page.links

    @property
    def text(self) -> str:
        """The visible text, with single spaces."""
        return " ".join("".join(self._page.texts).split())

    @property
    def tags(self) -> list[tuple[str, dict[str, str | None]]]:
        return self._page.tags

    @property
    def location(self) -> str:
        """The path to which the response redirects."""
        location: str = self.headers["location"]
        return location

    def form(self, name: str = "csrf") -> Form:
        """Return the main POST form: the last one with an input of this name."""
        return [each for each in self.forms if name in dict(each.inputs)][-1]


@define
class Browser:
    """A browser with its own cookies."""

    app: Any
    cookies: dict[str, str] = Factory(dict)
    headers: dict[str, str] = Factory(dict)

    def get(self, path: str, **headers: str) -> Response:
        """Open a page, without following redirects."""
        return self._send("GET", path, headers=headers)

    def open(self, path: str) -> Response:
        """Open a page, and follow redirects."""
        response = self.get(path)
        for _ in range(5):  # A wrong redirect could lead back.
            if response.status != 303:
                break
            response = self.get(urljoin(path, response.location))
        return response

    def post(self, path: str, inputs: Any, **headers: str | None) -> Response:
        """Send a form, as a page of the console does unless `headers` differ. None omits one."""
        sent = {"Origin": ORIGIN, "Content-Type": URLENCODED, **headers}
        return self._send("POST", path, body=urlencode(inputs), headers=sent)

    def submit(
        self,
        page: Response,
        changes: Mapping[str, str | Sequence[str]] | None = None,
        *,
        press: tuple[str, str] | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Response:
        """Change inputs of the page's form and submit it, with a button or with the main one."""
        form = page.form()
        changes = changes or {}
        inputs = [pair for pair in form.inputs if pair[0] not in changes]
        for name, value in changes.items():
            inputs += [(name, each) for each in ([value] if isinstance(value, str) else value)]
        button = press or form.main_button
        inputs += [] if button is None else [button]
        path = urljoin(page.path, form.action) if form.action else page.path
        return self.post(path, inputs, **(headers or {}))

    def submit_form(
        self,
        page: Response,
        action: str,
        changes: Mapping[str, str] | None = None,
        *,
        press: tuple[str, str] | None = None,
    ) -> Response:
        """Submit the form of the page whose action ends with this text."""
        form = next(each for each in page.forms if each.action.endswith(action))
        inputs = dict(form.inputs) | dict(changes or {}) | dict([press] if press else [])
        return self.post(form.action, list(inputs.items()))

    def upload(
        self,
        page: Response,
        action: str,
        file: bytes,
        *,
        press: tuple[str, str],
        name: str = "report",
        file_name: str = "report.json",
        changes: Mapping[str, str] | None = None,
    ) -> Response:
        """Change inputs of the page's last form with this action, and submit it with a file."""
        form = [each for each in page.forms if each.action.endswith(action)][-1]
        inputs = dict(form.inputs) | dict(changes or {}) | dict([press])
        parts = [
            f'--x\r\nContent-Disposition: form-data; name="{each}"\r\n\r\n{value}\r\n'.encode()
            for each, value in inputs.items()
            if each != name
        ]
        head = f'name="{name}"; filename="{file_name}"\r\nContent-Type: application/octet-stream'
        parts.append(f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + file)
        headers = {"Origin": ORIGIN, "Content-Type": "multipart/form-data; boundary=x"}
        body = b"".join(parts) + b"\r\n--x--\r\n"
        return self._send("POST", form.action or page.path, body=body, headers=headers)

    def follow(self, response: Response) -> Response:
        """Open the page to which the response redirects."""
        assert response.status == 303, response.text
        return self.open(response.location)

    def _send(
        self, method: str, path: str, *, body: str | bytes | None = None, headers: dict[str, Any]
    ) -> Response:
        given = {**self.headers, **headers}
        sent = {name.replace("_", "-"): v for name, v in given.items() if v is not None}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        result = TestClient(self.app).simulate_request(
            method,
            urlsplit(path).path,
            query_string=urlsplit(path).query,
            body=body,
            headers=sent,
            host="console.test",
        )
        for name, cookie in result.cookies.items():
            if cookie.expires is None:
                self.cookies[name] = cookie.value
            else:
                self.cookies.pop(name, None)
        return Response(result.status_code, result.headers, result.text, path)


def browser_at(address: str, app: Any) -> Browser:
    """Return a browser whose requests come from this IP address."""

    def application(environ: dict[str, Any], start_response: Any) -> Any:
        return app({**environ, "REMOTE_ADDR": address}, start_response)

    return Browser(application)


class _Reader(HTMLParser):
    """Reads what a user of the page can use."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: dict[str, str] = {}
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._form: Form | None = None
        self._link: list[str] | None = None
        self._href = ""
        self._area: list[str] | None = None
        self._area_name = ""
        self._select = ""
        self._on_end: dict[str, Callable[[], None]] = {
            "form": self._end_form,
            "a": self._end_link,
            "textarea": self._end_area,
        }

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        name, value = attributes.get("name") or "", attributes.get("value") or ""
        if tag == "form":
            self._form = Form(attributes.get("action") or "", attributes.get("method") or "get")
            self.forms.append(self._form)
        elif tag == "a":
            self._link, self._href = [], attributes.get("href") or ""
        elif tag == "textarea":
            self._area, self._area_name = [], name
        elif self._form is not None and tag == "button" and attributes.get("type") != "button":
            self._form.buttons.append((name, value))
        elif self._form is not None and tag == "input":
            is_off = attributes.get("type") in {"radio", "checkbox"} and "checked" not in attributes
            if name and not is_off:
                self._form.inputs.append((name, value))
        elif tag == "select":
            self._select = name
        elif self._form is not None and tag == "option" and "selected" in attributes:
            self._form.inputs.append((self._select, value))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._on_end:
            self._on_end[tag]()
        if tag not in {"bdi", "strong", "code", "a", "ins", "del"}:
            self.texts.append(" ")

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.append(data)
            return
        self.texts.append(data)
        if self._link is not None:
            self._link.append(data)

    def _end_form(self) -> None:
        self._form = None

    def _end_link(self) -> None:
        if self._link is not None:
            self.links["".join(self._link).strip()] = self._href
        self._link = None

    def _end_area(self) -> None:
        if self._form is not None and self._area is not None and self._area_name:
            text = "".join(self._area)
            # A browser drops the first line break, and sends CR LF for the others.
            text = text.removeprefix("\n").replace("\n", "\r\n")
            self._form.inputs.append((self._area_name, text))
        self._area = None
