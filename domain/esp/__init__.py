"""Email service providers (ESPs): profiles, and code for their languages."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .code_warnings import *
    from .conditions import *
    from .content.export import *
    from .content.options import *
    from .content.report import *
    from .derived_codes import *
    from .errors import *
    from .field_codes import *
    from .names import *
    from .profiles import *
    from .profiles.profile import *
    from .recognition.tags import *
else:
    from ..lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        "errors",
        "names",
        "profiles",
        "profiles.profile",
        "code_warnings",
        "derived_codes",
        "recognition.tags",
        "field_codes",
        "conditions",
        "content.options",
        "content.report",
        "content.export",
    )
