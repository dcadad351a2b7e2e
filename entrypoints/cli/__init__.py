"""The command line `recipient-fields`."""

from recipient_fields.application.extras import brought_by

with brought_by("cli", "click", "setproctitle"):
    from .main import main

__all__ = ["main"]
