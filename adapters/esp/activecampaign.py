"""ActiveCampaign: GET /api/3/fields."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api
from .listing import Types, Unfit, counted_pages, report
from .run import USUAL_LIMITS, Limits, Run

_TYPES: Types = {
    "": DataType.TEXT,
    "NULL": DataType.TEXT,
    "checkbox": Unfit.LIST,
    "date": DataType.DATE,
    "datetime": DataType.DATETIME,
    "dropdown": DataType.TEXT,
    "hidden": DataType.TEXT,
    "listbox": Unfit.LIST,
    "number": DataType.NUMBER,
    "radio": DataType.TEXT,
    "text": DataType.TEXT,
    "textarea": DataType.TEXT,
}


@frozen(kw_only=True)
class ActiveCampaignFieldSource:
    """The custom fields of contacts; the standard ones are not listed."""

    api_key: str = field(repr=False)
    url: str
    """The account's API URL, `https://ACCOUNT.api-us1.com`."""
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        api = Api(
            esp=Esp.ACTIVECAMPAIGN,
            url=self.url,
            headers={"Api-Token": self.api_key},
            scope="they need a user who may see fields",
        )
        with Run(self.limits) as run:
            for page in counted_pages(
                run,
                api,
                "/api/3/fields",
                {"limit": 100},
                items="fields",
                identity="id",
                total=lambda page: page["meta"]["total"],
            ):
                values = {
                    option["id"].text(): option["value"].text()
                    for option in page.optional_items("fieldOptions")
                }
                for each in page["fields"].items():
                    ids = [option.text() for option in each.optional_items("options")]
                    if not values.keys() >= set(ids):
                        raise api.refused("names an option of a field that it does not list")
                    yield report(
                        each["perstag"].text(),
                        each.optional_text("type"),
                        _TYPES,
                        label=each["title"].text(),
                        options=[values[option_id] for option_id in ids],
                    )
