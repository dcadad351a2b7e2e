"""Iterable: GET /api/users/getFields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, RefusedField, ReportedField

from .api import Api
from .listing import Types, Unsupported, report
from .run import DEFAULT_LIMITS, Limits, Run

_TYPES: Types = {
    "array": Unsupported.LIST,
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATETIME,
    "double": DataType.NUMBER,
    "long": DataType.NUMBER,
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
        )
        with Run(self.limits) as run:
            response = run.get(api, "/api/users/getFields")
        for name, type_name in response.read(_List).fields.items():
            if name.split(".")[0] in _LISTS:
                yield RefusedField(name, Unsupported.LIST.value)
            else:
                yield report(name, type_name, _TYPES)
