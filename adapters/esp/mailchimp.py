"""Mailchimp: GET /3.0/lists/{list_id}/merge-fields."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .answers import Answer
from .api import Api, host_label
from .listing import Types, counted_pages, report
from .run import USUAL_LIMITS, Limits, Run

_TYPES: Types = {
    "address": DataType.TEXT,
    "birthday": DataType.TEXT,  # MM/DD, without a year
    "date": DataType.DATE,
    "dropdown": DataType.TEXT,
    "imageurl": DataType.TEXT,
    "number": DataType.NUMBER,
    "phone": DataType.TEXT,
    "radio": DataType.TEXT,
    "text": DataType.TEXT,
    "url": DataType.TEXT,
    "zip": DataType.TEXT,
}


@frozen(kw_only=True)
class MailchimpFieldSource:
    """The merge fields of one audience; its EMAIL is none of them."""

    api_key: str = field(repr=False)
    list_id: str
    url: str = ""
    """Where Mailchimp is asked; else the data centre that the API key ends in."""
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.MAILCHIMP,
            url=self.url or f"https://{self._data_centre()}.api.mailchimp.com",
            headers={"Authorization": f"Bearer {self.api_key}"},
            scope="they need access to this audience",
            bare_403_limits_rate=True,
        )
        with Run(self.limits) as run:
            for page in counted_pages(
                run,
                api,
                f"/3.0/lists/{quote(self.list_id, safe='')}/merge-fields",
                {"count": 1_000},
                items="merge_fields",
                identity="merge_id",
                total=lambda page: page["total_items"],
            ):
                for each in page["merge_fields"].items():
                    yield _reported(each)

    def _data_centre(self) -> str:
        # A key without a hyphen has none; it must not become a name that is looked up.
        _, hyphen, centre = self.api_key.rpartition("-")
        return host_label(Esp.MAILCHIMP, centre if hyphen else "")


def _reported(each: Answer) -> ReportedField:
    details = each.find("options")
    return report(
        each["tag"].text(),
        each["type"].text(),
        _TYPES,
        label=each["name"].text(),
        options=[choice.text() for choice in details.optional_items("choices")] if details else (),
    )
