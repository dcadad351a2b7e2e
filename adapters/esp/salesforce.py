"""Salesforce Marketing Cloud: SOAP Retrieve of DataExtensionField, with an OAuth 2 token."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

from attrs import field, frozen

from recipient_fields.application.documents.strict_json import render_json
from recipient_fields.domain import DataType
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspRefused, ReportedField

from .api import Api, Fault, is_host_label, variable
from .listing import ListedFields, Types, Unsupported, report
from .responses import WholeNumber, describe_account
from .run import DEFAULT_LIMITS, Limits, Run
from .soap import RetrieveResponse, read_fault, retrieve_request

_TYPES: Types = {
    "Base16Encrypted": Unsupported.ENCRYPTED,
    "Base16EncryptedEmail": Unsupported.ENCRYPTED,
    "Boolean": DataType.BOOLEAN,
    "Date": DataType.DATETIME,
    "Decimal": DataType.NUMBER,
    "EmailAddress": DataType.TEXT,
    "Locale": DataType.TEXT,
    "Number": DataType.NUMBER,
    "Phone": DataType.TEXT,
    "Text": DataType.TEXT,
}
_API = partial(Api, esp=Esp("sfmc"), credentials="client_id client_secret", address="subdomain url")


@frozen
class _Token:
    access_token: str


@frozen
class _Organization:
    member_id: WholeNumber
    enterprise_name: str | None = None


@frozen
class _UserInfo:
    organization: _Organization


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
            soap = _API(
                url=self._url("soap"),
                headers={"Content-Type": "text/xml; charset=utf-8", "SOAPAction": "Retrieve"},
                scope="the API integration needs the scope data_extensions_read",
                read_fault=read_fault,
            )
            listed = ListedFields(soap)
            for page in self._pages(run, soap, token):
                for name, type_name, default in page.fields():
                    listed.add(name)
                    yield report(name, type_name, _TYPES, default=default)
        if not listed:
            # Every data extension has fields. With an empty list, a sync would delete all fields.
            raise soap.refused(
                "has no data extension with this external key in this business unit: check"
                f" {soap.named('data_extension')}. If another business unit shares the data"
                f" extension, set {soap.named('account_id')} to the MID of that unit"
            )

    def account_name(self) -> str:
        with Run(self.limits) as run:
            info = _API(
                url=self._url("auth"),
                headers={"Authorization": f"Bearer {self._token(run)}"},
                scope="the API integration needs access to the business unit",
            )
            organization = run.get(info, "/v2/userinfo").read(_UserInfo).organization
        return describe_account(organization.enterprise_name, organization.member_id)

    def _pages(self, run: Run, soap: Api, token: str) -> Iterator[RetrieveResponse]:
        request_id = ""
        for pages in count():
            run.check_page_limit(soap, pages)
            body = retrieve_request(token, self.data_extension, request_id)
            page = RetrieveResponse.parse(soap, run.post(soap, "/Service.asmx", body).body)
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
        auth = _API(
            url=self._url("auth"),
            headers={"Content-Type": "application/json"},
            task="get a token",
            scope="the API integration needs access to the business unit",
            read_fault=_read_token_fault,
        )
        token = run.post(auth, "/v2/token", render_json(form)).read(_Token).access_token
        if not (token.isascii() and token.isprintable()):
            raise auth.refused("sent a token that a header can't contain")
        return token

    def _url(self, service: str) -> str:
        """Return the URL of a service. Raises: EspRefused if the subdomain is not a host label."""
        if self.url:
            return self.url
        if not is_host_label(self.subdomain):
            setting = variable("sfmc", "subdomain")
            raise EspRefused(
                f"The subdomain in {setting} can't be that of Salesforce Marketing Cloud: use only"
                " letters, digits and hyphens, as in mc123-abc."
            )
        return f"https://{self.subdomain}.{service}.marketingcloudapis.com"


def _read_token_fault(auth: Api, status: int, _: bytes) -> Fault | None:
    """Return the fault of a 400: one of the values is wrong (RFC 6749, section 5.2)."""
    if status != 400:
        return None
    settings = auth.named(f"{auth.credentials} account_id")
    return Fault(f"issues no token ({status}): check {settings}", temporary=False)
