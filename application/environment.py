"""Environment variables with credentials, which several adapters read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG

from recipient_fields.domain import RecipientFieldsError

__all__ = ["CredentialsNotPermitted", "MissingCredentials", "UnusableCredentials"]

VARIABLE_PREFIX = "RECIPIENT_FIELDS_"
"""The prefix of the name of every environment variable that Recipient Fields reads."""

SECRETS_KEY = f"{VARIABLE_PREFIX}SECRETS_KEY"
"""The variable with the keys that encrypt the credentials in the storage, one per line."""

FILE_SUFFIX = "_FILE"
"""The end of the name of a variable that contains the path of a file with a secret."""


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
    """Credentials contain control characters, contradict each other, or are not readable."""


class CredentialsNotPermitted(RecipientFieldsError):
    """The organization may not use the server's credentials."""

    _message = (
        "The operator has not permitted this organization to use the credentials of the server"
        " (--esp-organizations)."
    )


def read_variables(variables: Iterable[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values of the variables that are not blank, without white space at the ends.

    Raises: UnusableCredentials if a value contains control characters, and what `read_secret`
    raises.
    """
    texts = {variable: read_secret(variable, environment).strip() for variable in variables}
    unprintable = [variable for variable, text in texts.items() if not text.isprintable()]
    if unprintable:
        raise UnusableCredentials(
            f"Remove the control characters from the value of {', '.join(unprintable)}."
        )
    return {variable: text for variable, text in texts.items() if text}


def read_secret(variable: str, environment: Mapping[str, str]) -> str:
    """Return the value of the variable, or the content of the file in the variable with `_FILE`.

    So supervisors can pass a secret as a file. The content is UTF-8, without line feeds at its end.
    Return an empty text if neither variable is set.

    Raises: UnusableCredentials if both are set, or the file is empty, not
    readable, or not a regular file.
    """
    value = environment.get(variable, "")
    file_variable = f"{variable}{FILE_SUFFIX}"
    path = environment.get(file_variable, "")
    if not path:
        return value
    if value:
        raise UnusableCredentials(
            f"{variable} and {variable}{FILE_SUFFIX} are both set. Unset one of them."
        )
    named = f"{path}, which {variable}{FILE_SUFFIX} names"
    file = Path(path)
    try:
        # Opening a pipe would wait until another process writes to it.
        if not S_ISREG(file.stat().st_mode):
            raise UnusableCredentials(f"Can't read {named}: it is not a regular file.")
        secret = file.read_text("utf-8-sig").rstrip("\r\n")
    except OSError as error:
        raise UnusableCredentials(f"Can't read {named}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UnusableCredentials(f"Can't read {named}: it is not UTF-8.") from None
    if "\0" in secret:
        raise UnusableCredentials(f"{named}, contains a null character. Remove it.")
    if not secret:
        raise UnusableCredentials(f"{named}, is empty. Write the value into it.")
    return secret
