"""`recipient-fields openapi`."""

from __future__ import annotations

import json

import click

from .output import print_line


@click.command()
def openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    # Imported here, so that other commands start without Falcon.
    from ..http.openapi.document import document

    print_line(json.dumps(document(), indent=2, ensure_ascii=False))
