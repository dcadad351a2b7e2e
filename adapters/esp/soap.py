"""Salesforce's SOAP API: the envelope of a Retrieve request, and its response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from attrs import frozen

from .api import Api, Fault

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
        envelope = _parse(body)
        if envelope is None:
            raise api.refused("sent a response that is not XML without a DTD")
        message = envelope.find(f".//{_PARTNER}RetrieveResponseMsg")
        if message is None:
            fault = api.read_fault and api.read_fault(body)
            raise (
                api.refused(fault.sentence)
                if fault
                else api.undocumented("RetrieveResponseMsg is missing")
            )
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

    def objects(self, name: str, member: str) -> Iterator[tuple[str, str | None]]:
        """Yield two members of each object; the second is None if the object does not have it."""
        for result in self._message.iterfind(f"{_PARTNER}Results"):
            yield self._text(result, name), result.findtext(_PARTNER + member)

    def _text(self, element: Element, name: str) -> str:
        text = element.findtext(_PARTNER + name)
        if text is None:
            raise self._api.undocumented(f"{name} is missing")
        return text


def read_fault(body: bytes, secret: str) -> Fault | None:
    """Return the fault of SOAP 1.1 or 1.2 in a body, without the secret, or None if there is none.

    A retry can succeed only if the server caused the fault (SOAP 1.1, section 4.4.1; SOAP 1.2,
    part 1, section 5.4.6).
    """
    envelope = _parse(body)
    fault = None if envelope is None else envelope.find("{*}Body/{*}Fault")
    if fault is None:
        return None
    code = (_text_at(fault, "faultcode") or _text_at(fault, "Code", "Value")).rpartition(":")[2]
    text = (_text_at(fault, "faultstring") or _text_at(fault, "Reason", "Text")).rstrip(".") or code
    text = ascii(text.replace(secret, "***"))[1:-1][:_MAX_FAULT]
    return Fault(text, temporary=code.startswith(_CAUSED_BY_SERVER))


def _text_at(element: Element, *path: str) -> str:
    """Return the text at the path, in any namespace and on one line, or empty if there is none."""
    return " ".join(element.findtext("/".join(f"{{*}}{name}" for name in path), "").split())


def _parse(body: bytes) -> Element | None:
    """Return the XML, or None if it is invalid or has a DTD."""
    parser = XMLParser(target=_WithoutDoctype())  # noqa: S314  # nosec B314
    try:
        parser.feed(body)
        root: Element = parser.close()
    except (LookupError, ParseError, ValueError):  # LookupError: an unknown encoding
        return None
    return root


_MAX_FAULT = 150
_CAUSED_BY_SERVER = ("Server", "Receiver")
"""The fault codes of SOAP 1.1 and 1.2. A code of SOAP 1.1 can have a suffix: `Server.Busy`."""
_COMPLETE = "OK"
_CONTINUES = "MoreDataAvailable"


class _WithoutDoctype(TreeBuilder):
    """A tree builder that rejects DTDs: they can declare entities that expand without limit."""

    def doctype(self, name: str, public_id: str | None, system: str | None) -> NoReturn:  # noqa: ARG002
        raise ValueError
