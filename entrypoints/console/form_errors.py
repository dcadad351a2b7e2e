"""The errors of a form, next to its inputs and in the summary above it."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from attrs import frozen

from recipient_fields.domain import InvalidInput


@frozen
class FormError:
    """An error at an input. `anchor` is the id of the input, and `label` its visible name."""

    anchor: str
    label: str
    message: str


@frozen
class FormErrors:
    """The errors of a form."""

    errors: tuple[FormError, ...] = ()

    @classmethod
    def of(cls, invalid: InvalidInput, labels: Mapping[str, str]) -> FormErrors:
        """Return the violations at the inputs with these labels.

        The path of a violation begins with the name of its input.
        """
        names = [str(violation.path[0]) for violation in invalid.violations]
        return cls(
            tuple(
                FormError(name, labels[name], violation.message)
                for name, violation in zip(names, invalid.violations, strict=True)
            )
        )

    @property
    def status(self) -> HTTPStatus:
        """The status of the page with the form."""
        return HTTPStatus.UNPROCESSABLE_ENTITY if self.errors else HTTPStatus.OK

    def at(self, name: str) -> list[FormError]:
        """Return the errors at an input."""
        return [each for each in self.errors if each.anchor == name]


NO_ERRORS = FormErrors()
