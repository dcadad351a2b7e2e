"""A Recipient Fields service elsewhere, as the use cases of this process."""

from recipient_fields.application.extras import brought_by

with brought_by("client", "urllib3"):
    from .client import RecipientFieldsClient
    from .patience import Patience
    from .refusals import RequestRefused

__all__ = ["Patience", "RecipientFieldsClient", "RequestRefused"]
