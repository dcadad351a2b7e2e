"""The composition root: what runs, for which settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from recipient_fields.application import (
    DEFAULT_FIELD_LIMIT,
    EspFieldSource,
    KeyValidator,
    Storage,
)
from recipient_fields.application import Core as Core  # what `open_core` gives
from recipient_fields.domain import InvalidStorageUrl, RecipientFieldsError
from recipient_fields.domain.esp import DIALECTS, Esp

STORAGE_GROUP = "recipient_fields.storage"
"""The entry points that open storages of other schemes: `scheme = "module:function"`, called with
the URL."""

KEY_VALIDATOR_GROUP = "recipient_fields.key_validator"
"""The entry points that validate API keys in other ways: `scheme = "module:function"`, called with
the URL."""

STORED_KEYS = "stored:"
"""The URL that means the keys which the storage holds."""

VARIABLE_PREFIX = "RECIPIENT_FIELDS_"
"""The prefix of the name of every environment variable that Recipient Fields reads."""

_POSTGRES = {"postgres", "postgresql"}
_INTROSPECTION = {"introspection+https", "introspection+http"}
_CLIENT_ID, _CLIENT_SECRET, _TOKEN = (
    f"{VARIABLE_PREFIX}INTROSPECTION_{name}" for name in ("CLIENT_ID", "CLIENT_SECRET", "TOKEN")
)


class NoBackup(RecipientFieldsError):
    """The storage is not in a SQLite file."""


class UnknownKeyValidator(RecipientFieldsError):
    """No adapter validates API keys at this URL."""


class NoFieldSource(RecipientFieldsError):
    """This ESP can't be asked for its fields."""


class MissingCredentials(RecipientFieldsError):
    """The environment lacks `variables`, or `instead` of them all another one, to do something."""

    def __init__(self, what: str, variables: Iterable[str], instead: str | None = None) -> None:
        self.variables: tuple[str, ...] = tuple(variables)
        otherwise = "" if instead is None else f"; or instead {instead}"
        super().__init__(f"To {what}, set {', '.join(self.variables)}{otherwise}.")


class UnusableCredentials(RecipientFieldsError):
    """Credentials in the environment contradict each other, or can't be sent."""


class UnusableSettings(RecipientFieldsError):
    """Settings of a key validator that it can't be made with."""


def open_core(
    storage_url: str,
    *,
    field_limit: int = DEFAULT_FIELD_LIMIT,
    keys_url: str = STORED_KEYS,
    environment: Mapping[str, str] | None = None,
) -> Core:
    """Return the application services for the storage at that URL.

    `keys_url` and `environment`: see open_key_validator.
    """
    validator = open_key_validator(keys_url, environment or {})
    storage = open_storage(storage_url)
    return Core.over(storage, field_limit=field_limit, validator=validator)


def open_storage(url: str) -> Storage:
    """The storage of that URL: ours by its scheme, or one that an entry point opens.

    InvalidStorageUrl, StorageUnavailable; MissingExtra where the adapter's extra is not installed.
    """
    scheme, _ = _split(url)
    if scheme == "memory":
        return _open_memory(url)
    if scheme == "sqlite":
        return _open_sqlite(url)
    if scheme in _POSTGRES:
        return _open_postgres(url)
    opened: Storage = _plugin(STORAGE_GROUP, scheme, InvalidStorageUrl, _NO_STORAGE)(url)
    return opened


def open_new_storage(url: str) -> Storage:
    """The storage of that URL for a copy: a PostgreSQL database without a schema gets it.

    An older schema stays as it is, because an empty storage has none. Raises the same as
    `open_storage`.
    """
    if _split(url)[0] in _POSTGRES:
        _migrate_new_postgres(url)
    return open_storage(url)


def existing_storage(url: str) -> str:
    """Return the URL for commands that don't create a storage.

    A missing SQLite file is then an error, unless the URL has the option `create`.
    """
    return _without_creation(url) if _split(url)[0] == "sqlite" else url


def back_up_storage(url: str, file: Path) -> None:
    """Write a copy of the SQLite file of that URL to a new file.

    Raises: NoBackup if the storage is not in a SQLite file. BackupFailed, InvalidStorageUrl,
    StorageNotFound, StorageUnavailable.
    """
    scheme, _ = _split(url)
    if scheme in _POSTGRES:
        raise NoBackup("`backup` is for SQLite. Back up PostgreSQL with pg_dump.")
    if scheme != "sqlite":
        raise NoBackup("`backup` is for SQLite. Use the tools of this storage's technology.")
    _back_up_sqlite(url, file)


def storage_kind(url: str) -> str:
    """Return the kind of the storage, for logs: other parts of its URL can contain a password."""
    scheme, _ = _split(url)
    return "postgresql" if scheme in _POSTGRES else scheme


def migrate_storage(url: str) -> None:
    """Bring the schema up to date, which storages other than PostgreSQL do when opened."""
    if _split(url)[0] in _POSTGRES:
        _migrate_postgres(url)
    else:
        open_storage(url).close()


def open_key_validator(url: str, environment: Mapping[str, str]) -> KeyValidator | None:
    """What validates API keys at that URL: ours by its scheme, or what an entry point opens.

    None for STORED_KEYS, which come with the storage. Our own secrets are in the environment alone.
    UnknownKeyValidator, UnusableSettings, MissingCredentials, UnusableCredentials, MissingExtra.
    """
    scheme, colon, rest = url.partition(":")
    if not (scheme and colon) or (scheme == "stored" and rest):
        raise UnknownKeyValidator(
            "What validates keys is a URL: stored: and nothing else, or introspection+https://…"
        )
    if scheme == "stored":
        return None
    if scheme in _INTROSPECTION:
        return _open_introspection(url.removeprefix("introspection+"), environment)
    opened: KeyValidator = _plugin(
        KEY_VALIDATOR_GROUP, scheme, UnknownKeyValidator, _NO_KEY_VALIDATOR
    )(url)
    return opened


_ESP_SETTINGS: Mapping[Esp, tuple[str, str]] = {
    Esp.SALESFORCE: ("client_id client_secret subdomain data_extension", "account_id url"),
    Esp.MAILCHIMP: ("api_key list_id", "url"),
    Esp.KLAVIYO: ("api_key", "pages url"),
    Esp.BRAZE: ("api_key url", ""),
    Esp.HUBSPOT: ("access_token", "url"),
    Esp.SENDGRID: ("api_key", "url"),
    Esp.ITERABLE: ("api_key", "url"),
    Esp.BREVO: ("api_key", "url"),
    Esp.ACTIVECAMPAIGN: ("api_key url", ""),
}
"""What each source must be given, and what it may be given: the variables' names end in these."""


def open_esp_source(esp: Esp, environment: Mapping[str, str]) -> EspFieldSource:
    """The ESP's account that the environment has the credentials of; they are kept nowhere else.

    A setting is the variable RECIPIENT_FIELDS_, the ESP and its name: RECIPIENT_FIELDS_BRAZE_URL.
    NoFieldSource, MissingCredentials, MissingExtra.
    """
    required, optional = esp_variables(esp)
    if not required:
        raise NoFieldSource(f"{DIALECTS[esp].title} lists no fields. Give them with --from.")
    given = given_variables(esp, environment)
    missing = [variable for variable in required.values() if variable not in given]
    if missing:
        raise MissingCredentials(f"ask {DIALECTS[esp].title} for its fields", missing)
    _require_printable(given)
    variables = {**required, **optional}
    return _esp_source(esp)(
        **{name: given[variable] for name, variable in variables.items() if variable in given}
    )


def given_variables(esp: Esp, environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the values of the ESP's variables that are set to more than white space."""
    required, optional = esp_variables(esp)
    variables = (*required.values(), *optional.values())
    given = {variable: environment.get(variable, "").strip() for variable in variables}
    return {variable: value for variable, value in given.items() if value}


def credential_variables() -> frozenset[str]:
    """Every variable that is read besides those of the command line's options."""
    ours = {name for esp in Esp for names in esp_variables(esp) for name in names.values()}
    return frozenset({*ours, _CLIENT_ID, _CLIENT_SECRET, _TOKEN})


def esp_variables(esp: Esp) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The variables that the ESP's source must have, and those it may have, by its own names."""
    required, optional = (
        {name: f"{VARIABLE_PREFIX}{esp.value}_{name}".upper() for name in names.split()}
        for names in _ESP_SETTINGS.get(esp, ("", ""))
    )
    return required, optional


def _esp_source(esp: Esp) -> Callable[..., EspFieldSource]:
    from recipient_fields.adapters.esp import SOURCES

    return SOURCES[esp]


def _open_introspection(url: str, environment: Mapping[str, str]) -> KeyValidator:
    from recipient_fields.adapters import introspection

    names = (_CLIENT_ID, _CLIENT_SECRET, _TOKEN)
    given = {name: environment.get(name, "").strip() for name in names}
    _require_printable(given)
    client_id, client_secret, token = given.values()
    if token and (client_id or client_secret):
        raise UnusableCredentials(f"Set either {_TOKEN}, or {_CLIENT_ID} and {_CLIENT_SECRET}.")
    if not token and not (client_id and client_secret):
        missing = [name for name in names[:2] if not given[name]]
        raise MissingCredentials("introspect tokens", missing, instead=_TOKEN)
    try:
        return introspection.introspection_at(
            url,
            introspection.bearer(token) if token else introspection.basic(client_id, client_secret),
        )
    except ValueError as error:
        raise UnusableSettings(str(error)) from None


def _require_printable(given: Mapping[str, str]) -> None:
    odd = [variable for variable, value in given.items() if not value.isprintable()]
    if odd:
        raise UnusableCredentials(f"{', '.join(odd)}: set this anew, without control characters.")


def _split(url: str) -> tuple[str, str]:
    scheme, colon, rest = url.partition(":")
    if not (scheme and colon):
        raise InvalidStorageUrl("A storage is a URL: memory:, sqlite:PATH or postgresql://…")
    return scheme, rest


def _open_memory(url: str) -> Storage:
    from recipient_fields.adapters.memory import open_storage

    return open_storage(url)


def _open_sqlite(url: str) -> Storage:
    from recipient_fields.adapters.sqlite import open_storage

    return open_storage(url)


def _without_creation(url: str) -> str:
    from recipient_fields.adapters.sqlite.url import without_creation

    return without_creation(url)


def _back_up_sqlite(url: str, file: Path) -> None:
    from recipient_fields.adapters.sqlite import back_up
    from recipient_fields.adapters.sqlite.url import parse_url

    path, _ = parse_url(url)
    back_up(path, file)


def _open_postgres(url: str) -> Storage:
    from recipient_fields.adapters.postgres import PostgresStorage

    return PostgresStorage(url)


def _migrate_postgres(url: str) -> None:
    from recipient_fields.adapters.postgres import migrate

    migrate(url)


def _migrate_new_postgres(url: str) -> None:
    from recipient_fields.adapters.postgres import migrate_new

    migrate_new(url)


_NO_STORAGE = (
    "There is no storage {}:. Use memory:, sqlite:PATH or postgresql://…, or install its adapter."
)
_NO_KEY_VALIDATOR = (
    "There is no validator of keys {}:. Use stored: or introspection+https://…, or install its"
    " adapter."
)


def _plugin(
    group: str, scheme: str, unknown: type[RecipientFieldsError], nothing: str
) -> Callable[[str], Any]:
    """What an entry point of the group opens URLs of that scheme with; `unknown` without one."""
    for entry_point in entry_points(group=group, name=scheme):
        try:
            opener: Callable[[str], Any] = entry_point.load()
        except (AttributeError, ImportError) as error:
            raise unknown(f"The adapter of {scheme}: can't be loaded: {error}.") from error
        return opener
    raise unknown(nothing.format(scheme))
