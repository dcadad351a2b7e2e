"""A Recipient Fields service elsewhere, as the use cases of this process."""

from recipient_fields.application.extras import requires_extra

with requires_extra("client", "urllib3"):
    from .client import RecipientFieldsClient
    from .patience import Patience
    from .refusals import RequestRefused

__all__ = ["Patience", "RecipientFieldsClient", "RequestRefused"]
