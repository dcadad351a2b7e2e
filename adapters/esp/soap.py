"""Salesforce's SOAP: the envelope of a Retrieve request, and what its answer says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.sax.saxutils import escape

from attrs import frozen

from .api import Api

_PARTNER = "{http://exacttarget.com/wsdl/partnerAPI}"


@frozen(kw_only=True)
class Retrieval:
    """Which objects of a type are asked for: those whose `property` equals `value`."""

    object_type: str
    members: tuple[str, ...]
    property: str
    value: str

    def envelope(self, token: str, continued: str = "") -> bytes:
        """The request; `continued` is the id of the one that it continues."""
        members = "".join(f"<Properties>{member}</Properties>" for member in self.members)
        more = f"<ContinueRequest>{escape(continued)}</ContinueRequest>" if continued else ""
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
class Retrieved:
    """One answer to a retrieval. EspRefused where it is not one, or says that it failed."""

    _api: Api
    _message: Element

    @classmethod
    def parse(cls, api: Api, body: bytes) -> Retrieved:
        """What that XML says."""
        parser = XMLParser(target=_WithoutDoctype())  # noqa: S314  # nosec B314
        try:
            parser.feed(body)
            message = parser.close().find(f".//{_PARTNER}RetrieveResponseMsg")
        except (ParseError, ValueError):
            raise api.refused("answers with something that is not XML without a DTD") from None
        if message is None:
            raise api.refused("answers otherwise than documented: there is no RetrieveResponseMsg")
        retrieved = cls(api, message)
        if retrieved.status not in {_COMPLETE, _CONTINUES}:
            raise api.refused(f"refuses to list fields: {api.scope}")
        return retrieved

    @property
    def status(self) -> str:
        """Whether this is all."""
        return self._text(self._message, "OverallStatus")

    @property
    def continues(self) -> str:
        """The id of the request that has more answers; empty where this was the last."""
        return self._text(self._message, "RequestID") if self.status == _CONTINUES else ""

    def objects(self, *members: str) -> Iterator[tuple[str, ...]]:
        """The texts of these members of each object."""
        for found in self._message.iterfind(f"{_PARTNER}Results"):
            yield tuple(self._text(found, member) for member in members)

    def _text(self, element: Element, name: str) -> str:
        text = element.findtext(_PARTNER + name)
        if text is None:
            raise self._api.refused(f"answers otherwise than documented: there is no {name}")
        return text


_COMPLETE = "OK"
_CONTINUES = "MoreDataAvailable"


class _WithoutDoctype(TreeBuilder):
    """Refuses what entities could be declared in: their expansion has no bound."""

    def doctype(self, name: str, public_id: str | None, system: str | None) -> NoReturn:  # noqa: ARG002
        raise ValueError
