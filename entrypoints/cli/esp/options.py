"""The options of commands for one integration."""

from __future__ import annotations

import click

from ..options import F
from ..targets import organization_option
from ..typed_options import IDENTIFIER


def integration_options(command: F) -> F:
    """Add the argument for the id of the integration, and the option for its organization."""
    return click.argument("integration_id", type=IDENTIFIER)(organization_option(command))
