"""The domain: fields, origins, permissions, API keys, errors. It imports only attrs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .accounts.administrators import *
    from .accounts.api_keys import *
    from .accounts.errors import *
    from .accounts.organizations import *
    from .errors import *
    from .fields.batches import *
    from .fields.catalog_changes import *
    from .fields.errors import *
    from .fields.field import *
    from .fields.history import *
    from .fields.member_changes import *
    from .fields.members import *
    from .fields.origins import *
    from .fields.preconditions import *
    from .fields.protocol import *
    from .fields.queries import *
    from .fields.sizes import *
    from .fields.unstored import *
    from .fields.values import *
    from .identity import *
    from .instants import *
    from .permissions import *
    from .recipients.column_titles import *
    from .recipients.foreign_forms import *
    from .recipients.inference import *
    from .recipients.schema import *
    from .recipients.texts import *
    from .suggestions import *
    from .text import *
else:
    from .lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "errors",
        "identity",
        "text",
        "suggestions",
        "instants",
        "accounts.errors",
        "fields.values",
        "fields.errors",
        "fields.origins",
        "fields.protocol",
        "fields.preconditions",
        "permissions",
        "fields.members",
        "fields.sizes",
        "fields.field",
        "fields.unstored",
        "fields.member_changes",
        "fields.history",
        "fields.catalog_changes",
        "fields.batches",
        "fields.queries",
        "accounts.organizations",
        "accounts.api_keys",
        "accounts.administrators",
        "recipients.column_titles",
        "recipients.foreign_forms",
        "recipients.schema",
        "recipients.texts",
        "recipients.inference",
    )
