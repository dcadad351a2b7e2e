"""Stubs of the nine ESPs that list fields: their responses, and the fields to be reported.

Each handler implements the documented API with its pages, requires the credentials, and rejects
requests that the description of the API does not permit. The lists contain each documented type,
null in each member that can be null, and members that the sources don't read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

import pytest
from attrs import Factory, frozen

from recipient_fields.adapters.esp import SOURCES, Limits
from recipient_fields.application import EspFieldSource
from recipient_fields.domain import DataType, IntegrationId, OrganizationId
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import (
    EspField,
    EspRefused,
    Integration,
    RefusedField,
    ReportedField,
    SyncPlan,
    SyncRun,
)

from ...support.http_server import (
    Handler,
    ReceivedRequest,
    Reply,
    StubResponse,
    StubServer,
    always,
    in_turn,
)
from . import descriptions
from .descriptions import Description

SECRET = "s3cret-Key-us7"
LIST = "It holds a list of values; a recipient field holds one."
OBJECT = "It holds an object; a recipient field holds one value."
WITHOUT_VALUES = "No profile that was read has a value, so its type is unknown."
ENCRYPTED = "It holds encrypted values; a recipient field holds plain ones."
TEST_LIMITS = Limits(read_timeout=5, run_timeout=20, attempts=3, backoff=0.001, max_backoff=2)

Serve: TypeAlias = Callable[[Handler], StubServer]
"""A function that runs a server with a handler."""

UNAUTHORIZED = StubResponse(401, b'{"error": "unauthorized"}')
NOT_FOUND = StubResponse(404, b'{"error": "not found"}')


@frozen(kw_only=True)
class Account:
    """An account at an ESP: the handler of its API, and the fields that its source reports."""

    esp: Esp
    handler: Handler
    reported: tuple[ReportedField, ...]
    settings: Mapping[str, str] = Factory(lambda: {"api_key": SECRET})
    listing: str
    """The path of the list of fields."""
    name: str = ""
    """The name of the account, if the API has one."""

    def source(
        self, url: str, *, limits: Limits = TEST_LIMITS, **settings: object
    ) -> EspFieldSource:
        return SOURCES[self.esp](**{**self.settings, **settings}, url=url, limits=limits)

    def listing_with(self, listing: Handler) -> Handler:
        """Return the handler with another one for the requests for the list of fields."""
        return lambda request: (listing if request.path == self.listing else self.handler)(request)

    def listing_after(self, replies: Iterable[Reply]) -> Handler:
        """Return the handler that sends these replies to the first requests for the list."""
        return self.listing_with(in_turn(replies, self.handler))

    def listings(self, server: StubServer) -> list[ReceivedRequest]:
        """Return the requests for the list that the server has received."""
        return [request for request in server.requests if request.path == self.listing]


def refusal(source: EspFieldSource, error: type[Exception] = EspRefused) -> str:
    """Return the message of the error that the source raises when its fields are read."""
    with pytest.raises(error) as raised:
        list(source.fields())
    return str(raised.value)


def synced(esp: Esp, reported: Sequence[ReportedField]) -> SyncPlan:
    """Return what a first sync of these fields stores."""
    now = datetime.now(UTC)
    integration = Integration(
        id=IntegrationId(1), organization_id=OrganizationId(1), esp=esp, name="Main", created_at=now
    )
    return SyncRun.from_report(integration, reported, at=now).plan(integration, [])


def field(
    name: str,
    data_type: str = "text",
    label: str | None = None,
    allowed_values: Sequence[str] | None = None,
    *,
    standard: bool = False,
    default: str | None = None,
) -> EspField:
    return EspField(
        name=name,
        data_type=DataType(data_type),
        label=label,
        allowed_values=None if allowed_values is None else tuple(allowed_values),
        standard=standard,
        default=default,
    )


def unknown_type(name: str, type_name: str) -> RefusedField:
    return RefusedField(name, f"Its type {type_name!r} is unknown.")


Credential: TypeAlias = tuple[str, str]
"""The name and the value of a header."""


def described(description: Description, credential: Credential, list_fields: Handler) -> Handler:
    """Return the handler of a request that requires a credential.

    Like the ESP, it responds with 400 to a request that its description does not permit.
    """

    def handler(request: ReceivedRequest) -> Reply:
        header, value = credential
        if request.headers.get(header) != value:
            return UNAUTHORIZED
        if not description.names(request):
            return NOT_FOUND
        wrong = list(description.violations(request))
        return StubResponse(400, json.dumps(wrong).encode()) if wrong else list_fields(request)

    return handler


def named(
    handler: Handler, description: Description, credential: Credential, document: object
) -> Handler:
    """Return a handler that also describes the account."""
    account = described(description, credential, always(StubResponse.json(document)))
    return lambda request: (account if description.names(request) else handler)(request)


# Mailchimp


BEARER = ("authorization", f"Bearer {SECRET}")


def merge_field(
    merge_id: int, tag: str, name: str, type_name: str, **others: object
) -> Mapping[str, object]:
    return {"merge_id": merge_id, "tag": tag, "name": name, "type": type_name, **others}


TIERS = {"choices": ["gold", "silver"]}
UNREAD = {"options": {"size": 25}, "help_text": "", "display_order": 2}
MAILCHIMP_TEXTS = ("address", "phone", "url", "imageurl", "zip")
MERGE_FIELDS: Sequence[Mapping[str, object]] = [
    merge_field(1, "FNAME", "First Name", "text", default_value="there", **UNREAD),
    merge_field(2, "TIER", "Loyalty tier", "dropdown", options=TIERS),
    merge_field(3, "POINTS", "Points", "number"),
    merge_field(4, "BDAY", "Birthday", "birthday", options={}),
    merge_field(5, "SINCE", "Since", "date", options=None),
    merge_field(6, "COLORS", "Colors", "hologram"),
    merge_field(7, "SIZE", "Size", "radio", options={"choices": []}),
    *(
        merge_field(8 + i, f"M{i}", name, name, default_value="")
        for i, name in enumerate(MAILCHIMP_TEXTS)
    ),
]


def merge_fields(items: Sequence[Mapping[str, object]], *, max_page: int = 1_000) -> Handler:
    def list_fields(request: ReceivedRequest) -> Reply:
        count, offset = (int(request.query[name]) for name in ("count", "offset"))
        page = items[offset : offset + min(count, max_page)]
        return StubResponse.json(
            {"merge_fields": page, "list_id": "a/b", "total_items": len(items)}
        )

    return described(descriptions.MAILCHIMP, BEARER, list_fields)


MAILCHIMP = Account(
    esp=Esp("mailchimp"),
    settings={"api_key": SECRET, "list_id": "a/b"},
    listing="/3.0/lists/a%2Fb/merge-fields",
    name="Acme Outdoor (8d3a3db4)",
    handler=named(
        merge_fields(MERGE_FIELDS, max_page=3),
        descriptions.MAILCHIMP_ROOT,
        BEARER,
        {"account_id": "8d3a3db4", "account_name": "Acme Outdoor"},
    ),
    reported=(
        field("FNAME", label="First Name", default="there"),
        field("TIER", label="Loyalty tier", allowed_values=["gold", "silver"]),
        field("POINTS", "number", "Points"),
        field("BDAY", label="Birthday"),
        field("SINCE", "date", "Since"),
        unknown_type("COLORS", "hologram"),
        field("SIZE", label="Size"),
        *(field(f"M{i}", label=name) for i, name in enumerate(MAILCHIMP_TEXTS)),
    ),
)

# ActiveCampaign

CUSTOM_FIELDS: Sequence[Mapping[str, Any]] = [
    {
        "id": "1",
        "perstag": "TIER",
        "title": "Loyalty tier",
        "type": "dropdown",
        "options": ["8", "9"],
        "defval": "silver",
        "descript": None,
    },
    {"id": "2", "perstag": "NOTES", "title": "Notes", "type": "textarea", "options": []},
    {"id": "3", "perstag": "TAGS", "title": "Tags", "type": "listbox", "options": ["10"]},
    {"id": "4", "perstag": "SINCE", "title": "Since", "type": "date", "defval": None},
    {"id": "5", "perstag": "OLD", "title": "Old", "type": ""},
    {"id": "6", "perstag": "OLDER", "title": "Older", "type": None},
    {"id": "7", "perstag": "SEEN", "title": "Seen", "type": "datetime"},
    *(
        {"id": str(8 + i), "perstag": f"A{i}", "title": name, "type": name, "defval": ""}
        for i, name in enumerate(["hidden", "checkbox", "text", "NULL", "radio", "number"])
    ),
]
OPTIONS = {
    "8": {"id": "8", "field": "1", "value": "silver", "label": "Silver"},
    "9": {"id": "9", "field": "1", "value": "gold", "label": "Gold"},
    "10": {"id": "10", "field": "3", "value": "x", "label": "X"},
}


def custom_fields(items: Sequence[Mapping[str, Any]], *, max_page: int = 100) -> Handler:
    def list_fields(request: ReceivedRequest) -> Reply:
        limit, offset = (int(request.query[name]) for name in ("limit", "offset"))
        page = items[offset : offset + min(limit, max_page)]
        options = [OPTIONS[o] for each in page for o in each.get("options", [])]
        meta = {"total": str(len(items))}
        return StubResponse.json(
            {"fieldOptions": options, "fieldRels": [], "fields": page, "meta": meta}
        )

    return described(descriptions.ACTIVECAMPAIGN, ("api-token", SECRET), list_fields)


ACTIVECAMPAIGN = Account(
    esp=Esp("activecampaign"),
    listing="/api/3/fields",
    handler=custom_fields(CUSTOM_FIELDS, max_page=2),
    reported=(
        field("TIER", label="Loyalty tier", allowed_values=["silver", "gold"], default="silver"),
        field("NOTES", label="Notes"),
        RefusedField("TAGS", LIST),
        field("SINCE", "date", "Since"),
        field("OLD", label="Old"),
        field("OLDER", label="Older"),
        field("SEEN", "datetime", "Seen"),
        field("A0", label="hidden"),
        RefusedField("A1", LIST),
        field("A2", label="text"),
        field("A3", label="NULL"),
        field("A4", label="radio"),
        field("A5", "number", "number"),
    ),
)

# Braze

ATTRIBUTES: Sequence[Mapping[str, object]] = [
    {"name": "Loyalty Points", "data_type": "Number", "status": "Active", "description": "Points"},
    {"name": "blocked", "data_type": "String", "status": "Blocklisted"},
    {"name": "city", "data_type": "String (Automatically Detected)", "status": "Active"},
    {"name": "colors", "data_type": "Array", "array_length": 25, "status": "Active"},
    {"name": "joined", "data_type": "Date", "status": None},
    {"name": "pets", "data_type": "Object Array", "status": "Active"},
    {"name": "places", "data_type": "Array of objects", "status": "Active"},
    {"name": "seen", "data_type": "Time", "status": "Active", "description": None},
    {"name": "song", "data_type": "Object", "array_length": None, "later": {"added": True}},
    {"name": "vip", "data_type": "Boolean", "tag_names": ["one"]},
    {"name": "zodiac", "data_type": "String", "tag_names": None},
]


def attributes(items: Sequence[Mapping[str, object]], *, size: int = 50) -> Handler:
    def list_fields(request: ReceivedRequest) -> Reply:
        start = int(request.query.get("cursor", "0"))
        end = start + size
        link = f'<{request.origin}/custom_attributes?cursor={end}>; rel="next"'
        more = {"Link": link} if end < len(items) else {}
        return StubResponse.json({"message": "success", "attributes": items[start:end]}, **more)

    return described(descriptions.BRAZE, BEARER, list_fields)


BRAZE = Account(
    esp=Esp("braze"),
    listing="/custom_attributes",
    handler=attributes(ATTRIBUTES, size=3),
    reported=(
        field("Loyalty Points", "number"),
        field("city"),
        RefusedField("colors", LIST),
        field("joined", "datetime"),
        RefusedField("pets", LIST),
        RefusedField("places", LIST),
        field("seen", "datetime"),
        RefusedField("song", OBJECT),
        field("vip", "boolean"),
        field("zodiac"),
    ),
)

# Klaviyo

KLAVIYO_KEY = ("authorization", f"Klaviyo-API-Key {SECRET}")
PROFILES: Sequence[Mapping[str, object] | None] = [
    None,
    {"Loyalty Tier": "gold", "points": 5, "vip": True, "$source": -6, "empty": None},
    {"points": 7.5, "born": "1990-02-28", "colors": ["red"], "mixed": 5, "seen": "2026-01-01"},
    {},
    {"seen": "2026-11-20T09:15:00+00:00", "address": {"city": "Rome"}, "mixed": "five"},
    {"born": "", "points": None, "sku": "20261120", "day": "2026-02-30"},
]


def profiles(items: Sequence[Mapping[str, object] | None], *, size: int = 100) -> Handler:
    def list_fields(request: ReceivedRequest) -> Reply:
        query = request.query
        wanted = (query.get("sort"), query.get("fields[profile]"), request.headers["revision"])
        if wanted != ("-updated", "properties", "2026-07-15"):
            return StubResponse(400)
        start = int(query.get("page[cursor]", "0"))
        end = start + min(size, int(query["page[size]"]))
        data = [
            {"type": "profile", "id": str(i), "attributes": {"properties": properties}}
            for i, properties in enumerate(items[start:end])
        ]
        after = f"{request.target.split('&page%5Bcursor')[0]}&page%5Bcursor%5D={end}"
        next_link = f"{request.origin}{after}" if end < len(items) else None
        return StubResponse.json(
            {"data": data, "links": {"self": request.target, "next": next_link}}
        )

    return described(descriptions.KLAVIYO, KLAVIYO_KEY, list_fields)


STANDARD = tuple(
    field(label.lower().replace(" ", "_"), label=label, standard=True)
    for label in ("First name", "Last name", "Full name", "Email", "Phone number", "Organization")
)
KLAVIYO_ATTRIBUTES = {"contact_information": {"organization_name": "Acme Outdoor"}}
KLAVIYO = Account(
    esp=Esp("klaviyo"),
    listing="/api/profiles",
    name="Acme Outdoor (AbC123)",
    handler=named(
        profiles(PROFILES, size=2),
        descriptions.KLAVIYO_ACCOUNTS,
        KLAVIYO_KEY,
        {"data": [{"type": "account", "id": "AbC123", "attributes": KLAVIYO_ATTRIBUTES}]},
    ),
    reported=(
        *STANDARD,
        field("Loyalty Tier"),
        field("points", "number"),
        field("vip", "boolean"),
        field("$source", "number"),
        RefusedField("empty", WITHOUT_VALUES),
        field("born", "date"),
        RefusedField("colors", LIST),
        field("mixed"),
        field("seen", "datetime"),
        RefusedField("address", OBJECT),
        field("sku"),
        field("day"),
    ),
)

# HubSpot


def contact_property(
    name: str, label: str, type_name: str, field_type: str, **others: object
) -> Mapping[str, Any]:
    return {"name": name, "label": label, "type": type_name, "fieldType": field_type, **others}


RED = [{"label": "Red", "value": "red"}]
YES_NO = [{"label": "Yes", "value": "true"}, {"label": "No", "value": "false"}]
LEVELS = [
    {"label": "Gold", "value": "gold", "displayOrder": 0, "hidden": False},
    {"label": "Lead", "value": "lead", "displayOrder": 1, "hidden": True},
]
SIZES = [{"label": "S", "value": "s", "description": None, "displayOrder": -1}]
UNUSED = {"calculated": None, "modificationMetadata": {"archivable": True}}
HUBSPOT_TEXTS = ("calculation_equation", "file", "html", "textarea")
PROPERTIES: Sequence[Mapping[str, Any]] = [
    contact_property("city", "City", "string", "text", options=[]),
    contact_property("tier", "Loyalty tier", "enumeration", "select", options=LEVELS, hidden=False),
    contact_property("colors", "Colors", "enumeration", "checkbox", options=RED),
    contact_property("vip", "VIP", "bool", "booleancheckbox", options=YES_NO),
    contact_property("owner", "Owner", "enumeration", "select", options=[]),
    contact_property("hs_secret", "Secret", "string", "text", hidden=True),
    contact_property("gone", "Gone", "string", "text", archived=True),
    contact_property("born", "Born", "date", "date", calculated=True),
    contact_property("seen", "Seen", "datetime", "date"),
    contact_property("phone", "Phone", "phone_number", "phonenumber"),
    contact_property("blob", "Blob", "json", "text"),
    contact_property("score", "Score", "number", "number"),
    contact_property("spot", "Spot", "object_coordinates", "text"),
    contact_property("subscribed", "Subscribed", "enumeration", "booleancheckbox", options=YES_NO),
    *(contact_property(kind, kind, "string", kind, options=[]) for kind in HUBSPOT_TEXTS),
    contact_property("size", "Size", "enumeration", "radio", options=SIZES, **UNUSED),
    contact_property("passport", "Passport", "string", "text", dataSensitivity="sensitive"),
]


def contact_properties(request: ReceivedRequest) -> Reply:
    """List the properties with the requested sensitivity and archive status."""
    sensitivity = request.query.get("dataSensitivity", "non_sensitive")
    archived = request.query.get("archived", "false") == "true"
    results = [
        each
        for each in PROPERTIES
        if each.get("dataSensitivity", "non_sensitive") == sensitivity
        and (archived or not each.get("archived"))
    ]
    return StubResponse.json({"results": results})


HUBSPOT = Account(
    esp=Esp("hubspot"),
    settings={"access_token": SECRET},
    listing="/crm/v3/properties/contacts",
    name="123456",
    handler=named(
        described(descriptions.HUBSPOT, BEARER, contact_properties),
        descriptions.HUBSPOT_DETAILS,
        BEARER,
        {"portalId": 123456, "accountType": "STANDARD", "uiDomain": "app.hubspot.com"},
    ),
    reported=(
        field("city", label="City"),
        field("tier", label="Loyalty tier", allowed_values=["gold", "lead"]),
        RefusedField("colors", LIST),
        field("vip", "boolean", "VIP"),
        field("owner", label="Owner"),
        field("born", "date", "Born"),
        field("seen", "datetime", "Seen"),
        field("phone", label="Phone"),
        RefusedField("blob", OBJECT),
        field("score", "number", "Score"),
        unknown_type("spot", "object_coordinates"),
        field("subscribed", "boolean", "Subscribed"),
        *(field(kind, label=kind) for kind in HUBSPOT_TEXTS),
        field("size", label="Size", allowed_values=["s"]),
    ),
)

# SendGrid

DEFINED: Sequence[Mapping[str, object]] = [
    {"id": "e1_T", "name": "city", "field_type": "Text"},
    {"id": "e2_N", "name": "points", "field_type": "Number"},
    {"id": "e3_D", "name": "since", "field_type": "Date", "later": ["added"]},
    {"id": "e4_T", "name": "tier", "field_type": "Text", "read_only": None},
]
RESERVED: Sequence[Mapping[str, object]] = [
    {"id": "_rf0_T", "name": "first_name", "field_type": "Text"},
    {"id": "_rf3_T", "name": "alternate_emails", "field_type": "Text"},
    {"id": "_rf16_D", "name": "last_clicked", "field_type": "Date", "read_only": True},
]


def definitions(items: Sequence[Mapping[str, object]], *, size: int) -> Handler:
    """List the custom fields in pages of this size, each with all reserved fields."""

    def list_fields(request: ReceivedRequest) -> Reply:
        start = int(request.query.get("page", "0"))
        end = start + size
        url = f"https://api.sendgrid.com{request.path}"
        metadata = {"self": f"{url}?page={start}", "count": len(items)}
        if end < len(items):
            metadata["next"] = f"{url}?page={end}"
        custom = items[start:end]
        return StubResponse.json(
            {"custom_fields": custom, "reserved_fields": RESERVED, "_metadata": metadata}
        )

    return described(descriptions.SENDGRID, BEARER, list_fields)


SENDGRID = Account(
    esp=Esp("sendgrid"),
    listing="/v3/marketing/field_definitions",
    name="acme-outdoor",
    handler=named(
        definitions(DEFINED, size=2),
        descriptions.SENDGRID_USERNAME,
        BEARER,
        {"username": "acme-outdoor", "user_id": 1},
    ),
    reported=(
        field("city"),
        field("points", "number"),
        field("since", "datetime"),
        field("tier"),
        field("first_name"),
        RefusedField("alternate_emails", LIST),
        field("last_clicked", "datetime"),
    ),
)

# Iterable

FIELDS = {
    "email": "string",
    "Lifetime Value": "double",
    "visits": "long",
    "vip": "boolean",
    "signupDate": "date",
    "address": "object",
    "address.city": "string",
    "address.Zip Code": "string",
    "place": "geo_location",
    "orders": "nested",
    "orders.total": "double",
    "orders.items.sku": "string",
    "ordersTotal": "long",
    "emailListIds": "long",
    "devices": "object",
    "devices.token": "string",
    "tags": "array",
}

ITERABLE = Account(
    esp=Esp("iterable"),
    listing="/api/users/getFields",
    handler=described(
        descriptions.ITERABLE,
        ("api-key", SECRET),
        always(StubResponse.json({"fields": FIELDS, "later": None})),
    ),
    reported=(
        field("email"),
        field("Lifetime Value", "number"),
        field("visits", "number"),
        field("vip", "boolean"),
        field("signupDate", "datetime"),
        RefusedField("address", OBJECT),
        field("address.city"),
        field("address.Zip Code"),
        RefusedField("place", OBJECT),
        *(RefusedField(name, LIST) for name in ("orders", "orders.total", "orders.items.sku")),
        field("ordersTotal", "number"),
        *(
            RefusedField(name, LIST)
            for name in ("emailListIds", "devices", "devices.token", "tags")
        ),
    ),
)

# Brevo


def contact_attribute(name: str, category: str, **others: object) -> Mapping[str, object]:
    return {"name": name, "category": category, **others}


def categories(*choices: tuple[int, str, str]) -> list[object]:
    return [{"value": value, "valueStr": text, "label": label} for value, text, label in choices]


LANGUAGES = categories((0, "en", "English"), (0, "fr", "French"), (7, "007", "Bond"))
SILVER_AND_GOLD = categories((2, "2", "silver"), (1, "1", "gold"))
COLORS = {"multiCategoryOptions": ["red", "blue"]}
CONTACT_ATTRIBUTES: Sequence[Mapping[str, object]] = [
    contact_attribute("LASTNAME", "normal", type="text"),
    contact_attribute("POINTS", "normal", type="float"),
    contact_attribute("VIP", "normal", type="boolean"),
    contact_attribute("SINCE", "normal", type="date"),
    contact_attribute("OWNER", "normal", type="user"),
    contact_attribute("COLORS", "normal", type="multiple-choice", **COLORS),
    contact_attribute("TIER", "category", type=None, enumeration=SILVER_AND_GOLD),
    contact_attribute("LANGUAGE", "category", enumeration=LANGUAGES, later="added"),
    contact_attribute("ORDER_ID", "transactional", type="id"),
    contact_attribute("ORDERS", "calculated", calculatedValue="COUNT[ORDER_ID]"),
    contact_attribute("BLACKLIST", "global", calculatedValue="COUNT[BLACKLISTED]"),
]

BREVO_KEY = ("api-key", SECRET)
BREVO_LIST = {"attributes": CONTACT_ATTRIBUTES}
BREVO = Account(
    esp=Esp("brevo"),
    listing="/v3/contacts/attributes",
    name="Acme Outdoor (5f1e)",
    handler=named(
        described(descriptions.BREVO, BREVO_KEY, always(StubResponse.json(BREVO_LIST))),
        descriptions.BREVO_ACCOUNT,
        BREVO_KEY,
        {"organization_id": "5f1e", "companyName": "Acme Outdoor", "email": "a@acme.example"},
    ),
    reported=(
        field("LASTNAME"),
        field("POINTS", "number"),
        field("VIP", "boolean"),
        field("SINCE", "date"),
        field("OWNER"),
        RefusedField("COLORS", LIST),
        field("TIER", allowed_values=["2", "1"]),
        field("LANGUAGE", allowed_values=["en", "fr", "007"]),
        RefusedField(
            "ORDER_ID", "It belongs to a contact's transactions, of which there can be several."
        ),
        RefusedField("ORDERS", "Brevo calculates it and does not list its type."),
        RefusedField("BLACKLIST", "It belongs to the account, not to a contact."),
    ),
)

# Salesforce

SOAP_1_1 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP_1_2 = "http://www.w3.org/2003/05/soap-envelope"
TOKEN = "t0ken<&>"
EXTENSION_FIELDS = [
    ("First Name", "Text"),
    ("Email", "EmailAddress"),
    ("Points", "Number"),
    ("Spent", "Decimal"),
    ("Since", "Date"),
    ("Vip", "Boolean"),
    ("Mobile", "Phone"),
    ("Locale", "Locale"),
    ("Blob", "Hologram"),
    ("Iban", "Base16Encrypted"),
    ("Private", "Base16EncryptedEmail"),
]
DEFAULTS = {"Locale": "en-US", "Points": ""}


def envelope(status: int, body: str, namespace: str = SOAP_1_1) -> StubResponse:
    return StubResponse(
        status,
        f"""<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:soap="{namespace}"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body>
{body}</soap:Body></soap:Envelope>""".encode(),
        {"Content-Type": "text/xml; charset=utf-8"},
    )


def soap(status: str, items: Sequence[tuple[str, str]], request_id: str = "r-1") -> StubResponse:
    results = "".join(
        '<Results xsi:type="DataExtensionField"><PartnerKey xsi:nil="true" />'
        f"<CustomerKey>[K].[{escape(name)}]</CustomerKey><Name>{escape(name)}</Name>"
        f"<FieldType>{escape(kind)}</FieldType>"
        f"<DefaultValue>{DEFAULTS.get(name, '')}</DefaultValue></Results>"
        for name, kind in items
    )
    return envelope(
        200,
        '<RetrieveResponseMsg xmlns="http://exacttarget.com/wsdl/partnerAPI">'
        f"<OverallStatus>{status}</OverallStatus><RequestID>{request_id}</RequestID>{results}"
        "</RetrieveResponseMsg>",
    )


def soap_fault(code: str, message: str, *, version: str = "1.1") -> StubResponse:
    if version == "1.1":
        fault = f"<faultcode>{code}</faultcode><faultstring>{escape(message)}</faultstring>"
        return envelope(500, f"<soap:Fault>{fault}</soap:Fault>")
    fault = (
        f"<soap:Code><soap:Value>{code}</soap:Value></soap:Code><soap:Reason>"
        f'<soap:Text xml:lang="en">{escape(message)}</soap:Text></soap:Reason>'
    )
    return envelope(500, f"<soap:Fault>{fault}</soap:Fault>", SOAP_1_2)


def data_extension(items: Sequence[tuple[str, str]], *, size: int = 2_500) -> Handler:
    def handler(request: ReceivedRequest) -> Reply:
        if descriptions.SALESFORCE_TOKEN.names(request):
            if [*descriptions.SALESFORCE_TOKEN.violations(request)]:
                return StubResponse(400)
            form = json.loads(request.body)
            if (form["client_id"], form["client_secret"]) == ("me", SECRET):
                return StubResponse.json(
                    {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 1079}
                )
            return UNAUTHORIZED
        if not descriptions.SALESFORCE.names(request):
            return NOT_FOUND
        if [*descriptions.SALESFORCE.violations(request)]:
            return StubResponse(400)
        envelope = request.body.decode()
        assert "<ObjectType>DataExtensionField</ObjectType>" in envelope
        assert "<Property>DataExtension.CustomerKey</Property>" in envelope
        if f'<fueloauth xmlns="http://exacttarget.com">{escape(TOKEN)}</fueloauth>' not in envelope:
            return StubResponse(500)
        if "<Value>K &amp; L</Value>" not in envelope:
            return soap("OK", [])
        continued = re.search("<ContinueRequest>r-([0-9]+)</ContinueRequest>", envelope)
        start = int(continued[1]) if continued else 0
        end = start + size
        status = "MoreDataAvailable" if end < len(items) else "OK"
        return soap(status, items[start:end], f"r-{end}")

    return handler


SALESFORCE = Account(
    esp=Esp("sfmc"),
    settings={
        "client_id": "me",
        "client_secret": SECRET,
        "subdomain": "mc123",
        "data_extension": "K & L",
    },
    listing="/Service.asmx",
    name="Acme Outdoor (500123)",
    handler=named(
        data_extension(EXTENSION_FIELDS, size=4),
        descriptions.SALESFORCE_USER,
        ("authorization", f"Bearer {TOKEN}"),
        {"organization": {"member_id": 500123, "enterprise_name": "Acme Outdoor"}},
    ),
    reported=(
        field("First Name"),
        field("Email"),
        field("Points", "number"),
        field("Spent", "number"),
        field("Since", "datetime"),
        field("Vip", "boolean"),
        field("Mobile"),
        field("Locale", default="en-US"),
        unknown_type("Blob", "Hologram"),
        RefusedField("Iban", ENCRYPTED),
        RefusedField("Private", ENCRYPTED),
    ),
)

ACCOUNTS = (
    SALESFORCE,
    MAILCHIMP,
    KLAVIYO,
    BRAZE,
    HUBSPOT,
    SENDGRID,
    ITERABLE,
    BREVO,
    ACTIVECAMPAIGN,
)
