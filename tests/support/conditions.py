"""Fields with each type of values, and generated conditions on them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from unicodedata import normalize

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from recipient_fields.domain import (
    API,
    MAX_SAFE_INTEGER,
    DataType,
    FieldDraft,
    FieldId,
    OrganizationId,
    RecipientField,
    from_epoch_milliseconds,
)
from recipient_fields.domain.conditions import (
    SUPPORTED_OPERATORS,
    AllOf,
    AnyOf,
    Comparison,
    Condition,
    Not,
    Operator,
    number_literal,
)


def define(
    key: str, data_type: DataType, allowed_values: Sequence[object] | None = None
) -> RecipientField:
    """Return an API-managed field with this key, which is also its name."""
    draft = FieldDraft(name=key, key=key, data_type=data_type, allowed_values=allowed_values)
    definition = draft.define(by=API, at=datetime(2026, 11, 20, 12, tzinfo=UTC))
    return definition.with_id(FieldId(1), OrganizationId(1))


FIELDS = (
    define("city", DataType.TEXT),
    define("loyalty_tier", DataType.TEXT, ["gold", "silver", "Größe"]),
    define("visits", DataType.NUMBER),
    define("size", DataType.NUMBER, [1, 2.5]),
    define("newsletter", DataType.BOOLEAN),
    define("birthday", DataType.DATE),
    define("holiday", DataType.DATE, ["2026-12-24"]),
    define("last_visit", DataType.DATETIME),
    define("slot", DataType.DATETIME, ["2026-11-20T09:15:00.000Z"]),
)

_CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"])
_VALUES = {
    DataType.TEXT: st.text(st.sampled_from("a \"'\\()\N{COMBINING ACUTE ACCENT}") | _CHARACTERS)
    .map(lambda text: normalize("NFC", text)[:50])
    .filter(bool),
    DataType.NUMBER: st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(-1e9, 1e9).map(number_literal),
    DataType.BOOLEAN: st.booleans(),
    DataType.DATE: st.dates(),
    DataType.DATETIME: st.integers(-62_135_596_800_000, 253_402_300_799_999).map(
        from_epoch_milliseconds
    ),
}
_UNRESTRICTED = [field for field in FIELDS if field.allowed_values is None]


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    """Generate a comparison that `check_condition` accepts."""
    field = draw(st.sampled_from(_UNRESTRICTED))
    supported = SUPPORTED_OPERATORS[field.data_type]
    operator = draw(st.sampled_from([each for each in Operator if each in supported]))
    values = _VALUES[field.data_type]
    match operator:
        case Operator.IS_SET | Operator.IS_NOT_SET | Operator.IS_TRUE:
            return Comparison(field.key, operator)
        case Operator.IN:
            some = draw(st.lists(values, min_size=1, max_size=3))
            return Comparison(field.key, operator, tuple(some))
    return Comparison(field.key, operator, draw(values))


def conditions(
    comparisons: SearchStrategy[Comparison] = comparisons(),  # noqa: B008
) -> SearchStrategy[Condition]:
    """Generate conditions that consist of these comparisons."""
    return st.recursive(comparisons, _compounds, max_leaves=20)


def _compounds(inner: SearchStrategy[Condition]) -> SearchStrategy[Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(Not, inner) | st.builds(AllOf, several) | st.builds(AnyOf, several)
