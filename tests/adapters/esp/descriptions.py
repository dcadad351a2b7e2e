"""What the ESPs publish about the requests of their APIs, and about the types of fields.

The stand-ins check each request against it. The sources are the OpenAPI documents of Klaviyo,
HubSpot, SendGrid, Iterable and ActiveCampaign, the documentation and SDKs of Mailchimp, Brevo and
Braze, and the WSDL of Salesforce.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias
from urllib.parse import parse_qsl, urlsplit
from xml.etree import ElementTree as ET

from attrs import Factory, frozen

from recipient_fields.domain.esp import Esp

from ...support.http_server import ReceivedRequest

Rule: TypeAlias = Callable[[str], bool]


def anything(_: str) -> bool:
    return True


def whole(least: int, most: int) -> Rule:
    return lambda text: re.fullmatch("[0-9]+", text) is not None and least <= int(text) <= most


def one_of(*values: str) -> Rule:
    return lambda text: text in values


def list_of(*values: str) -> Rule:
    return lambda text: set(text.split(",")) <= set(values)


def nothing_wrong(_: bytes) -> Iterator[str]:
    yield from ()


@frozen(kw_only=True)
class Description:
    """One request of an API.

    `path` and the values of `headers` are patterns. `query` has all permitted parameters. `body`
    yields what is wrong with a body.
    """

    method: str = "GET"
    path: str
    headers: Mapping[str, str] = Factory(dict)
    query: Mapping[str, Rule] = Factory(dict)
    body: Callable[[bytes], Iterator[str]] = nothing_wrong

    def names(self, request: ReceivedRequest) -> bool:
        """Return whether the request has this method and path."""
        return request.method == self.method and re.fullmatch(self.path, request.path) is not None

    def violations(self, request: ReceivedRequest) -> Iterator[str]:
        """Yield what the description does not permit."""
        for name, pattern in self.headers.items():
            if re.fullmatch(pattern, request.headers.get(name, "")) is None:
                yield f"header {name}"
        parameters = parse_qsl(urlsplit(request.target).query, keep_blank_values=True)
        if len(dict(parameters)) < len(parameters):
            yield "a repeated parameter"
        for name, value in parameters:
            if name not in self.query or not self.query[name](value):
                yield f"parameter {name}"
        yield from self.body(request.body)


_TOKEN_MEMBERS = {"grant_type", "client_id", "client_secret", "account_id", "scope"}


def _token_request(body: bytes) -> Iterator[str]:
    document = json.loads(body)
    if not document.keys() <= _TOKEN_MEMBERS or document["grant_type"] != "client_credentials":
        yield "members of the token request"


_PARTNER = "{http://exacttarget.com/wsdl/partnerAPI}"
_RETRIEVE_REQUEST = ("ObjectType", "Properties", "Filter", "ContinueRequest")
"""The members in use, in the order of the WSDL's sequence."""
_PROPERTIES = {"CustomerKey", "DefaultValue", "FieldType", "IsPrimaryKey", "Name", "Ordinal"}


def _retrieve_request(body: bytes) -> Iterator[str]:
    envelope = ET.fromstring(body)
    if envelope.find(".//{http://exacttarget.com}fueloauth") is None:
        yield "the header fueloauth"
    retrieve = envelope.find(f".//{_PARTNER}RetrieveRequestMsg/{_PARTNER}RetrieveRequest")
    names = [] if retrieve is None else [each.tag.removeprefix(_PARTNER) for each in retrieve]
    if retrieve is None or names != sorted(names, key=_RETRIEVE_REQUEST.index):
        yield "the order of the members of RetrieveRequest"
    elif not {each.text for each in retrieve.iter(f"{_PARTNER}Properties")} <= _PROPERTIES:
        yield "a property that DataExtensionField does not have"


MAILCHIMP = Description(
    path=r"/3\.0/lists/[^/]+/merge-fields",
    headers={"authorization": r"(Bearer|Basic) \S+"},
    query={
        "fields": anything,
        "exclude_fields": anything,
        "count": whole(0, 1_000),
        "offset": whole(0, 10**9),
        "type": anything,
        "required": anything,
    },
)
ACTIVECAMPAIGN = Description(
    path="/api/3/fields",
    headers={"api-token": r"\S+"},
    query={"limit": whole(1, 100), "offset": whole(0, 10**9), "filters[perstag]": anything},
)
BRAZE = Description(
    path="/custom_attributes",
    headers={"authorization": r"Bearer \S+"},
    query={"cursor": anything},
)
KLAVIYO = Description(
    path="/api/profiles",
    headers={
        "authorization": r"Klaviyo-API-Key \S+",
        "revision": r"[0-9]{4}-[0-9]{2}-[0-9]{2}(\..+)?",
    },
    query={
        "additional-fields[profile]": list_of("subscriptions", "predictive_analytics"),
        "fields[profile]": list_of(
            *("created", "email", "external_id", "first_name", "id", "image", "last_event_date"),
            *("last_name", "locale", "location", "organization", "phone_number", "properties"),
            *("title", "updated"),
        ),
        **dict.fromkeys(["fields[conversation]", "fields[push-token]"], anything),
        **dict.fromkeys(["filter", "include", "page[cursor]"], anything),
        "page[size]": whole(1, 100),
        "sort": one_of(
            *("created", "-created", "email", "-email", "id", "-id", "updated", "-updated")
        ),
    },
)
HUBSPOT = Description(
    path="/crm/v3/properties/contacts",
    headers={"authorization": r"Bearer \S+"},
    query={
        "archived": one_of("true", "false"),
        "dataSensitivity": one_of("highly_sensitive", "non_sensitive", "sensitive"),
        "locale": anything,
        "properties": anything,
    },
)
SENDGRID = Description(
    path="/v3/marketing/field_definitions",
    headers={"authorization": r"Bearer \S+"},
    query={"page": anything},  # In the links of the stand-in. The API describes no parameters.
)
ITERABLE = Description(path="/api/users/getFields", headers={"api-key": r"\S+"})
BREVO = Description(path="/v3/contacts/attributes", headers={"api-key": r"\S+"})
SALESFORCE_TOKEN = Description(
    method="POST",
    path="/v2/token",
    headers={"content-type": "application/json"},
    body=_token_request,
)
MAILCHIMP_ROOT = Description(
    path=r"/3\.0/",
    headers={"authorization": r"(Bearer|Basic) \S+"},
    query={"fields": anything, "exclude_fields": anything},
)
KLAVIYO_ACCOUNTS = Description(
    path="/api/accounts",
    headers=KLAVIYO.headers,
    query={"fields[account]": list_of("contact_information.organization_name", "locale")},
)
HUBSPOT_DETAILS = Description(
    path="/account-info/v3/details", headers={"authorization": r"Bearer \S+"}
)
SENDGRID_USERNAME = Description(path="/v3/user/username", headers={"authorization": r"Bearer \S+"})
BREVO_ACCOUNT = Description(path="/v3/account", headers={"api-key": r"\S+"})
SALESFORCE_USER = Description(path="/v2/userinfo", headers={"authorization": r"Bearer \S+"})
SALESFORCE = Description(
    method="POST",
    path=r"/Service\.asmx",
    headers={"soapaction": "Retrieve", "content-type": "text/xml; charset=utf-8"},
    body=_retrieve_request,
)

TYPES: Mapping[Esp, set[str]] = {
    Esp("mailchimp"): {
        *("text", "number", "address", "phone", "date", "url", "imageurl", "radio", "dropdown"),
        *("birthday", "zip"),
    },
    Esp("activecampaign"): {
        *("dropdown", "hidden", "checkbox", "date", "text", "datetime", "textarea", "NULL"),
        *("listbox", "radio", "number", ""),
    },
    Esp("braze"): {
        *("Boolean", "Number", "String", "Time", "Array", "Object", "Array of objects"),
    },
    Esp("hubspot"): {"bool", "date", "datetime", "enumeration", "number", "phone_number", "string"},
    Esp("sendgrid"): {"Text", "Number", "Date"},
    Esp("iterable"): {
        *("string", "date", "long", "double", "boolean", "geo_location", "object", "nested"),
    },
    Esp("brevo"): {"text", "date", "float", "id", "boolean", "multiple-choice", "user"},
    Esp("sfmc"): {
        *("Text", "Number", "Date", "Boolean", "EmailAddress", "Phone", "Decimal", "Locale"),
        *("Base16Encrypted", "Base16EncryptedEmail"),
    },
}
"""The types that each ESP documents. Klaviyo's properties have the types of JSON values."""
