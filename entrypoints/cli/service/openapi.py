"""`recipient-fields openapi`."""

from __future__ import annotations

import json

import click

from ...service.selection import open_core
from ..commands import Command
from ..output import print_line


@click.command(cls=Command)
def openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    # Imported here, so that other commands start without Falcon.
    from ...http.app import create_app
    from ...http.openapi.document import document

    app = create_app(open_core("memory:"))
    print_line(json.dumps(document(app.routes), indent=2, ensure_ascii=False))
