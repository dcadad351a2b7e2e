"""Braze: GET /custom_attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Once, Types, Unfit, report
from .run import USUAL_LIMITS, Limits, Reply, Run

_TYPES: Types = {
    "array": Unfit.LIST,
    "boolean": DataType.BOOLEAN,
    "date": DataType.DATETIME,
    "number": DataType.NUMBER,
    "object": Unfit.OBJECT,
    "object array": Unfit.LIST,
    "string": DataType.TEXT,
    "time": DataType.DATETIME,
}

_BLOCKLISTED = "Blocklisted"
_DETECTED = " (automatically detected)"
_NEXT = re.compile(r"""<([^<>]*)>\s*;(?:[^<]*;)?\s*rel\s*=\s*"?next\b""", re.IGNORECASE)


@frozen(kw_only=True)
class BrazeFieldSource:
    """The custom attributes of a workspace; Braze's standard ones are not listed.

    A blocklisted attribute is as good as gone: Braze collects no values of it and hides those it
    has.
    """

    api_key: str = field(repr=False)
    url: str
    """The instance's REST endpoint, `https://rest.INSTANCE.braze.com`."""
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.BRAZE,
            url=self.url,
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need the permission custom_attributes.get",
        )
        once = Once(api)
        with Run(self.limits) as run:
            for page in run.pages(api, "/custom_attributes", None, _next_link):
                for each in page.json()["attributes"].items():
                    name = each["name"].text()
                    once.note(name)
                    if each.optional_text("status") != _BLOCKLISTED:
                        type_name = each["data_type"].text().lower().removesuffix(_DETECTED)
                        yield report(name, type_name.replace("_", " "), _TYPES)


def _next_link(page: Reply) -> str | None:
    found = _NEXT.search(page.headers.get("Link", ""))
    return None if found is None else found[1]
