"""The HTTP service: a Falcon application hosted by waitress, or mounted in another."""

from recipient_fields.application.extras import requires_extra

with requires_extra("http", "falcon"):
    from .app import create_app

__all__ = ["create_app"]
