"""The command line `recipient-fields`."""

from recipient_fields.application.extras import requires_extra

with requires_extra("cli", "click", "setproctitle"):
    from .main import main

__all__ = ["main"]
