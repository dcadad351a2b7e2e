"""Salesforce Marketing Cloud: SOAP Retrieve of DataExtensionField, with an OAuth 2 token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from attrs import evolve, field, frozen

from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp, ReportedField

from .api import Api, host_label
from .listing import ListedFields, Types, report
from .run import DEFAULT_LIMITS, Limits, Run
from .soap import RetrieveRequest, RetrieveResponse, read_fault

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


@frozen
class _Token:
    access_token: str


@frozen(kw_only=True)
class SalesforceFieldSource:
    """The fields of the data extension with this external key."""

    client_id: str = field(repr=False)
    client_secret: str = field(repr=False)
    subdomain: str
    data_extension: str
    account_id: str = ""
    """The MID of the business unit. The default is that of the credentials."""
    url: str = ""
    """The URL of both services. By default, each has its own host."""
    limits: Limits = DEFAULT_LIMITS

    def fields(self) -> Iterator[ReportedField]:
        with Run(self.limits) as run:
            token = self._token(run)
            headers = {"Content-Type": "text/xml; charset=utf-8", "SOAPAction": "Retrieve"}
            soap = evolve(
                self._api("soap", headers), read_fault=lambda body: read_fault(body, token)
            )
            listed = ListedFields(soap)
            for page in self._pages(run, soap, token):
                for name, type_name in page.objects(*_MEMBERS):
                    listed.add(name)
                    yield report(name, type_name, _TYPES)
        if not listed:
            # Every data extension has fields. With an empty list, a sync would delete all fields.
            raise soap.refused("has no data extension with this external key")

    def _pages(self, run: Run, soap: Api, token: str) -> Iterator[RetrieveResponse]:
        retrieve = RetrieveRequest(
            object_type="DataExtensionField",
            members=_MEMBERS,
            property="DataExtension.CustomerKey",
            value=self.data_extension,
        )
        request_id = ""
        for pages in count():
            run.check_page_limit(soap, pages)
            response = run.post(soap, "/Service.asmx", retrieve.envelope(token, request_id))
            page = RetrieveResponse.parse(soap, response.body)
            yield page
            request_id = page.next_request_id
            if not request_id:
                return

    def _token(self, run: Run) -> str:
        form = {
            "grant_type": "client_credentials",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }
        if self.account_id:
            form["account_id"] = self.account_id
        auth = self._api("auth", {"Content-Type": "application/json"})
        token = run.post(auth, "/v2/token", render_json(form)).read(_Token).access_token
        if not (token.isascii() and token.isprintable()):
            raise auth.refused("sent a token that a header can't contain")
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
