"""Iterable: GET /api/users/getFields."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Types, Unfit, report
from .run import USUAL_LIMITS, Limits, Run

_TYPES: Types = {
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATETIME,
    "double": DataType.NUMBER,
    "long": DataType.NUMBER,
    "object": Unfit.OBJECT,
    "string": DataType.TEXT,
}


@frozen(kw_only=True)
class IterableFieldSource:
    """The fields of a project's users; those inside an object have dotted names."""

    api_key: str = field(repr=False)
    url: str = "https://api.iterable.com"
    """Projects in Europe: `https://api.eu.iterable.com`."""
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.ITERABLE,
            url=self.url,
            headers={"Api-Key": self.api_key},
            scope="they need to be a server-side key",
        )
        with Run(self.limits) as run:
            answer = run.get(api, "/api/users/getFields").json()
            for name, type_name in answer["fields"].members():
                yield report(name, type_name.text(), _TYPES)
