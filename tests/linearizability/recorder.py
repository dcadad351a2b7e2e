"""Concurrent callers that use a few fields, and the history of their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from http import HTTPStatus
from itertools import count
from random import Random
from typing import Any, TypeAlias

from attrs import field, frozen

from recipient_fields.application import RecipientFieldService, render_field
from recipient_fields.domain import (
    ANY_VERSION,
    Catalog,
    DataType,
    FieldChanges,
    FieldDraft,
    FieldKey,
    FieldNotFound,
    FieldPage,
    FieldQuery,
    KeyTaken,
    OrganizationId,
    Precondition,
    RecipientField,
    StorageUnavailable,
    VersionConflict,
)
from recipient_fields.testing.concurrency import race

from ..http.api import FIELDS, Api, ApiResponse
from .checker import NEVER
from .model import READS, Call, Kind, Members, Operation, Outcome, Result, parse_tag

KEYS = ("city", "shop", "tier")

Caller: TypeAlias = Callable[[Operation], Outcome]

_WEIGHTS = {
    Kind.GET: 6,
    Kind.LIST: 10,
    Kind.PAGE: 4,
    Kind.CREATE: 3,
    Kind.PATCH: 5,
    Kind.PUT: 1,
    Kind.DELETE: 2,
}
"""How often each kind of operation is chosen, relative to the others."""
_COMPARED_MEMBERS = ("id", "name", "insertable", "custom_insertion_code")
_UNKNOWN = Outcome(Result.UNKNOWN)


def record(callers: Sequence[Caller], *, seed: object, operations: int) -> list[Call]:
    """Run this many operations of callers that start at the same time. Return their history."""
    moments = count()

    def run(number: int) -> list[Call]:
        random = Random(f"{seed}, {number}")
        tags: dict[str, str] = {}
        calls = []
        for n in range(operations // len(callers)):
            operation = _operation(random, tags, text=f"{number}.{n}")
            invoked = next(moments)
            outcome = callers[number](operation)
            returned = next(moments)
            if outcome.tag is not None:
                tags[operation.key] = outcome.tag
            if outcome.result is not Result.UNKNOWN:
                calls.append(Call(operation, outcome, invoked, returned))
            elif operation.kind not in READS:
                calls.append(Call(operation, outcome, invoked, NEVER))
        return calls

    histories: list[list[Call]] = race(*(partial(run, number) for number in range(len(callers))))
    return [call for history in histories for call in history]


def _operation(random: Random, tags: dict[str, str], *, text: str) -> Operation:
    (kind,) = random.choices([*_WEIGHTS], [*_WEIGHTS.values()])
    if kind in {Kind.LIST, Kind.PAGE}:
        return Operation(kind)
    key = random.choice(KEYS)
    members = {
        "name": text,
        "insertable": random.random() < 0.5,
        "custom_insertion_code": text,
    }
    if kind is Kind.PATCH:
        member = random.choice([*members])
        members = {member: members[member]}
    elif random.random() < 0.5:
        del members["custom_insertion_code"]
    if kind not in {Kind.PATCH, Kind.PUT, Kind.DELETE}:
        return Operation(kind, key, members)
    match = tags.get(key) if random.random() < 0.4 else None
    vacant = kind is Kind.PUT and match is None and random.random() < 0.4
    return Operation(kind, key, members, match, vacant)


@frozen
class UseCases:
    """A caller of the use cases, and so of the repository."""

    service: RecipientFieldService
    organization_id: OrganizationId

    def __call__(self, operation: Operation) -> Outcome:
        try:
            return self._execute(operation)
        except FieldNotFound:
            return Outcome(Result.ABSENT)
        except KeyTaken as taken:
            return Outcome(Result.TAKEN, {"id": taken.existing_id})
        except VersionConflict as conflict:
            return _conflict(conflict.current)
        except StorageUnavailable:
            return _UNKNOWN

    def _execute(self, operation: Operation) -> Outcome:
        if operation.kind is Kind.LIST:
            return _cataloged(self.service.list_fields(self.organization_id))
        if operation.kind is Kind.PAGE:
            return _cataloged(self.service.find_fields(self.organization_id, FieldQuery()))
        key, members = FieldKey(operation.key), operation.members
        precondition = Precondition(
            match=None if operation.match is None else frozenset({operation.match}),
            none_match=ANY_VERSION if operation.vacant else None,
        )
        match operation.kind:
            case Kind.GET:
                return _stored(self.service.get_field(self.organization_id, key))
            case Kind.CREATE:
                draft = FieldDraft(key=key, data_type=DataType.TEXT, **members)
                return _stored(
                    self.service.create_field(self.organization_id, draft), Result.CREATED
                )
            case Kind.PATCH:
                changes = FieldChanges(**members)
                return _stored(
                    self.service.update_field(self.organization_id, key, changes, precondition)
                )
            case Kind.PUT:
                draft = FieldDraft(key=key, data_type="text", **members)
                field, created = self.service.replace_or_create_field(
                    self.organization_id, draft, precondition
                )
                return _stored(field, Result.CREATED if created else Result.SHOWN)
        self.service.delete_field(self.organization_id, key, precondition)
        return Outcome(Result.DELETED)


@frozen
class Client:
    """A client of the service. With `revalidates`, it caches reads and sends If-None-Match."""

    api: Api
    revalidates: bool = False
    _read: dict[str, ApiResponse] = field(factory=dict, init=False)

    def __call__(self, operation: Operation) -> Outcome:
        response = self._execute(operation)
        match HTTPStatus(response.status):
            case HTTPStatus.OK if operation.kind in {Kind.LIST, Kind.PAGE}:
                shown = {field["key"]: _members(field) for field in response.fields}
                revision = int(_tag(response).split("-")[1], 16)
                return Outcome(Result.LISTED, fields=shown, revision=revision)
            case HTTPStatus.OK:
                return _shown(_tag(response), response.field)
            case HTTPStatus.CREATED:
                return _shown(_tag(response), response.field, Result.CREATED)
            case HTTPStatus.NO_CONTENT:
                return Outcome(Result.DELETED)
            case HTTPStatus.NOT_FOUND:
                return Outcome(Result.ABSENT)
            case HTTPStatus.CONFLICT:
                (detail,) = response.error["details"]
                return Outcome(Result.TAKEN, {"id": detail["existing_id"]})
            case HTTPStatus.PRECONDITION_FAILED:
                return _conflict(_tag(response) if "etag" in response.headers else None)
            case HTTPStatus.SERVICE_UNAVAILABLE:
                return _UNKNOWN
        raise AssertionError(response)

    def _execute(self, operation: Operation) -> ApiResponse:
        conditions = {
            "if_match": None if operation.match is None else f'"{operation.match}"',
            "if_none_match": "*" if operation.vacant else None,
        }
        members = {**operation.members, "data_type": "text"}
        match operation.kind:
            case Kind.GET:
                return self._get(f"{FIELDS}/{operation.key}")
            case Kind.LIST:
                return self._get(FIELDS)
            case Kind.PAGE:
                return self._get(f"{FIELDS}?limit=100")
            case Kind.CREATE:
                return self.api.post({**members, "key": operation.key})
            case Kind.PATCH:
                return self.api.patch(operation.key, operation.members, **conditions)
            case Kind.PUT:
                return self.api.put(operation.key, members, **conditions)
        return self.api.delete(operation.key, **conditions)

    def _get(self, path: str) -> ApiResponse:
        known = self._read.get(path)
        response = self.api.send("GET", path, if_none_match=known and known.etag)
        if known is not None and response.status == HTTPStatus.NOT_MODIFIED:
            return known
        if self.revalidates and response.status == HTTPStatus.OK:
            self._read[path] = response
        return response


def _stored(field: RecipientField, result: Result = Result.SHOWN) -> Outcome:
    return _shown(field.version_tag, render_field(field), result)


def _shown(tag: str, document: Members, result: Result = Result.SHOWN) -> Outcome:
    return Outcome(result, {**_members(document), "version": parse_tag(tag)[1]}, tag=tag)


def _cataloged(catalog: Catalog | FieldPage) -> Outcome:
    shown = {
        str(field.key): {
            **_members(render_field(field)),
            "version": parse_tag(field.version_tag)[1],
        }
        for field in catalog.fields
    }
    return Outcome(Result.LISTED, fields=shown, revision=catalog.revision)


def _conflict(tag: str | None) -> Outcome:
    if tag is None:
        return Outcome(Result.CONFLICT, {"version": 0})
    field_id, version = parse_tag(tag)
    return Outcome(Result.CONFLICT, {"id": field_id, "version": version}, tag=tag)


def _members(document: Members) -> dict[str, Any]:
    return {member: document[member] for member in _COMPARED_MEMBERS}


def _tag(response: ApiResponse) -> str:
    return response.etag.strip('"')
