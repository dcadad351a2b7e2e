"""The Python client of the HTTP API."""

from recipient_fields.application.extras import requires_extra

with requires_extra("client", "urllib3"):
    from .client import RecipientFieldsClient
    from .errors import RequestRefused
    from .requests import RetryPolicy

__all__ = ["RecipientFieldsClient", "RequestRefused", "RetryPolicy"]
