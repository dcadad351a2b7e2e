"""Exact comparison of results and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Any, NoReturn, ParamSpec, TypeVar

import attrs
import pytest

from recipient_fields.application import (
    ApiKeyRepository,
    PublishedCatalog,
    PublishedHistoryPage,
    published,
    published_page,
)
from recipient_fields.domain import (
    ApiKey,
    Catalog,
    HistoryPage,
    RecipientFieldsError,
    StorageUnavailable,
)

T = TypeVar("T")
P = ParamSpec("P")

_LONG_SECONDS = 0.5


def attempt(call: Callable[[], T]) -> T | RecipientFieldsError:
    """Return the result of the call, or the RecipientFieldsError that it raises."""
    try:
        return call()
    except RecipientFieldsError as error:
        return error


def raising(error: BaseException) -> Callable[..., NoReturn]:
    """Return a change, check or planner that raises the error."""

    def function(*_: object) -> NoReturn:
        raise error

    return function


def recording(received: list[tuple[object, ...]], function: Callable[P, T]) -> Callable[P, T]:
    """Return the function, which records the arguments of each call."""

    def recorded(*arguments: P.args, **named: P.kwargs) -> T:
        received.append(arguments)
        return function(*arguments, **named)

    return recorded


@contextmanager
def raises(error: BaseException) -> Iterator[None]:
    """Assert that the block raises exactly this error, not another one of its type."""
    with pytest.raises(type(error)) as raised:
        yield
    assert raised.value is error


def retry_slow_call(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return the result of the call. Retry it once if it fails after more than half a second.

    A machine that pauses for a second can use up the timeout of a lock. A storage that fails
    immediately is not retried, because concurrent writes must not make it fail.
    """
    began = monotonic()
    try:
        return call(*arguments, **named)
    except StorageUnavailable:
        if monotonic() - began < _LONG_SECONDS:
            raise
        return call(*arguments, **named)


def exact(value: Any) -> object:
    """Return the value with the type of each part, so that 1, 1.0 and True differ.

    Instants include their offset, but not the class of the time zone. Errors include all their
    attributes.
    """
    if attrs.has(type(value)):
        members = [member.name for member in attrs.fields(type(value))]
        return type(value), *((member, exact(getattr(value, member))) for member in members)
    if isinstance(value, tuple):
        return tuple(exact(part) for part in value)
    if isinstance(value, frozenset):
        return frozenset, *sorted(map(exact, value), key=repr)
    if isinstance(value, Mapping):
        return Mapping, *((exact(name), exact(part)) for name, part in value.items())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, RecipientFieldsError):
        return type(value), value.args, vars(value)
    return type(value), repr(value)


def assert_published(publication: PublishedCatalog, catalog: Catalog) -> None:
    """Assert that the publication equals `published(catalog)`, apart from JSON formatting."""
    expected = published(catalog)
    assert attrs.evolve(publication, documents="") == attrs.evolve(expected, documents="")
    # In JSON text, 1 and 1.0 differ, and members have an order.
    assert json.dumps(json.loads(publication.documents)) == json.dumps(
        json.loads(expected.documents)
    )


def assert_published_page(publication: PublishedHistoryPage, page: HistoryPage) -> None:
    """Assert that the publication equals `published_page(page)`, apart from JSON formatting."""
    expected = published_page(page)
    assert publication.next == expected.next
    # In JSON text, 1 and 1.0 differ, and members have an order. Records have one, too.
    assert [_formatted(*each) for each in publication.records.items()] == [
        _formatted(*each) for each in expected.records.items()
    ]


def _formatted(sequence: int, document: str) -> tuple[int, str]:
    return sequence, json.dumps(json.loads(document))


def assert_found(api_keys: ApiKeyRepository, key: ApiKey) -> None:
    """Assert that the key is found by its digest, unchanged."""
    found = api_keys.find(key.digest)
    assert found is not None
    assert exact(found) == exact(key.to_found_key(found.catalog_revision, found.catalog_size))
