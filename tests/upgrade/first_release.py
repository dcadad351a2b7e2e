"""The first release: its command, and the storages that it made."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from attrs import frozen

from ..support.command_line import CommandLine, Script
from ..support.service import FIELDS, Client

FOLDER = Path(__file__).with_name("first_release")
WHEEL = FOLDER / "recipient_fields-0.1.0-py3-none-any.whl"
LAST_MIGRATION = "0002_integrations"
"""The newest migration of the first release."""
RECORDS = {"fields": "recipient_fields", "keys": "api_keys", "integrations": "integrations"}
"""The commands that list records, and the names of their lists."""
TECHNOLOGIES = ("sqlite", "postgresql")


def install(folder: Path) -> str:
    """Create a virtual environment with the first release, and return the path of its command.

    It uses the installed dependencies of this version. `site` reads no `.pth` files in the folder
    that another one adds, so the environment does not contain this version.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "--python", python, "install"),
            *("--quiet", "--no-index", "--no-deps", WHEEL),
        ],
        check=True,
    )
    paths = {"base": str(folder), "platbase": str(folder)}
    own_packages = Path(sysconfig.get_path("purelib", "venv", paths))
    (own_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return str(folder / "bin/recipient-fields")


@frozen
class Fixture:
    """A storage that the first release made, and what its commands and its service returned."""

    technology: str

    @property
    def database(self) -> Path:
        """The SQLite file, or the SQL statements that `pg_dump` wrote."""
        return FOLDER / ("fields.sqlite" if self.technology == "sqlite" else "postgresql.sql")

    @property
    def _content(self) -> Path:
        return FOLDER / f"{self.technology}.json"

    def read(self) -> dict[str, Any]:
        """Return the content, with the members `keys`, `deleted`, `stored` and `served`."""
        content: dict[str, Any] = json.loads(self._content.read_text("utf-8"))
        return content

    def write(self, **content: object) -> None:
        """Replace the content."""
        text = json.dumps(content, ensure_ascii=False, indent=1)
        self._content.write_text(f"{text}\n", "utf-8")


def stored(command: Script | CommandLine) -> list[dict[str, Any]]:
    """Return everything that the command lists. This uses no API key."""
    organizations = command("organizations", "list", "--json").document()["organizations"]
    return [
        {**organization, **_records(command, organization["id"])} for organization in organizations
    ]


def _records(command: Script | CommandLine, organization_id: int) -> dict[str, Any]:
    return {
        name: command(group, "list", "--organization", organization_id, "--json").document()[name]
        for group, name in RECORDS.items()
    }


def served(url: str, keys: dict[str, str]) -> dict[str, Any]:
    """Return the responses of a service to each key: to a list, and to an invalid new field."""
    return {name: _responses(Client(url, key)) for name, key in keys.items()}


def _responses(client: Client) -> dict[str, Any]:
    response = client("GET", FIELDS)
    found: dict[str, Any] = {"list": response.status, "creation": client("POST", FIELDS, {}).status}
    if response.status == 200:
        found |= {"etag": response.headers["ETag"], "document": response.document}
    return found
