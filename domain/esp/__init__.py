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
from .content import (
    ExportedContent,
    export_content,
    exportable_fields,
)
from .dialects import (
    DIALECTS,
    Dialect,
    Esp,
    Form,
    Quoting,
)
from .errors import (
    EmptyReport,
    EspFieldTaken,
    EspRefused,
    EspUnavailable,
    IntegrationChanged,
    IntegrationNotFound,
    IntegrationRequired,
    InvalidIntegration,
    NoFieldSource,
    NoSafeForm,
    NotExpressible,
    NotInsertable,
    SyncOvertaken,
)
from .integrations import (
    Integration,
    IntegrationDraft,
)
from .recognition import recognize_dialects
from .restoration import plan_restorations
from .snippets import (
    Snippet,
    VariableClash,
    derive_snippet,
    variable_clashes,
)
from .sync import (
    EspField,
    RefusedField,
    RemovalsNotConfirmed,
    ReportedField,
    SyncNotConfirmed,
    SyncPlan,
    SyncPlanChanged,
    SyncRun,
)

__all__ = [
    "DIALECTS",
    "ConditionCode",
    "Dialect",
    "EmptyReport",
    "Esp",
    "EspField",
    "EspFieldTaken",
    "EspRefused",
    "EspUnavailable",
    "ExportedContent",
    "Form",
    "Integration",
    "IntegrationChanged",
    "IntegrationDraft",
    "IntegrationNotFound",
    "IntegrationRequired",
    "InvalidIntegration",
    "NoFieldSource",
    "NoSafeForm",
    "NotExpressible",
    "NotInsertable",
    "Quoting",
    "RefusedField",
    "RemovalsNotConfirmed",
    "ReportedField",
    "Snippet",
    "SnippetWarning",
    "SyncNotConfirmed",
    "SyncOvertaken",
    "SyncPlan",
    "SyncPlanChanged",
    "SyncRun",
    "VariableClash",
    "compile_condition",
    "derive_snippet",
    "export_content",
    "exportable_fields",
    "field_warnings",
    "plan_restorations",
    "recognize_dialects",
    "snippet_warnings",
    "variable_clashes",
]
