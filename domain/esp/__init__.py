"""Email service providers (ESPs): dialects, integrations, sync runs and export of content."""

from . import (
    checks,
    conditions,
    content,
    derived_codes,
    dialects,
    errors,
    filtered_codes,
    integrations,
    names,
    recognition,
    restoration,
    surfaces,
    sync,
)
from .checks import *
from .conditions import *
from .content import *
from .derived_codes import *
from .dialects import *
from .errors import *
from .filtered_codes import *
from .integrations import *
from .names.changes import *
from .names.codes import *
from .names.esp_names import *
from .recognition import *
from .restoration import *
from .surfaces import *
from .sync import *

__all__ = [
    *checks.__all__,
    *conditions.__all__,
    *content.__all__,
    *dialects.__all__,
    *errors.__all__,
    *filtered_codes.__all__,
    *integrations.__all__,
    *names.changes.__all__,
    *names.codes.__all__,
    *names.esp_names.__all__,
    *recognition.__all__,
    *restoration.__all__,
    *derived_codes.__all__,
    *surfaces.__all__,
    *sync.__all__,
]
