"""The use cases, and the ports that they need."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .accounts.administration import *
    from .accounts.administrators import *
    from .accounts.key_validation import *
    from .clock import *
    from .content.code_documents import *
    from .content.content import *
    from .content.documents import *
    from .copying import *
    from .core import *
    from .documents.conversion import *
    from .documents.strict_json import *
    from .environment import *
    from .esp.connections import *
    from .esp.integrations import *
    from .extras import *
    from .fields.default_limits import *
    from .fields.documents import *
    from .fields.history_limits import *
    from .ports.accounts import *
    from .ports.driving import *
    from .ports.fields import *
    from .ports.integrations import *
    from .ports.storage import *
    from .recipient_fields import *
else:
    from recipient_fields.domain.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "extras",
        "environment",
        "fields.default_limits",
        "clock",
        "documents.strict_json",
        "ports.accounts",
        "ports.fields",
        "ports.driving",
        "ports.integrations",
        "ports.storage",
        "fields.history_limits",
        "recipient_fields",
        "accounts.administration",
        "accounts.key_validation",
        "core",
        "copying",
        "accounts.administrators",
        "documents.conversion",
        "fields.documents",
        "esp.integrations",
        "esp.connections",
        "content.content",
        "content.code_documents",
        "content.documents",
    )
