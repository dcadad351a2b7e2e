"""Selection of adapters: storages and key validators by URL, sources by ESP, files by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from recipient_fields.application import (
    DEFAULT_CATALOG_SIZE,
    DEFAULT_FIELD_LIMIT,
    Core,
    EspAccounts,
    EspFieldSource,
    KeyValidator,
    PasswordHasher,
    SecretCipher,
    Storage,
    StorageGroup,
)
from recipient_fields.application.environment import (
    SECRETS_KEY,
    CredentialsNotPermitted,
    MissingCredentials,
    read_secret,
)
from recipient_fields.application.ports.recipients import FileFormat, FileOptions, RecipientReader
from recipient_fields.domain import (
    HistoryLimit,
    InvalidStorageUrl,
    OrganizationId,
    RecipientFieldsError,
    StorageUnavailable,
)
from recipient_fields.domain.esp import BUILT_IN, Esp, Profiles

from .settings import MEBIBYTE, STORED_KEYS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from recipient_fields.adapters.client import RecipientFieldsClient
    from recipient_fields.domain.esp import Profile

_STORAGES = "recipient_fields.storage"
"""The entry-point group of storages: `scheme = "module:function"`, called with the URL."""

_KEY_VALIDATORS = "recipient_fields.key_validator"
"""The entry-point group of key validators: `scheme = "module:function"`, called with the URL."""

_PROFILES = "recipient_fields.esp_profile"
"""The entry-point group of profiles: `name_of_the_esp = "module:PROFILE"`."""

_POSTGRES = ("postgresql", "postgres")

_ALTERNATIVES = {
    _STORAGES: "There is no storage {}:. Use memory:, sqlite:PATH or postgresql://…",
    _KEY_VALIDATORS: "There is no key validator {}:. Use stored: or introspection+https://…",
}


class UnknownKeyValidator(RecipientFieldsError):
    """No adapter validates API keys at this URL."""


class UnusableProfile(RecipientFieldsError):
    """A package has a profile of an ESP that can't be used."""


class NoBackup(RecipientFieldsError):
    """The storage is not in a SQLite file."""


def open_core(
    storage_url: str,
    *,
    field_limit: int = DEFAULT_FIELD_LIMIT,
    catalog_size: int = DEFAULT_CATALOG_SIZE // MEBIBYTE,
    history_limit: HistoryLimit | None = None,
    esp_hosts: Collection[str] = (),
) -> Core:
    """Return the application services for the storage with this URL. `catalog_size` is in MiB.

    `esp_hosts` are the hosts to which credentials can be sent, besides those of the ESPs.

    Raises: what `open_storage` raises.
    """
    return Core.over(
        open_storage(storage_url),
        field_limit=field_limit,
        catalog_size=catalog_size * MEBIBYTE,
        history_limit=history_limit,
        profiles=installed_profiles(),
        open_accounts=partial(open_accounts, esp_hosts),
        open_cipher=partial(open_cipher, os.environ),
    )


def open_accounts(hosts: Collection[str]) -> EspAccounts:
    """Return the accounts of ESPs at their hosts, and at these. Raises: MissingExtra."""
    from recipient_fields.adapters.esp.account import Accounts

    return Accounts(hosts)


def open_cipher(environment: Mapping[str, str]) -> SecretCipher | None:
    """Return the encryption with the keys in the environment, or None if there is no key.

    Raises: MissingExtra if the extra `secrets` is not installed; UnusableCredentials.
    """
    keys = read_secret(SECRETS_KEY, environment)
    if not keys.strip():
        return None
    from recipient_fields.adapters.secrets import open_cipher

    return open_cipher(keys)


def new_secrets_key() -> str:
    """Return a random key for credentials. Raises: MissingExtra."""
    from recipient_fields.adapters.secrets import new_key

    return new_key()


def open_storage(url: str) -> Storage:
    """Open the storage with this URL.

    Raises: InvalidStorageUrl if no adapter has the URL's scheme; MissingExtra if the adapter's
    extra is not installed; StorageUnavailable.
    """
    scheme = _scheme(url)
    if scheme == "memory":
        from recipient_fields.adapters import memory

        return memory.open_storage(url)
    if scheme == "sqlite":
        from recipient_fields.adapters import sqlite

        return sqlite.open_storage(url)
    if scheme in _POSTGRES:
        from recipient_fields.adapters.postgres import PostgresStorage

        return PostgresStorage(url)
    storage: Storage = _entry_point(_STORAGES, scheme, InvalidStorageUrl)(url)
    return storage


def installed_profiles() -> Profiles:
    """Return the profiles of ESPs that are built in, and then those of other packages, by name.

    When the first one is requested, they raise UnusableProfile if one can't be loaded, or if two
    have the same name.
    """
    return Profiles(_read_profiles)


def _read_profiles() -> Iterator[Profile]:
    # Imported here because it takes as long as a command, and few commands need profiles.
    from importlib.metadata import entry_points

    yield from BUILT_IN
    packages = dict.fromkeys(map(str, BUILT_IN.esps), "recipient-fields")
    found = [(each.name, _package_of(each), each) for each in entry_points(group=_PROFILES)]
    for name, package, entry_point in sorted(found, key=itemgetter(0, 1)):
        other = packages.setdefault(name, package)
        if other != package:
            raise UnusableProfile(
                f"The packages {other} and {package} have a profile of {name}. Uninstall one."
            )
        yield _load_profile(entry_point)


def _load_profile(entry_point: EntryPoint) -> Profile:
    from recipient_fields.domain.esp import Profile

    where = f"The entry point {entry_point.name} of the package {_package_of(entry_point)}"
    try:
        profile = entry_point.load()
    except (AttributeError, ImportError) as error:
        raise UnusableProfile(f"{where} can't be loaded: {error}.") from error
    if not isinstance(profile, Profile):
        raise UnusableProfile(f"{where} is no Profile.")
    if profile.esp != entry_point.name:
        raise UnusableProfile(f"{where} must have the name of its profile: {profile.esp}.")
    return profile


def _package_of(entry_point: EntryPoint) -> str:
    return entry_point.value if entry_point.dist is None else entry_point.dist.name


def create_password_hasher() -> PasswordHasher:
    """Return the hasher of administrators' passwords.

    Raises: MissingExtra if the extra `console` is not installed.
    """
    from recipient_fields.adapters.passwords import Argon2PasswordHasher

    return Argon2PasswordHasher()


def existing_storage(url: str) -> str:
    """Return the URL for commands that don't create a storage.

    A missing SQLite file is then an error, unless the URL has the option `create`.
    """
    if _scheme(url) != "sqlite":
        return url
    from recipient_fields.adapters.sqlite.storage import without_creation

    return without_creation(url)


def open_new_storage(url: str) -> Storage:
    """Open the target of a copy, and create the tables of an empty PostgreSQL database.

    Raises: InvalidStorageUrl for `memory:`, and what `open_storage` raises.
    """
    if storage_kind(url) == "memory":
        raise InvalidStorageUrl(
            "The storage memory: exists only until the command ends. Use sqlite:PATH or"
            " postgresql://…"
        )
    if storage_kind(url) == "postgresql":
        from recipient_fields.adapters.postgres import migrate_new

        migrate_new(url)
    return open_storage(url)


def migrate_storage(
    url: str,
    *,
    distributed: bool = False,
    on_applied: Callable[[str], None] = lambda _name: None,
) -> None:
    """Update the schema of the storage. Other storages than PostgreSQL do so when they open.

    `on_applied` is called with the name of each migration of PostgreSQL and SQLite that this call
    has committed.

    `distributed`: also distribute the tables of PostgreSQL over the workers of Citus.

    Raises: the same as `open_storage`. StorageUnavailable if this storage can't be distributed.
    """
    if storage_kind(url) == "postgresql":
        from recipient_fields.adapters.postgres import migrate

        migrate(url, distributed=distributed, on_applied=on_applied)
    elif distributed:
        raise StorageUnavailable("Only PostgreSQL with Citus can be distributed.")
    elif storage_kind(url) == "sqlite":
        from recipient_fields.adapters import sqlite

        sqlite.open_storage(url, on_applied).close()
    else:
        open_storage(url).close()


def back_up_storage(url: str, file: Path) -> None:
    """Copy the SQLite file of this URL to a new file.

    Raises: NoBackup if the storage is not in a SQLite file; BackupFailed, InvalidStorageUrl,
    StorageNotFound, StorageUnavailable.
    """
    kind = storage_kind(url)
    if kind == "postgresql":
        raise NoBackup("`backup` is for SQLite. Back up PostgreSQL with pg_dump.")
    if kind != "sqlite":
        raise NoBackup("`backup` is for SQLite. Use the tools of this storage's technology.")
    from recipient_fields.adapters.sqlite import back_up
    from recipient_fields.adapters.sqlite.storage import parse_url

    path, _ = parse_url(url)
    back_up(path, file)


def find_readable_file(url: str) -> Path | None:
    """Return a file of the storage with this URL that other users can read, or None.

    Only SQLite files are checked: other storages have their own permissions.
    """
    if storage_kind(url) != "sqlite":
        return None
    from recipient_fields.adapters.sqlite import storage

    return storage.find_readable_file(url)


@contextmanager
def open_service(url: str, key: str) -> Iterator[tuple[RecipientFieldsClient, OrganizationId]]:
    """Open the service at this URL, and find the organization to which the API key belongs.

    Raises: ValueError if the URL can't be used; MissingExtra if the extra `client` is not
    installed; OrganizationNotFound if there is no API at the URL; KeyRefused; StorageUnavailable.
    """
    from recipient_fields.adapters.client import RecipientFieldsClient

    with RecipientFieldsClient(url, key) as client:
        yield client, client.organization_id


@contextmanager
def open_recipients(file: BinaryIO, name: str, options: FileOptions) -> Iterator[RecipientReader]:
    """Open a CSV file or a file of JSON Lines, and close it when the block ends.

    Raises: UnreadableFile if the beginning of the file can't be read.
    """
    from recipient_fields.adapters.recipient_files.csv import CsvRecipients
    from recipient_fields.adapters.recipient_files.json_lines import JsonLinesRecipients
    from recipient_fields.adapters.recipient_files.texts import open_text

    with open_text(file, name, options.encoding) as text:
        if FileFormat.of(name) is FileFormat.JSON_LINES:
            yield JsonLinesRecipients.open(text, name)
        else:
            yield CsvRecipients.open(text, name, options)


def storage_kind(url: str) -> str:
    """Return the kind of the storage, for logs: other parts of its URL can contain a password."""
    scheme = _scheme(url)
    return "postgresql" if scheme in _POSTGRES else scheme


def shown_storage(url: str) -> str:
    """Return the storage URL for people: without credentials, with the absolute path of a file.

    Raises: InvalidStorageUrl, StorageUnavailable if the URL is malformed.
    """
    kind = storage_kind(url)
    if kind == "sqlite":
        from recipient_fields.adapters.sqlite.storage import parse_url

        path, _ = parse_url(url)
        return f"sqlite:{path.absolute()}"
    if kind == "postgresql":
        from recipient_fields.adapters.postgres.connection import without_credentials

        return without_credentials(url)
    return f"{kind}:"


def read_clock(url: str) -> datetime | None:
    """Return the time of the storage's server, or None if it is no PostgreSQL database.

    Raises: StorageUnavailable.
    """
    if storage_kind(url) != "postgresql":
        return None
    from recipient_fields.adapters.postgres.connection import read_clock

    return read_clock(url)


def open_key_validator(url: str, environment: Mapping[str, str]) -> KeyValidator | None:
    """Open the validator of API keys with this URL; return None for the keys in the storage.

    Our validators read their credentials from the environment.

    Raises: UnknownKeyValidator if no adapter has the URL's scheme; MissingExtra if the adapter's
    extra is not installed; InvalidIntrospectionUrl, MissingCredentials, UnusableCredentials.
    """
    if url == STORED_KEYS:
        return None
    scheme, colon, _ = url.partition(":")
    if not (scheme and colon) or f"{scheme}:" == STORED_KEYS:
        raise UnknownKeyValidator("Use stored: or introspection+https://… as the key validator.")
    if scheme in ("introspection+https", "introspection+http"):
        from recipient_fields.adapters.introspection.settings import open_validator

        return open_validator(url.removeprefix("introspection+"), environment)
    validator: KeyValidator = _entry_point(_KEY_VALIDATORS, scheme, UnknownKeyValidator)(url)
    return validator


def open_field_source(esp: Esp, environment: Mapping[str, str]) -> EspFieldSource:
    """Return the source of an ESP's fields, with the account in the environment.

    Raises: NoFieldSource if the ESP's API does not list fields; MissingExtra if the extra `esp` is
    not installed; MissingCredentials, UnusableCredentials.
    """
    from recipient_fields.adapters.esp.account import open_source

    return open_source(esp, environment)


def open_permitted_source(
    organizations: Collection[OrganizationId],
    environment: Mapping[str, str],
    organization_id: OrganizationId,
    esp: Esp,
) -> EspFieldSource:
    """Do the same as `open_field_source` if the organization is one of these.

    Raises: CredentialsNotPermitted if it is not, and the source needs credentials.
    """
    if organization_id in organizations:
        return open_field_source(esp, environment)
    try:
        return open_field_source(esp, {})
    except MissingCredentials:
        raise CredentialsNotPermitted from None


def esp_variables(esp: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the required and the optional environment variables of an ESP's account."""
    from recipient_fields.adapters.esp.account import account_variables

    required, optional = account_variables(esp)
    return tuple(required.values()), tuple(optional.values())


def credential_variables() -> frozenset[str]:
    """Return all environment variables that adapters read."""
    from recipient_fields.adapters.esp import SOURCES
    from recipient_fields.adapters.introspection.settings import CREDENTIAL_VARIABLES

    of_esps = (name for esp in SOURCES for names in esp_variables(esp) for name in names)
    return frozenset((*of_esps, *CREDENTIAL_VARIABLES, SECRETS_KEY))


def _scheme(url: str) -> str:
    scheme, colon, _ = url.partition(":")
    if not (scheme and colon):
        raise InvalidStorageUrl("Use a URL as the storage: memory:, sqlite:PATH or postgresql://…")
    return scheme


def _entry_point(
    group: str, scheme: str, unknown: type[RecipientFieldsError]
) -> Callable[[str], Any]:
    """Return the function that opens URLs with this scheme.

    Raises: `unknown` if no entry point in the group has that name, or if it can't be loaded.
    """
    # Imported here because it takes as long as a command, and few storages are of entry points.
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=group, name=scheme):
        try:
            opener: Callable[[str], Any] = entry_point.load()
        except (AttributeError, ImportError) as error:
            raise unknown(f"The adapter of {scheme}: can't be loaded: {error}.") from error
        return opener
    raise unknown(f"{_ALTERNATIVES[group].format(scheme)}, or install its adapter.")


# Advice about the storage that the log and commands share, as formats of the log.
SMALL_POOL = (
    "The storage has %d connections for %d threads, so requests can wait for a connection."
    " Add pool_size=%d to the storage URL, or lower --threads."
)
READABLE_FILE = (
    "Other users can read %s, which contains the hashes of API keys and passwords. Run:"
    " chmod o-rwx %s"
)
MISSING_CONSOLE_GROUP = (
    "The storage has no %s, which the console needs. Start the service without --console, or with"
    " another --storage, such as sqlite:PATH."
)

_OF_THE_CONSOLE = (StorageGroup.INTEGRATIONS, StorageGroup.CONSOLE_ACCOUNTS)


def find_missing_console_group(storage: Storage) -> StorageGroup | None:
    """Return the first group that the console needs and the storage does not have, or None."""
    return next((group for group in _OF_THE_CONSOLE if not group.is_in(storage)), None)
