"""Salesforce Marketing Cloud: SOAP Retrieve of DataExtensionField, with a token of OAuth 2."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import count

from attrs import field, frozen

from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api, host_label
from .listing import Once, Types, report
from .run import USUAL_LIMITS, Limits, Run
from .soap import Retrieval, Retrieved

_TYPES: Types = {
    "Boolean": DataType.BOOLEAN,
    "Date": DataType.DATETIME,
    "Decimal": DataType.NUMBER,
    "EmailAddress": DataType.TEXT,
    "Locale": DataType.TEXT,
    "Number": DataType.NUMBER,
    "Phone": DataType.TEXT,
    "Text": DataType.TEXT,
}
_MEMBERS = ("Name", "FieldType")


@frozen(kw_only=True)
class SalesforceFieldSource:
    """The fields of one data extension, which its external key names."""

    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    subdomain: str
    data_extension: str
    account_id: str = ""
    """The MID of the business unit; else the one that the credentials belong to."""
    url: str = ""
    """Where both of its services are asked; else each at its host below the subdomain."""
    limits: Limits = USUAL_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        """See EspFieldSource."""
        headers = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": "Retrieve"}
        soap = self._api("soap", headers)
        once = Once(soap)
        with Run(self.limits) as run:
            for page in self._pages(run, soap):
                for name, type_name in page.objects(*_MEMBERS):
                    once.note(name)
                    yield report(name, type_name, _TYPES)
        if not once:
            # No data extension is without fields; to a sync run this would mean that all are gone.
            raise soap.refused("shows no data extension of this external key")

    def _pages(self, run: Run, soap: Api) -> Iterator[Retrieved]:
        token = self._token(run)
        wanted = Retrieval(
            object_type="DataExtensionField",
            members=_MEMBERS,
            property="DataExtension.CustomerKey",
            value=self.data_extension,
        )
        continued = ""
        for pages in count():
            run.require_end(soap, pages)
            reply = run.post(soap, "/Service.asmx", wanted.envelope(token, continued))
            page = Retrieved.parse(soap, reply.body)
            yield page
            continued = page.continues
            if not continued:
                return

    def _token(self, run: Run) -> str:
        wanted = {
            "grant_type": "client_credentials",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }
        if self.account_id:
            wanted["account_id"] = self.account_id
        auth = self._api("auth", {"Content-Type": "application/json"})
        reply = run.post(auth, "/v2/token", json.dumps(wanted).encode())
        token = reply.json()["access_token"].text()
        if not (token.isascii() and token.isprintable()):
            raise auth.refused("answers with a token that can't be sent")
        return token

    def _api(self, service: str, headers: Mapping[str, str]) -> Api:
        return Api(
            esp=Esp.SALESFORCE,
            url=self.url or f"https://{self._tenant()}.{service}.marketingcloudapis.com",
            headers=headers,
            scope="they need the scope data_extensions_read",
        )

    def _tenant(self) -> str:
        return host_label(Esp.SALESFORCE, self.subdomain)
