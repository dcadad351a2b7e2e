"""Email service providers (ESPs): dialects, integrations, sync runs and export of content."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .checks import *
    from .conditions import *
    from .content import *
    from .derived_codes import *
    from .errors import *
    from .esps import *
    from .filtered_codes import *
    from .integrations import *
    from .names.changes import *
    from .names.codes import *
    from .names.esp_names import *
    from .names.selection import *
    from .profiles import *
    from .profiles.profile import *
    from .recognition import *
    from .restoration import *
    from .sync import *
else:
    from ..lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "errors",
        "esps",
        "integrations",
        "profiles.profile",
        "profiles",
        "checks",
        "derived_codes",
        "names.esp_names",
        "names.selection",
        "names.changes",
        "sync",
        "restoration",
        "recognition",
        "filtered_codes",
        "names.codes",
        "conditions",
        "content",
    )
