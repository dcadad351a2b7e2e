"""What the languages and the checks of recipients need of a field."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..identity import FieldId
from .origins import Origin
from .values import AllowedValues, DataType, FieldName, InsertionCode, ValueExpression

__all__ = ["Field"]


@runtime_checkable
class Field(Protocol):
    """A field as content, conditions, code and checks of recipients read it.

    `RecipientField` has these members.
    """

    @property
    def id(self) -> FieldId:
        """The id, unique in the organization."""

    @property
    def name(self) -> FieldName:
        """The name that a person sees."""

    @property
    def key(self) -> str:
        """The key in references, or the path of data that is no field."""

    @property
    def data_type(self) -> DataType:
        """The type of its values."""

    @property
    def allowed_values(self) -> AllowedValues | None:
        """The values that it can have, or None if any value of the type is allowed."""

    @property
    def insertable(self) -> bool:
        """Whether content may show it."""

    @property
    def origin(self) -> Origin:
        """Where it came from."""

    @property
    def custom_insertion_code(self) -> InsertionCode | None:
        """The code that inserts it, if it has one of its own."""

    @property
    def custom_value_expression(self) -> ValueExpression | None:
        """The expression that tests it, if it has one of its own."""
