"""Filters, order and pages of the list."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from urllib.parse import quote

import pytest

from recipient_fields.domain import DataType, FieldQuery, OrganizationId, SortKey
from recipient_fields.entrypoints.http.list_parameters import seal

from .api import FIELDS, Answer, Api
from .conftest import CHANNELS, Stand

BAD_REQUEST = (400, "invalid_parameter")


@pytest.fixture
def shelf(stand: Stand, bakery: OrganizationId) -> None:
    """Five fields of all origins, some with equal names."""
    stand.add(bakery, CHANNELS["api"], "city", name="b")
    stand.add(bakery, CHANNELS["manual"], "size", name="Größe", data_type=DataType.NUMBER)
    stand.add(bakery, CHANNELS["integration"], "first", name="a", esp_field_name="FNAME")
    stand.add(bakery, CHANNELS["api"], "zip", name="b", insertable=False)
    stand.add(bakery, CHANNELS["api"], "town", name="A", data_type=DataType.DATE)


def ask(api: Api, query: str, **headers: str) -> Answer:
    return api.send("GET", f"{FIELDS}?{query}", **headers)


def next_of(answer: Answer) -> str | None:
    """The query string of the next page."""
    link = answer.headers.get("link")
    if link is None:
        return None
    match = re.fullmatch(rf'<{FIELDS}\?(.+)>; rel="next"', link)
    assert match is not None
    return match[1]


@pytest.mark.usefixtures("shelf")
class TestFilters:
    @pytest.mark.parametrize(
        ("query", "keys"),
        {
            "source=api": ["city", "zip", "town"],
            "source=manual,integration": ["size", "first"],
            "data_type=number": ["size"],
            "data_type=number,date": ["size", "town"],
            "key=zip,city,no_such_key": ["city", "zip"],
            "integration_id=7": ["first"],
            "integration_id=8": [],
            "insertable=false": ["zip"],
            "insertable=true&source=api": ["city", "town"],
            "q=GR%C3%96SSE": ["size"],
            "q=fname": ["first"],
            "q=%25": [],
            "": ["city", "size", "first", "zip", "town"],
        }.items(),
    )
    def test_each_keeps_what_it_names(self, api: Api, query: str, keys: list[str]):
        answer = ask(api, query)
        assert answer.keys == keys
        assert answer.headers["total-count"] == str(len(keys))

    @pytest.mark.parametrize(
        ("query", "keys"),
        {
            "sort=key": ["city", "first", "size", "town", "zip"],
            "sort=-key": ["zip", "town", "size", "first", "city"],
            "sort=name": ["town", "size", "first", "city", "zip"],
            "sort=-name": ["city", "zip", "first", "size", "town"],
            "sort=id": ["city", "size", "first", "zip", "town"],
            "sort=-id": ["town", "zip", "first", "size", "city"],
        }.items(),
    )
    def test_the_order_is_by_code_points_then_by_id(self, api: Api, query: str, keys: list[str]):
        assert ask(api, query).keys == keys

    def test_the_order_by_times_follows_changes(self, api: Api, stand: Stand):
        stand.clock.move(seconds=1)
        api.patch("city", {"name": "c"})
        assert ask(api, "sort=-updated_at").keys[0] == "city"
        assert ask(api, "sort=-created_at").keys[0] == "city"  # All were made in one millisecond.

    @pytest.mark.parametrize(
        "query",
        [
            "source=", "source=apl", "source=api,", "source=API", "data_type=txt", "key=Not-One",
            "key=null", "integration_id=0", "integration_id=x", "insertable=1", "insertable=",
            "q=", f"q={'x' * 101}", "q=%00", "q=%ff", "sort=", "sort=--id", "sort=id,key",
            "limit=0", "limit=1001", "limit=-1", "limit=01", "limit=", "limit=1&limit=2",
            "cursor=", "cursor=x", "cursor=%F0%9F%98%80", "nope=1", "Source=api", "source",
            "q=%", "q=%zz", "q=%u1234", "q=100%&limit=1",
        ],
    )  # fmt: skip
    def test_what_is_unknown_malformed_or_repeated_is_refused(self, api: Api, query: str):
        assert ask(api, query).outcome == BAD_REQUEST

    @pytest.mark.parametrize("method", ["POST", "OPTIONS"])
    def test_other_methods_of_the_list_take_no_parameters(self, api: Api, method: str):
        assert api.send(method, f"{FIELDS}?limit=1", "{}").outcome == BAD_REQUEST


@pytest.mark.usefixtures("shelf")
class TestPages:
    @pytest.mark.parametrize("limit", [1, 2, 4, 5, 1000])
    @pytest.mark.parametrize("sort", ["id", "-key", "name", "-name", "updated_at"])
    def test_the_links_lead_through_all_of_the_list_once(self, api: Api, limit: int, sort: str):
        whole = ask(api, f"sort={sort}")
        keys: list[str] = []
        query: str | None = f"sort={sort}&limit={limit}"
        while query is not None:
            page = ask(api, query)
            assert page.headers["total-count"] == "5"
            assert 1 <= len(page.keys) <= limit
            keys += page.keys
            query = next_of(page)
        assert keys == whole.keys

    def test_a_link_keeps_the_filters(self, api: Api):
        query = next_of(ask(api, "source=api&q=C&sort=name&limit=1&insertable=true"))
        assert query is None  # Only `city` is left.
        query = next_of(ask(api, f"source=api&q={quote('t')}&limit=1"))
        assert query is not None
        assert ask(api, query).keys == ["town"]

    def test_a_cursor_knows_its_limit_and_another_may_accompany_it(self, api: Api):
        query = next_of(ask(api, "limit=2"))
        assert query is not None
        (cursor,) = re.findall("cursor=[^&]+", query)
        assert ask(api, cursor).keys == ["first", "zip"]
        assert ask(api, f"{cursor}&limit=1").keys == ["first"]

    @pytest.mark.parametrize("other", ["source=api", "sort=key", "sort=-id", "q=a", "key=city"])
    def test_a_cursor_of_another_query_is_refused(self, api: Api, other: str):
        query = next_of(ask(api, "limit=2"))
        assert query is not None
        (cursor,) = re.findall("cursor=[^&]+", query)
        assert ask(api, f"{cursor}&{other}").outcome == BAD_REQUEST

    def test_a_cursor_of_another_organization_is_refused(self, api: Api, brewery: Api):
        query = next_of(ask(api, "limit=2"))
        assert query is not None
        assert ask(brewery, query).outcome == BAD_REQUEST

    def test_a_cursor_that_was_tampered_with_is_refused(self, api: Api):
        query = next_of(ask(api, "limit=2"))
        assert query is not None
        for place in range(query.index("cursor=") + 7, len(query)):
            swapped = "A" if query[place] != "A" else "B"
            answer = ask(api, query[:place] + swapped + query[place + 1 :])
            assert answer.outcome == BAD_REQUEST or answer.keys == ["first", "zip"]

    @pytest.mark.parametrize(
        ("query", "told"),
        [
            ("datatype=text", "no others. Did you mean data_type?"),
            ("xyzzy=text", "cursor, and no others."),
            ("data_type=int", "data_type is one of text, number, boolean, date, datetime, or sev"),
            ("sort=age", "sort is one of id, key, name, created_at, updated_at, after - if desc"),
        ],
    )
    def test_a_refusal_says_what_would_be_taken(self, api: Api, query: str, told: str):
        assert told in ask(api, query).error["message"]

    @pytest.mark.parametrize("junk", ["!{}", "{}!", "{}=", "{}%20", "%20{}", "{}%0A"])
    def test_a_cursor_with_anything_beside_it_is_refused(self, api: Api, junk: str):
        query = next_of(ask(api, "limit=2"))
        assert query is not None
        (cursor,) = re.findall("cursor=([^&]+)", query)
        assert ask(api, f"limit=2&cursor={junk.format(cursor)}").outcome == BAD_REQUEST

    def test_a_deleted_field_leaves_its_cursor_usable(self, api: Api):
        query = next_of(ask(api, "source=api&limit=1"))
        assert query is not None
        api.delete("city")
        page = ask(api, query)
        assert page.keys == ["zip"]
        assert page.headers["total-count"] == "2"


@pytest.mark.usefixtures("shelf")
class TestCaching:
    @pytest.mark.parametrize("query", ["", "source=api", "limit=2", "sort=-name&limit=1"])
    def test_a_page_that_has_not_changed_is_not_sent_again(self, api: Api, query: str):
        tag = ask(api, query).etag
        assert ask(api, query, if_none_match=tag).status == 304
        api.patch("town", {"name": "B"})
        assert ask(api, query, if_none_match=tag).status == 200

    def test_head_tells_what_get_would(self, api: Api):
        get = ask(api, "limit=2&source=api")
        head = api.send("HEAD", f"{FIELDS}?limit=2&source=api")
        for name in ("etag", "link", "total-count", "content-length"):
            assert head.headers[name] == get.headers[name]


@pytest.mark.parametrize(
    ("sort", "place"),
    [
        ("id", [0, 1, 1]),
        ("id", [-2, 1, 1]),
        ("id", [1001, 1, 1]),
        ("id", [2, 2**70, 1]),
        ("id", [2, 1, 2**70]),
        ("id", [2, "1", 1]),
        ("id", [True, 1, 1]),
        ("name", [2, "a\0", 1]),
        ("name", [2, 1, 1]),
        ("created_at", [2, 2**53 - 1, 1]),
    ],
)
def test_a_forged_cursor_is_refused(
    api: Api, bakery: OrganizationId, sort: str, place: list[object]
) -> None:
    query = FieldQuery(sort=SortKey(sort))
    token = json.dumps([*place, seal(place, query, bakery)])
    cursor = urlsafe_b64encode(token.encode()).decode().rstrip("=")
    assert ask(api, f"sort={sort}&cursor={cursor}").outcome == BAD_REQUEST
