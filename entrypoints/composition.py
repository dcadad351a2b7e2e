"""The composition root: what runs, for which settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import entry_points

from attrs import frozen

from recipient_fields.application import (
    DEFAULT_FIELD_LIMIT,
    AdministrationService,
    EspFieldSource,
    IntegrationService,
    RecipientFieldService,
    Storage,
    StoredKeyValidator,
)
from recipient_fields.domain import RecipientFieldsError, whole_milliseconds
from recipient_fields.domain.esp import DIALECTS, Esp

STORAGE_GROUP = "recipient_fields.storage"
"""The entry points that open storages of other schemes: `scheme = "module:function"`, called with
the URL."""


_POSTGRES = {"postgres", "postgresql"}
_NO_POSTGRES = "Install recipient-fields[postgres] for this storage."


class UnknownStorage(RecipientFieldsError):
    """No adapter opens this storage URL."""


class NoFieldSource(RecipientFieldsError):
    """This ESP can't be asked for its fields."""


class MissingCredentials(RecipientFieldsError):
    """The environment lacks `variables`, without which the ESP can't be asked for its fields."""

    def __init__(self, esp: Esp, variables: Iterable[str]) -> None:
        self.variables = tuple(variables)
        names = ", ".join(self.variables)
        super().__init__(f"To ask {DIALECTS[esp].title} for its fields, set {names}.")


class UnusableCredentials(RecipientFieldsError):
    """The environment has a setting that can't be sent."""


@frozen
class Core:
    """The use cases over one storage."""

    storage: Storage
    fields: RecipientFieldService
    integrations: IntegrationService
    administration: AdministrationService
    validator: StoredKeyValidator


def now() -> datetime:
    """The system's clock."""
    return whole_milliseconds(datetime.now(UTC))


def open_core(
    storage_url: str,
    *,
    threads: int = 1,
    prepare: bool = True,
    field_limit: int = DEFAULT_FIELD_LIMIT,
) -> Core:
    """The use cases over the storage of that URL; UnknownStorage, StorageUnavailable.

    `threads` will use it at once. `prepare`: see PostgresStorage.
    """
    storage = open_storage(storage_url, threads=threads, prepare=prepare)
    return Core(
        storage,
        RecipientFieldService(fields=storage.fields, clock=now, limit=field_limit),
        IntegrationService(integrations=storage.integrations, fields=storage.fields, clock=now),
        AdministrationService(
            organizations=storage.organizations, api_keys=storage.api_keys, clock=now
        ),
        StoredKeyValidator(storage.api_keys, now),
    )


def open_storage(url: str, *, threads: int = 1, prepare: bool = True) -> Storage:
    """The storage of that URL: ours by its scheme, or one that an entry point opens."""
    scheme, rest = _split(url)
    if scheme == "memory":
        return _open_memory(rest)
    if scheme == "sqlite":
        return _open_sqlite(rest)
    if scheme in _POSTGRES:
        return _open_postgres(url, threads=threads, prepare=prepare)
    return _open_plugin(scheme)(url)


def migrate_storage(url: str) -> None:
    """Bring the schema up to date, which storages other than PostgreSQL do when opened."""
    if _split(url)[0] in _POSTGRES:
        _migrate_postgres(url)
    else:
        open_storage(url).close()


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
    NoFieldSource, MissingCredentials.
    """
    required, optional = esp_variables(esp)
    if not required:
        raise NoFieldSource(f"{DIALECTS[esp].title} lists no fields. Give them with --from.")
    variables = {**required, **optional}
    given = {name: environment.get(variable, "").strip() for name, variable in variables.items()}
    missing = [variable for name, variable in required.items() if not given[name]]
    if missing:
        raise MissingCredentials(esp, missing)
    odd = [variables[name] for name, value in given.items() if not value.isprintable()]
    if odd:
        raise UnusableCredentials(f"{', '.join(odd)}: set this anew, without control characters.")
    return _esp_source(esp)(**{name: value for name, value in given.items() if value})


def esp_variables(esp: Esp) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The variables that the ESP's source must have, and those it may have, by its own names."""
    required, optional = (
        {name: f"RECIPIENT_FIELDS_{esp.value}_{name}".upper() for name in names.split()}
        for names in _ESP_SETTINGS.get(esp, ("", ""))
    )
    return required, optional


def _esp_source(esp: Esp) -> Callable[..., EspFieldSource]:
    with _installed(NoFieldSource("Install recipient-fields[esp] to ask an ESP.")):
        from recipient_fields.adapters import esp as sources
    return sources.SOURCES[esp]


def _split(url: str) -> tuple[str, str]:
    scheme, colon, rest = url.partition(":")
    if not (scheme and colon):
        raise UnknownStorage("A storage is a URL: memory:, sqlite:PATH or postgresql://…")
    return scheme, rest


def _open_memory(rest: str) -> Storage:
    from recipient_fields.adapters.memory import MemoryStorage

    if rest:
        raise UnknownStorage("The memory storage is written memory: and nothing else.")
    return MemoryStorage()


def _open_sqlite(path: str) -> Storage:
    from recipient_fields.adapters.sqlite import SqliteStorage

    if not path or path == ":memory:":
        raise UnknownStorage("Write sqlite:PATH; for a storage without a file, memory:.")
    if path.startswith("//") and not path.startswith("///"):
        raise UnknownStorage("Write sqlite:PATH; what follows two slashes would be a host.")
    return SqliteStorage(path)


def _open_postgres(url: str, *, threads: int, prepare: bool) -> Storage:
    with _installed(UnknownStorage(_NO_POSTGRES)):
        from recipient_fields.adapters.postgres import PostgresStorage
    return PostgresStorage(url, threads=threads, prepare=prepare)


def _migrate_postgres(url: str) -> None:
    with _installed(UnknownStorage(_NO_POSTGRES)):
        from recipient_fields.adapters.postgres import migrate
    migrate(url)


@contextmanager
def _installed(otherwise: RecipientFieldsError) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise otherwise from error


def _open_plugin(scheme: str) -> Callable[[str], Storage]:
    for entry_point in entry_points(group=STORAGE_GROUP, name=scheme):
        try:
            opener: Callable[[str], Storage] = entry_point.load()
        except (AttributeError, ImportError) as error:
            raise UnknownStorage(f"The adapter of {scheme}: can't be loaded: {error}.") from error
        return opener
    raise UnknownStorage(
        f"There is no storage {scheme}:. Use memory:, sqlite:PATH or postgresql://…, or install"
        " its adapter."
    )
