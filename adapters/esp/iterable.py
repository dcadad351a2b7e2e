"""Iterable: GET /api/users/getFields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import accumulate

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import RefusedField, ReportedField

from .api import Api, variable
from .listing import Types, Unsupported, report
from .run import DEFAULT_LIMITS, Limits, Run

_NESTED = "nested"
"""The type of a list of objects. The API also lists the members of these objects."""

_MAX_DEPTH = 32
"""Levels of objects, as in a JSON document. More would take quadratic time."""

_TYPES: Types = {
    "array": Unsupported.LIST,
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATETIME,
    "double": DataType.NUMBER,
    "geo_location": Unsupported.OBJECT,
    "long": DataType.NUMBER,
    _NESTED: Unsupported.LIST,
    "object": Unsupported.OBJECT,
    "string": DataType.TEXT,
}
_LISTS = frozenset(
    {
        "devices",
        "emailListIds",
        "subscribedMessageTypeIds",
        "unsubscribedChannelIds",
        "unsubscribedMessageTypeIds",
    }
)
"""Iterable's own arrays. Its API lists them with the types of their items."""


@frozen
class _List:
    fields: Mapping[str, object]


@frozen(kw_only=True)
class IterableFieldSource:
    """The fields of a project's users; those inside an object have dotted names."""

    api_key: str = field(repr=False)
    url: str = "https://api.iterable.com"
    """Projects in Europe: `https://api.eu.iterable.com`."""
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        api = Api(
            esp=Esp.ITERABLE,
            url=self.url,
            headers={"Api-Key": self.api_key},
            scope="they need to be a server-side key",
            unauthorized=f"{variable(Esp.ITERABLE, 'url')} is that of the project's region",
        )
        with Run(self.limits) as run:
            response = run.get(api, "/api/users/getFields")
        fields = response.read(_List).fields
        lists = _LISTS.union(name for name, type_name in fields.items() if type_name == _NESTED)
        for name, type_name in fields.items():
            paths = accumulate(name.split(".", _MAX_DEPTH), "{}.{}".format)
            if not lists.isdisjoint(paths):
                yield RefusedField(name, Unsupported.LIST.value)
            else:
                yield report(name, type_name, _TYPES)
