"""Email service providers (ESPs): dialects, integrations, sync runs and export of content."""

from .checks import (
    CodeWarning,
    code_warnings,
    field_warnings,
)
from .codes import (
    FieldCodes,
    VariableClash,
    derive_codes,
    variable_clashes,
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
    "CodeWarning",
    "ConditionCode",
    "Dialect",
    "EmptyReport",
    "Esp",
    "EspField",
    "EspFieldTaken",
    "EspRefused",
    "EspUnavailable",
    "ExportedContent",
    "FieldCodes",
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
    "SyncNotConfirmed",
    "SyncOvertaken",
    "SyncPlan",
    "SyncPlanChanged",
    "SyncRun",
    "VariableClash",
    "code_warnings",
    "compile_condition",
    "derive_codes",
    "export_content",
    "exportable_fields",
    "field_warnings",
    "plan_restorations",
    "recognize_dialects",
    "variable_clashes",
]
