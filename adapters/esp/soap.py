"""Salesforce's SOAP API: the envelope of a Retrieve request, and its response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from attrs import frozen

from .api import Api

_PARTNER = "{http://exacttarget.com/wsdl/partnerAPI}"


@frozen(kw_only=True)
class RetrieveRequest:
    """A request for the objects of a type whose `property` equals `value`."""

    object_type: str
    members: tuple[str, ...]
    property: str
    value: str

    def envelope(self, token: str, request_id: str = "") -> bytes:
        """Return the request. `request_id` is the id of the request that it continues, if any."""
        members = "".join(f"<Properties>{member}</Properties>" for member in self.members)
        more = f"<ContinueRequest>{escape(request_id)}</ContinueRequest>" if request_id else ""
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
<s:Header><fueloauth xmlns="http://exacttarget.com">{escape(token)}</fueloauth></s:Header>
<s:Body xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<RetrieveRequestMsg xmlns="http://exacttarget.com/wsdl/partnerAPI"><RetrieveRequest>
<ObjectType>{self.object_type}</ObjectType>{members}
<Filter xsi:type="SimpleFilterPart"><Property>{self.property}</Property>
<SimpleOperator>equals</SimpleOperator><Value>{escape(self.value)}</Value></Filter>
{more}</RetrieveRequest></RetrieveRequestMsg></s:Body></s:Envelope>""".encode()


@frozen
class RetrieveResponse:
    """A successful response to a Retrieve request."""

    _api: Api
    _message: Element

    @classmethod
    def parse(cls, api: Api, body: bytes) -> RetrieveResponse:
        """Return the response. Raises: EspRefused if the XML is invalid, or the request failed."""
        parser = XMLParser(target=_WithoutDoctype())  # noqa: S314  # nosec B314
        try:
            parser.feed(body)
            message = parser.close().find(f".//{_PARTNER}RetrieveResponseMsg")
        except (LookupError, ParseError, ValueError):  # LookupError: an unknown encoding
            raise api.refused("sent a response that is not XML without a DTD") from None
        if message is None:
            raise api.undocumented("RetrieveResponseMsg is missing")
        retrieved = cls(api, message)
        if retrieved.status not in {_COMPLETE, _CONTINUES}:
            raise api.refused(f"refuses to list fields: {api.scope}")
        return retrieved

    @property
    def status(self) -> str:
        """`OK`, or `MoreDataAvailable` if there are more objects."""
        return self._text(self._message, "OverallStatus")

    @property
    def next_request_id(self) -> str:
        """The id with which the next request continues, or empty if there are no more objects."""
        return self._text(self._message, "RequestID") if self.status == _CONTINUES else ""

    def objects(self, *members: str) -> Iterator[tuple[str, ...]]:
        """Yield the texts of these members of each object."""
        for result in self._message.iterfind(f"{_PARTNER}Results"):
            yield tuple(self._text(result, member) for member in members)

    def _text(self, element: Element, name: str) -> str:
        text = element.findtext(_PARTNER + name)
        if text is None:
            raise self._api.undocumented(f"{name} is missing")
        return text


_COMPLETE = "OK"
_CONTINUES = "MoreDataAvailable"


class _WithoutDoctype(TreeBuilder):
    """A tree builder that rejects DTDs: they can declare entities that expand without limit."""

    def doctype(self, name: str, public_id: str | None, system: str | None) -> NoReturn:  # noqa: ARG002
        raise ValueError
