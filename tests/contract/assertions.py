"""What calls come to, in a form that can be compared to the last detail."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import attrs

from recipient_fields.application import ApiKeyRepository, PublishedCatalog, published
from recipient_fields.domain import ApiKey, Catalog, RecipientFieldsError, StorageUnavailable

T = TypeVar("T")
P = ParamSpec("P")

_LONG_SECONDS = 0.5


def attempt(call: Callable[[], T]) -> T | RecipientFieldsError:
    """What the call returns, or the error of ours that it raises."""
    try:
        return call()
    except RecipientFieldsError as error:
        return error


def patiently(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What the call gives. One that has waited for long in vain is made once more.

    A machine that stands still for a second uses up the time for which a lock is waited for. A
    storage that refuses at once, as it must not while others write, is not let off.
    """
    began = monotonic()
    try:
        return call(*arguments, **named)
    except StorageUnavailable:
        if monotonic() - began < _LONG_SECONDS:
            raise
        return call(*arguments, **named)


def exact(value: Any) -> object:
    """The value with the type of each of its parts: tells 1 from 1.0 and from True.

    Instants are compared with their offset, whatever class of time zone says it; errors with all
    that they carry.
    """
    if attrs.has(type(value)):
        members = [member.name for member in attrs.fields(type(value))]
        return type(value), *((member, exact(getattr(value, member))) for member in members)
    if isinstance(value, tuple):
        return tuple(exact(part) for part in value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, RecipientFieldsError):
        return type(value), value.args, vars(value)
    return type(value), repr(value)


def assert_published(publication: PublishedCatalog, catalog: Catalog) -> None:
    """It is what `published` makes of the catalog, however its JSON is spelled."""
    expected = published(catalog)
    assert attrs.evolve(publication, documents="") == attrs.evolve(expected, documents="")
    # Texts tell 1 from 1.0 and show the order of members.
    assert json.dumps(json.loads(publication.documents)) == json.dumps(
        json.loads(expected.documents)
    )


def assert_found(api_keys: ApiKeyRepository, key: ApiKey) -> None:
    """A look-up by its digest finds the key as it is."""
    found = api_keys.find(key.digest)
    assert found is not None
    assert exact(found) == exact(key.to_found_key(found.catalog_revision))
