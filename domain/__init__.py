"""The domain: fields, origins, permissions, API keys, errors. It imports only attrs."""

from . import (
    accounts,
    errors,
    fields,
    identity,
    instants,
    permissions,
    recipients,
    suggestions,
    text,
)
from .accounts.administrators import *
from .accounts.api_keys import *
from .accounts.errors import *
from .accounts.organizations import *
from .accounts.secret_tokens import *
from .errors import *
from .fields.batches import *
from .fields.catalog_changes import *
from .fields.errors import *
from .fields.field import *
from .fields.history import *
from .fields.member_changes import *
from .fields.members import *
from .fields.origins import *
from .fields.plans import *
from .fields.preconditions import *
from .fields.queries import *
from .fields.sizes import *
from .fields.values import *
from .identity import *
from .instants import *
from .permissions import *
from .recipients.columns import *
from .recipients.inference import *
from .recipients.rows import *
from .recipients.schema import *
from .recipients.texts import *
from .suggestions import *
from .text import *

__all__ = [
    *accounts.administrators.__all__,
    *accounts.api_keys.__all__,
    *accounts.errors.__all__,
    *accounts.organizations.__all__,
    *accounts.secret_tokens.__all__,
    *errors.__all__,
    *fields.batches.__all__,
    *fields.catalog_changes.__all__,
    *fields.errors.__all__,
    *fields.field.__all__,
    *fields.history.__all__,
    *fields.member_changes.__all__,
    *fields.members.__all__,
    *fields.origins.__all__,
    *fields.plans.__all__,
    *fields.preconditions.__all__,
    *fields.queries.__all__,
    *fields.sizes.__all__,
    *fields.values.__all__,
    *identity.__all__,
    *instants.__all__,
    *permissions.__all__,
    *recipients.columns.__all__,
    *recipients.inference.__all__,
    *recipients.rows.__all__,
    *recipients.schema.__all__,
    *recipients.texts.__all__,
    *suggestions.__all__,
    *text.__all__,
]
