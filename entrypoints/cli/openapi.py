"""`recipient-fields openapi`."""

from __future__ import annotations

import json

import click

from ..http.openapi.document import document
from .output import print_line


@click.command()
def openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    print_line(json.dumps(document(), indent=2, ensure_ascii=False))
