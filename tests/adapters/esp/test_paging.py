"""Lists with several pages: limits, loops, changes, and links to other origins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import count

import pytest
from attrs import evolve

from recipient_fields.adapters.esp.api import Api
from recipient_fields.domain.esp import Esp
from recipient_fields.domain.integrations import EspRefused, EspUnavailable

from ...support.http_server import Handler, ReceivedRequest, Reply, StubResponse, always
from .accounts import (
    ACTIVECAMPAIGN,
    BRAZE,
    KLAVIYO,
    MAILCHIMP,
    SALESFORCE,
    SECRET,
    SENDGRID,
    STANDARD,
    TEST_LIMITS,
    Account,
    attributes,
    custom_fields,
    data_extension,
    field,
    merge_fields,
    profiles,
    refusal,
    soap,
)

FEW_PAGES = evolve(TEST_LIMITS, max_pages=20)
WITH_LINKS = (BRAZE, KLAVIYO, SENDGRID)
with_links = pytest.mark.parametrize("account", WITH_LINKS, ids=lambda a: a.esp)
with_totals = pytest.mark.parametrize("account", [MAILCHIMP, ACTIVECAMPAIGN], ids=lambda a: a.esp)


NAMES = [f"T{i}" for i in range(5_001)]
LAST_PAGE: Mapping[str, object] = {"attributes": [], "data": [], "reserved_fields": []}
ORIGINS = {
    Esp("braze"): "https://rest.iad-01.braze.com",
    Esp("klaviyo"): "https://a.klaviyo.com",
    Esp("sendgrid"): "https://api.sendgrid.com",
}


def page(account: Account, link: str, name: str = "a") -> StubResponse:
    """Return a page of Braze, Klaviyo or SendGrid with a link to the next page."""
    if account is SENDGRID:
        custom = [{"id": name, "name": name, "field_type": "Text"}]
        metadata = {"next": link}
        return StubResponse.json(
            {"custom_fields": custom, "reserved_fields": [], "_metadata": metadata}
        )
    if account is BRAZE:
        items = [{"name": name, "data_type": "String"}]
        return StubResponse.json({"attributes": items}, Link=f'<{link}>; rel="next"')
    data = [{"attributes": {"properties": {name: "a"}}}]
    return StubResponse.json({"data": data, "links": {"next": link}})


def numbered(each: Callable[[int], StubResponse]) -> Handler:
    """Return a handler that passes the number of the request, from 0, to `each`."""
    numbers = count()
    return lambda _: each(next(numbers))


@pytest.mark.parametrize(
    ("account", "handler", "requests"),
    [
        (
            MAILCHIMP,
            merge_fields([{"tag": tag, "name": "T", "type": "text"} for tag in NAMES[:2_500]]),
            3,
        ),
        (ACTIVECAMPAIGN, custom_fields([{"perstag": t, "title": "T"} for t in NAMES[:2_500]]), 25),
        (BRAZE, attributes([{"name": n, "data_type": "String"} for n in NAMES[:2_500]]), 50),
        (SALESFORCE, data_extension([(name, "Text") for name in NAMES]), 3),
    ],
    ids=lambda value: value.esp if isinstance(value, Account) else "",
)
def test_thousands_of_fields_are_read_in_full_pages(account, handler, requests, serve):
    server = serve(handler)
    names = [each.name for each in account.source(server.url).fields()]
    assert names == NAMES[: len(names)]
    assert len(names) == (5_001 if account is SALESFORCE else 2_500)
    assert len(account.listings(server)) == requests


@pytest.mark.parametrize(
    ("account", "handler"),
    [(MAILCHIMP, merge_fields([])), (ACTIVECAMPAIGN, custom_fields([])), (BRAZE, attributes([]))],
    ids=["mailchimp", "activecampaign", "braze"],
)
def test_an_account_without_fields_has_an_empty_list(account, handler, serve):
    assert list(account.source(serve(handler).url).fields()) == []


class TestLinks:
    @with_links
    @pytest.mark.parametrize(
        "change",
        [
            "http://127.0.0.1:{other}{path}",
            "//127.0.0.1:{other}{path}",
            "https://127.0.0.1:{port}{path}",
            "http://localhost:{port}{path}",
            *("http://127.0.0.1.example.com{path}", "http://a.klaviyo.com{path}"),
            "https://a.klaviyo.com.example.com{path}",
            "https://braze.com.example.com{path}",
            "https://me@example.com/rest.iad-01.braze.com{path}",
            "http://127.0.0.1:{port}@127.0.0.1:{other}{path}",
            "http://127.0.0.1:{other}\\@127.0.0.1:{port}{path}",
            *("file:///etc/passwd", "javascript:alert(1)", "http://["),
            "http://127.0.0.1:99999{path}",
        ],
    )
    def test_a_link_to_another_origin_is_not_followed(self, account, change, serve):
        other = serve(account.handler)
        link = ""
        server = serve(lambda _: page(account, link))
        link = change.format(
            other=other.url.rpartition(":")[2],
            port=server.url.rpartition(":")[2],
            path=account.listing,
        )
        with pytest.raises(EspRefused, match="on another host") as error:
            list(account.source(server.url).fields())
        assert other.requests == []
        assert len(server.requests) == 1
        assert error.value.__cause__ is None

    @with_links
    def test_a_link_can_be_relative_and_its_user_is_not_sent(self, account, serve):
        links = {
            None: "?cursor=2",
            "2": "{path}?cursor=3",
            "3": "http://me:pw@{host}{path}?cursor=4#a",
        }

        def handler(request: ReceivedRequest) -> Reply:
            cursor = request.query.get("cursor")
            if cursor not in links:
                return StubResponse.json(LAST_PAGE)
            link = links[cursor].format(path=account.listing, host=request.headers["host"])
            return page(account, link, f"name {cursor}")

        server = serve(handler)
        list(account.source(server.url).fields())
        assert [request.query.get("cursor") for request in server.requests] == [None, "2", "3", "4"]
        for request in server.requests:
            assert request.path == account.listing
            assert request.headers["authorization"].endswith(SECRET)

    @pytest.mark.parametrize(
        ("account", "prefix", "link"),
        [
            (WITH_LINKS[(row + column) % len(WITH_LINKS)], prefix, link)
            for row, prefix in enumerate(["/proxy", "/api", "/a/b", "/api/profiles"])
            for column, link in enumerate(
                [
                    "?cursor=2",
                    "{path}?cursor=2",
                    "{prefix}{path}?cursor=2",
                    "http://{host}{path}?cursor=2",
                    "http://{host}{prefix}{path}?cursor=2",
                    "{esp}{path}?cursor=2",
                ]
            )
        ],
        ids=lambda value: value.esp if isinstance(value, Account) else value,
    )
    def test_a_link_behind_a_proxy_is_requested_from_the_proxy(self, account, link, prefix, serve):
        esp = ORIGINS[account.esp]

        def handler(request: ReceivedRequest) -> Reply:
            if "cursor" in request.query:
                return StubResponse.json(LAST_PAGE)
            host = request.headers["host"]
            url = link.format(path=account.listing, prefix=prefix, host=host, esp=esp)
            return page(account, url)

        server = serve(handler)
        list(account.source(f"{server.url}{prefix}/").fields())
        first, second = server.requests
        assert (first.path, second.path) == (f"{prefix}{account.listing}",) * 2
        assert second.query == {"cursor": "2"}

    @with_links
    def test_a_loop_of_links_raises_esp_refused(self, account, serve):
        cursors = numbered(lambda i: page(account, f"?cursor={i % 3}", f"name {i}"))
        server = serve(cursors)
        assert "a page that was read before" in refusal(account.source(server.url))
        assert len(server.requests) == 4

    @with_links
    def test_too_many_linked_pages_raise_esp_refused(self, account, serve):
        server = serve(numbered(lambda i: page(account, f"?cursor={i}", f"name {i}")))
        settings = {"pages": 100} if account is KLAVIYO else {}
        source = account.source(server.url, limits=FEW_PAGES, **settings)
        assert "more than 20 pages" in refusal(source)
        assert len(server.requests) == 20

    @pytest.mark.parametrize(
        "header",
        [
            '<{next}>; rel="next"',
            "<{next}>; rel=next",
            '<{next}>;rel="next"',
            '<{next}>; title="a"; rel="next"',
            '<{next}>; REL="NEXT"',
            '<{other}>; rel="prev", <{next}>; rel="next"',
            '<{next}>; rel="next", <{other}>; rel="prev"',
        ],
    )
    def test_a_link_header_of_braze_can_have_several_forms(self, header, serve):
        links = {"next": "?cursor=2", "other": "http://example.com/"}
        pages = {
            None: StubResponse.json({"attributes": []}, Link=header.format(**links)),
            "2": StubResponse.json({"attributes": []}, Link='<http://example.com/>; rel="prev"'),
        }
        server = serve(lambda request: pages[request.query.get("cursor")])
        assert list(BRAZE.source(server.url).fields()) == []
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        "header",
        [
            *("?cursor=2", "<?cursor=2>", "<?cursor=2>; title=a", "next"),
            '<?cursor=2>, </a>; rel="prev"',
        ],
    )
    def test_a_link_header_of_another_form_does_not_end_the_list(self, header, serve):
        server = serve(always(StubResponse.json({"attributes": []}, Link=header)))
        assert "its header Link has a link without a relation" in refusal(BRAZE.source(server.url))

    def test_a_link_can_contain_the_default_port(self):
        api = Api(esp=Esp("braze"), url="https://EXAMPLE.com/", headers={}, scope="")
        assert api.linked(api.at("/a"), "https://example.com:443/a") == "https://example.com/a"
        with pytest.raises(EspRefused):
            api.linked(api.at("/a"), "https://example.com:444/a")

    def test_user_password_and_fragment_of_a_link_are_removed(self):
        api = Api(esp=Esp("braze"), url="https://example.com", headers={}, scope="")
        link = api.linked(api.at("/a"), "https://me:pw@example.com/a?c=d#e")
        assert link == "https://example.com/a?c=d"


WRONG_TOTALS: Mapping[str, Callable[[int, int], int]] = {
    "it becomes lower": lambda page, total: total - (1 if page else 0),
    "it becomes higher": lambda page, total: total + (1 if page else 0),
    "it is too high": lambda _, total: total + 1,
    "it is too low": lambda _, total: 1,
}
"""Totals by the number of the page, from 0, and the correct total."""


class TestTotals:
    @with_totals
    @pytest.mark.parametrize("totals", WRONG_TOTALS.values(), ids=WRONG_TOTALS)
    def test_a_wrong_total_raises_esp_unavailable(self, account, totals, serve):
        server = serve(changing(account, totals))
        message = refusal(account.source(server.url), EspUnavailable)
        assert "another number of fields than its total" in message

    @with_totals
    @pytest.mark.parametrize("total", [None, "", "many", -1, 1.5, True, "٣", [7], "9" * 5_000])
    def test_a_total_that_is_not_a_number_raises_esp_refused(self, account, total, serve):
        server = serve(changing(account, lambda *_: total))
        message = refusal(account.source(server.url))
        assert re.search("This must be (a whole number|an object)", message)

    @with_totals
    def test_a_repeated_page_raises_esp_unavailable(self, account, serve):
        server = serve(account.handler)
        list(account.source(server.url).fields())
        first = server.requests[0]
        server.handler = lambda _: account.handler(first)
        assert "listed a field twice" in refusal(account.source(server.url), EspUnavailable)

    @with_totals
    def test_too_many_counted_pages_raise_esp_refused(self, account, serve):
        def endless(i: int) -> StubResponse:
            if account is MAILCHIMP:
                item: object = {"tag": f"T{i}", "name": "T", "type": "text"}
                return StubResponse.json({"merge_fields": [item], "total_items": 10**9})
            item = {"id": str(i), "perstag": f"T{i}", "title": "T"}
            return StubResponse.json({"fields": [item], "meta": {"total": str(10**9)}})

        server = serve(numbered(endless))
        assert "more than 20 pages" in refusal(account.source(server.url, limits=FEW_PAGES))
        assert len(server.requests) == 20


def changing(account: Account, total: Callable[[int, int], object]) -> Handler:
    """Return a handler whose totals depend on the number of the page and the correct total."""
    numbers = count()

    def handler(request: ReceivedRequest) -> Reply:
        response = account.handler(request)
        assert isinstance(response, StubResponse)
        document = json.loads(response.body)
        if account is MAILCHIMP:
            document["total_items"] = total(next(numbers), document["total_items"])
        else:
            document["meta"]["total"] = total(next(numbers), int(document["meta"]["total"]))
        return StubResponse.json(document)

    return handler


class TestContinuedRequests:
    def test_too_many_continued_requests_raise_esp_refused(self, serve):
        endless = numbered(lambda i: soap("MoreDataAvailable", [(f"F{i}", "Text")]))
        server = serve(SALESFORCE.listing_with(endless))
        assert "more than 20 pages" in refusal(SALESFORCE.source(server.url, limits=FEW_PAGES))
        assert len(server.requests) == 21

    @pytest.mark.parametrize("account", [SALESFORCE, BRAZE, SENDGRID], ids=lambda a: a.esp)
    def test_a_repeated_field_raises_esp_unavailable(self, account, serve):
        def repeated(i: int) -> StubResponse:
            if account is SALESFORCE:
                return soap("MoreDataAvailable", [("Same", "Text")])
            return page(account, f"?cursor={i}")

        server = serve(account.listing_with(numbered(repeated)))
        assert "listed a field twice" in refusal(account.source(server.url), EspUnavailable)


class TestKlaviyoSample:
    @pytest.mark.parametrize(
        ("pages", "requests", "found"), [(1, 1, 1), (2, 2, 2), ("2", 2, 2), (3, 3, 3), (100, 3, 3)]
    )
    def test_the_sample_has_the_requested_number_of_pages(self, pages, requests, found, serve):
        server = serve(profiles([{f"property {i}": 1} for i in range(3)], size=1))
        reported = list(KLAVIYO.source(server.url, pages=pages).fields())
        assert len(server.requests) == requests
        assert reported[len(STANDARD) :] == [field(f"property {i}", "number") for i in range(found)]

    @pytest.mark.parametrize("pages", [0, 101, -1, "", "many", "1.5", "²", "9" * 5_000])
    def test_an_invalid_number_of_pages_raises_esp_refused(self, pages):
        with pytest.raises(EspRefused, match="1 to 100 pages"):
            KLAVIYO.source("https://a.klaviyo.com", pages=pages)
