"""The six operations that the reference page shows first, in curl, Python and JavaScript."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape

from attrs import frozen

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
