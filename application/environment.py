"""Environment variables with credentials, which several adapters read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from recipient_fields.domain import RecipientFieldsError

VARIABLE_PREFIX = "RECIPIENT_FIELDS_"
"""The prefix of the name of every environment variable that Recipient Fields reads."""


class MissingCredentials(RecipientFieldsError):
    """The environment variables with the credentials for `purpose` are not set."""

    def __init__(
        self, purpose: str, variables: Iterable[str], alternative: str | None = None
    ) -> None:
        """Name the missing variables, and `alternative`, which can be set instead of them."""
        self.variables: tuple[str, ...] = tuple(variables)
        otherwise = "" if alternative is None else f"; or set only {alternative}"
        super().__init__(f"To {purpose}, set {', '.join(self.variables)}{otherwise}.")


class UnusableCredentials(RecipientFieldsError):
    """Credentials in the environment contain control characters or contradict each other."""


class CredentialsNotPermitted(RecipientFieldsError):
    """The organization may not use the server's credentials."""

    def __init__(self) -> None:
        super().__init__(
            "The operator has not permitted this organization to use the credentials of the server"
            " (--esp-organizations)."
        )


def read_variables(variables: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the variables that are not blank, without white space at the ends.

    Raises: UnusableCredentials if a value contains control characters.
    """
    texts = {variable: environment.get(variable, "").strip() for variable in variables}
    unprintable = [variable for variable, text in texts.items() if not text.isprintable()]
    if unprintable:
        raise UnusableCredentials(
            f"Remove the control characters from the value of {', '.join(unprintable)}."
        )
    return {variable: text for variable, text in texts.items() if text}
