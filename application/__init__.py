"""The use cases, and the ports that they need."""

from . import (
    accounts,
    clock,
    content,
    copying,
    core,
    documents,
    environment,
    esp,
    extras,
    fields,
    ports,
    recipient_fields,
    snapshots,
)
from .accounts.administration import *
from .accounts.administrators import *
from .accounts.audit import *
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
from .esp.integrations import *
from .extras import *
from .fields.documents import *
from .fields.history_limits import *
from .fields.plan_documents import *
from .fields.publication import *
from .ports.administrators import *
from .ports.clock import *
from .ports.driving import *
from .ports.fields import *
from .ports.history import *
from .ports.integrations import *
from .ports.keys import *
from .ports.organizations import *
from .ports.sessions import *
from .ports.storage import *
from .recipient_fields import *
from .snapshots import *

__all__ = [
    *accounts.administration.__all__,
    *accounts.administrators.__all__,
    *accounts.audit.__all__,
    *accounts.key_validation.__all__,
    *clock.__all__,
    *copying.__all__,
    *core.__all__,
    *documents.conversion.__all__,
    *documents.strict_json.__all__,
    *environment.__all__,
    *content.code_documents.__all__,
    *content.content.__all__,
    *content.documents.__all__,
    *esp.integrations.__all__,
    *extras.__all__,
    *fields.documents.__all__,
    *fields.history_limits.__all__,
    *fields.plan_documents.__all__,
    *fields.publication.__all__,
    *ports.administrators.__all__,
    *ports.clock.__all__,
    *ports.driving.__all__,
    *ports.fields.__all__,
    *ports.history.__all__,
    *ports.integrations.__all__,
    *ports.keys.__all__,
    *ports.organizations.__all__,
    *ports.sessions.__all__,
    *ports.storage.__all__,
    *recipient_fields.__all__,
    *snapshots.__all__,
]
