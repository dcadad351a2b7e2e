"""The HTTP API: a WSGI application for the service, or to mount in another application."""

from recipient_fields.application.extras import requires_extra

with requires_extra("http", "falcon"):
    from .app import Api, create_app
    from .heavy_requests import HeavyRequests
    from .responses import UnreadResponses

__all__ = ["Api", "HeavyRequests", "UnreadResponses", "create_app"]
