"""Salesforce's SOAP API: the envelope of a Retrieve request, and its response."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from attrs import frozen

from .api import Api, Fault

_PARTNER = "{http://exacttarget.com/wsdl/partnerAPI}"


def retrieve_request(token: str, data_extension: str, request_id: str = "") -> bytes:
    """Return the request for the fields of the data extension with this external key.

    `request_id` is the id of the request that it continues, if any.
    """
    more = f"<ContinueRequest>{escape(request_id)}</ContinueRequest>" if request_id else ""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
<s:Header><fueloauth xmlns="http://exacttarget.com">{escape(token)}</fueloauth></s:Header>
<s:Body xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<RetrieveRequestMsg xmlns="http://exacttarget.com/wsdl/partnerAPI"><RetrieveRequest>
<ObjectType>DataExtensionField</ObjectType><Properties>Name</Properties>
<Properties>FieldType</Properties><Properties>DefaultValue</Properties>
<Filter xsi:type="SimpleFilterPart"><Property>DataExtension.CustomerKey</Property>
<SimpleOperator>equals</SimpleOperator><Value>{escape(data_extension)}</Value></Filter>
{more}</RetrieveRequest></RetrieveRequestMsg></s:Body></s:Envelope>""".encode()


@frozen
class RetrieveResponse:
    """A successful response to a Retrieve request."""

    _api: Api
    _message: Element

    @classmethod
    def parse(cls, api: Api, body: bytes) -> RetrieveResponse:
        """Return the response.

        Raises: EspRefused if the XML is invalid or exceeds a limit, or if the request failed.
        """
        try:
            envelope = _parse(body)
        except _NotReadable as error:
            raise api.refused(f"sent a response {error}") from None
        message = envelope.find(f".//{_PARTNER}RetrieveResponseMsg")
        if message is None:
            fault = read_fault(api, 200, body)
            raise (
                api.refused(fault.sentence)
                if fault
                else api.undocumented("RetrieveResponseMsg is missing")
            )
        retrieved = cls(api, message)
        if retrieved.status not in {_COMPLETE, _CONTINUES}:
            raise api.refused(
                f"refuses to {api.task}. A possible reason is a missing permission: {api.scope}"
            )
        return retrieved

    @property
    def status(self) -> str:
        """`OK`, or `MoreDataAvailable` if there are more objects."""
        return self._text(self._message, "OverallStatus")

    @property
    def next_request_id(self) -> str:
        """The id with which the next request continues, or empty if there are no more objects."""
        return self._text(self._message, "RequestID") if self.status == _CONTINUES else ""

    def fields(self) -> Iterator[tuple[str, str | None, str | None]]:
        """Yield the name, the type and the default of each field. The last two can be absent."""
        for result in self._message.iterfind(f"{_PARTNER}Results"):
            optional = (result.findtext(_PARTNER + each) for each in ("FieldType", "DefaultValue"))
            type_name, default = (text or None for text in optional)
            yield self._text(result, "Name"), type_name, default

    def _text(self, element: Element, name: str) -> str:
        text = element.findtext(_PARTNER + name)
        if text is None:
            raise self._api.undocumented(f"{name} is missing")
        return text


def read_fault(api: Api, _: int, body: bytes) -> Fault | None:
    """Return the fault of SOAP 1.1 or 1.2 in the body of a response, or None if there is none.

    A retry can succeed only if the server caused the fault (SOAP 1.1, section 4.4.1; SOAP 1.2,
    part 1, section 5.4.6).
    """
    try:
        fault = _parse(body).find("{*}Body/{*}Fault")
    except _NotReadable:
        return None
    if fault is None:
        return None
    code = (_text_at(fault, "faultcode") or _text_at(fault, "Code", "Value")).strip()
    if code.rpartition(":")[2].startswith(_CAUSED_BY_SERVER):
        return Fault("failed with a SOAP fault", temporary=True)
    return Fault(f"rejects the request with a SOAP fault: {api.after_401}", temporary=False)


def _text_at(element: Element, *path: str) -> str:
    """Return the text at the path, in any namespace, or empty if there is none."""
    return element.findtext("/".join(f"{{*}}{name}" for name in path), "")


class _NotReadable(Exception):
    """The body is not XML within the limits. The message ends a sentence about the response."""


def _parse(body: bytes) -> Element:
    """Return the XML. Raises: _NotReadable if it is invalid, has a DTD or exceeds a limit."""
    if len(body) > _MAX_SIZE:
        raise _NotReadable(f"of more than {_MAX_SIZE >> 20} MiB")
    parser = XMLParser(target=_LimitedTreeBuilder())  # noqa: S314  # nosec B314
    try:
        for start in range(0, len(body), _PART_SIZE):
            parser.feed(body[start : start + _PART_SIZE])
        root: Element = parser.close()
    except (LookupError, ParseError, ValueError):  # LookupError: an unknown encoding
        raise _NotReadable("that is not XML without a DTD") from None
    return root


_MAX_SIZE = 4 * 2**20
"""Bytes. A page has at most 2,500 objects, of about 300 bytes."""
_MAX_ELEMENTS = 100_000
"""Elements and attributes. The objects of a page have about 20,000."""
_MAX_DEPTH = 32
"""Levels of elements, as in a JSON document. A response has six."""
_PART_SIZE = 65_536
"""Bytes that are parsed at once: after an error, the parser reads its part to the end."""
_CAUSED_BY_SERVER = ("Server", "Receiver")
"""The fault codes of SOAP 1.1 and 1.2. A code of SOAP 1.1 can have a suffix: `Server.Busy`."""
_COMPLETE = "OK"
_CONTINUES = "MoreDataAvailable"


class _LimitedTreeBuilder(TreeBuilder):
    """A tree builder that stops at a limit: an element needs 300 bytes, and its tags only seven.

    It also rejects DTDs: they can declare entities that expand without limit.
    """

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._elements = 0

    def start(self, tag: str, attributes: dict[str, str], /) -> Element:
        self._depth += 1
        self._elements += 1 + len(attributes)
        if self._depth > _MAX_DEPTH:
            raise _NotReadable(f"nested deeper than {_MAX_DEPTH} levels")
        if self._elements > _MAX_ELEMENTS:
            raise _NotReadable(f"of more than {_MAX_ELEMENTS:,} elements and attributes")
        return super().start(tag, attributes)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, name: str, public_id: str | None, system: str | None) -> NoReturn:  # noqa: ARG002
        raise ValueError
