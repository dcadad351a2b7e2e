"""Email service providers (ESPs): dialects, integrations, sync runs and export of content."""

from .checks import (
    SnippetWarning,
    field_warnings,
    snippet_warnings,
)
from .conditions import (
    ConditionCode,
    compile_condition,
)
from .dialects import (
    DIALECTS,
    Dialect,
    Esp,
    Form,
    Quoting,
)
from .errors import (
    ContentNotExportable,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    IntegrationNotFound,
    InvalidIntegration,
    NoFieldSource,
    NoSafeForm,
    NotExpressible,
    Obstacle,
    Placeholder,
    RefusedPlaceholder,
    SyncOvertaken,
)
from .export import (
    export_content,
    exportable_fields,
    find_malformed_placeholders,
    find_placeholders,
)
from .integrations import (
    Integration,
    IntegrationDraft,
)
from .recognition import (
    recognize_dialects,
)
from .snippets import (
    Snippet,
    VariableClash,
    derive_snippet,
    variable_clashes,
)
from .sync import (
    EspField,
    RefusedField,
    ReportedField,
    SyncPlan,
    SyncRun,
)

__all__ = [
    "DIALECTS",
    "ConditionCode",
    "ContentNotExportable",
    "Dialect",
    "Esp",
    "EspField",
    "EspRefused",
    "EspUnavailable",
    "Form",
    "Integration",
    "IntegrationChanged",
    "IntegrationDraft",
    "IntegrationNotFound",
    "InvalidIntegration",
    "NoFieldSource",
    "NoSafeForm",
    "NotExpressible",
    "Obstacle",
    "Placeholder",
    "Quoting",
    "RefusedField",
    "RefusedPlaceholder",
    "ReportedField",
    "Snippet",
    "SnippetWarning",
    "SyncOvertaken",
    "SyncPlan",
    "SyncRun",
    "VariableClash",
    "compile_condition",
    "derive_snippet",
    "export_content",
    "exportable_fields",
    "field_warnings",
    "find_malformed_placeholders",
    "find_placeholders",
    "recognize_dialects",
    "snippet_warnings",
    "variable_clashes",
]
