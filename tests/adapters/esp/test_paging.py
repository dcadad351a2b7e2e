"""Listings of several pages: read to their end, never in circles, never at another origin."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count

import pytest
from attrs import evolve

from recipient_fields.adapters.esp.api import Api
from recipient_fields.domain.esp import Esp, EspRefused, EspUnavailable

from ...support.http_server import Act, Heard, Play, Played, Stage
from .accounts import (
    ACTIVECAMPAIGN,
    BRAZE,
    KLAVIYO,
    MAILCHIMP,
    QUICK,
    SALESFORCE,
    SECRET,
    STANDARD,
    Account,
    attributes,
    custom_fields,
    data_extension,
    field,
    merge_fields,
    profiles,
    soap,
)

Staging = Callable[[Play], Stage]

BOUNDED = evolve(QUICK, max_pages=20)
LINKED = pytest.mark.parametrize("account", [BRAZE, KLAVIYO], ids=lambda a: a.esp.value)
COUNTED = pytest.mark.parametrize("account", [MAILCHIMP, ACTIVECAMPAIGN], ids=lambda a: a.esp.value)


def page(account: Account, link: str, name: str = "a") -> Played:
    """A page of Braze or Klaviyo, and the link to the next one."""
    if account is BRAZE:
        items = [{"name": name, "data_type": "String"}]
        return Played.json({"attributes": items}, Link=f'<{link}>; rel="next"')
    data = [{"attributes": {"properties": {name: "a"}}}]
    return Played.json({"data": data, "links": {"next": link}})


def numbered(each: Callable[[int], Played]) -> Play:
    """Plays the answers of ever higher numbers."""
    numbers = count()
    return lambda _: each(next(numbers))


@pytest.mark.parametrize(
    ("account", "play", "requests"),
    [
        (
            MAILCHIMP,
            merge_fields(
                [
                    {"merge_id": i, "tag": f"T{i}", "name": f"Tag {i}", "type": "text"}
                    for i in range(2_500)
                ]
            ),
            3,
        ),
        (
            ACTIVECAMPAIGN,
            custom_fields([{"id": str(i), "perstag": f"T{i}", "title": "T"} for i in range(2_500)]),
            25,
        ),
        (BRAZE, attributes([{"name": f"T{i}", "data_type": "String"} for i in range(2_500)]), 50),
        (SALESFORCE, data_extension([(f"T{i}", "Text") for i in range(5_001)]), 3),
    ],
    ids=lambda value: value.esp.value if isinstance(value, Account) else "",
)
def test_thousands_of_fields_take_as_few_requests_as_documented(
    account: Account, play: Play, requests: int, stage: Staging
):
    playing = stage(play)
    names = [each.name for each in account.source(playing.url).fields()]
    assert names == [f"T{i}" for i in range(len(names))]
    assert len(names) in {2_500, 5_001}
    assert sum(heard.path == account.listing for heard in playing.heard) == requests


@pytest.mark.parametrize(
    ("account", "play"),
    [
        (MAILCHIMP, merge_fields([])),
        (ACTIVECAMPAIGN, custom_fields([])),
        (BRAZE, attributes([])),
    ],
    ids=["mailchimp", "activecampaign", "braze"],
)
def test_an_account_may_have_no_fields(account: Account, play: Play, stage: Staging):
    assert list(account.source(stage(play).url).fields()) == []


class TestLinks:
    @LINKED
    @pytest.mark.parametrize(
        "change",
        [
            "http://127.0.0.1:{other}{path}",
            "//127.0.0.1:{other}{path}",
            "https://127.0.0.1:{port}{path}",
            "http://localhost:{port}{path}",
            "http://127.0.0.1.example.com{path}",
            "http://127.0.0.1:{port}@127.0.0.1:{other}{path}",
            "http://127.0.0.1:{other}\\@127.0.0.1:{port}{path}",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "http://[",
            "http://127.0.0.1:99999{path}",
        ],
    )
    def test_to_another_origin_get_nothing(self, account, change, stage: Staging):
        elsewhere = stage(account.play)
        link = ""
        playing = stage(lambda _: page(account, link))
        link = change.format(
            other=elsewhere.url.rpartition(":")[2],
            port=playing.url.rpartition(":")[2],
            path=account.listing,
        )
        with pytest.raises(EspRefused, match="on another host") as error:
            list(account.source(playing.url).fields())
        assert elsewhere.heard == []
        assert len(playing.heard) == 1
        assert error.value.__cause__ is None

    @LINKED
    def test_may_be_relative_and_carry_no_name_along(self, account, stage: Staging):
        links = {
            None: "?cursor=2",
            "2": "{path}?cursor=3",
            "3": "http://me:pw@{host}{path}?cursor=4#a",
        }
        last: object = {"attributes": []} if account is BRAZE else {"data": []}

        def play(heard: Heard) -> Act:
            cursor = heard.query.get("cursor")
            if cursor not in links:
                return Played.json(last)
            link = links[cursor].format(path=account.listing, host=heard.headers["host"])
            return page(account, link, f"name {cursor}")

        playing = stage(play)
        list(account.source(playing.url).fields())
        assert [heard.query.get("cursor") for heard in playing.heard] == [None, "2", "3", "4"]
        for heard in playing.heard:
            assert heard.path == account.listing
            assert heard.headers["authorization"].endswith(SECRET)

    @LINKED
    def test_in_a_circle_are_a_refusal(self, account, stage: Staging):
        cursors = numbered(lambda i: page(account, f"?cursor={i % 3}", f"name {i}"))
        playing = stage(cursors)
        with pytest.raises(EspRefused, match="a page that was read before"):
            list(account.source(playing.url).fields())
        assert len(playing.heard) == 4

    @LINKED
    def test_without_end_are_a_refusal(self, account, stage: Staging):
        playing = stage(numbered(lambda i: page(account, f"?cursor={i}", f"name {i}")))
        settings = {"pages": 100} if account is KLAVIYO else {}
        with pytest.raises(EspRefused, match="more than 20 pages"):
            list(account.source(playing.url, limits=BOUNDED, **settings).fields())
        assert len(playing.heard) == 20

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
    def test_of_braze_may_be_written_in_several_ways(self, header, stage: Staging):
        links = {"next": "?cursor=2", "other": "http://example.com/"}
        answers = {
            None: Played.json({"attributes": []}, Link=header.format(**links)),
            "2": Played.json({"attributes": []}, Link='<http://example.com/>; rel="prev"'),
        }
        playing = stage(lambda heard: answers[heard.query.get("cursor")])
        assert list(BRAZE.source(playing.url).fields()) == []
        assert len(playing.heard) == 2

    def test_are_followed_to_a_default_port_however_it_is_written(self):
        api = Api(esp=Esp.BRAZE, url="https://EXAMPLE.com/", headers={}, scope="")
        assert api.linked(api.at("/a"), "https://example.com:443/b") == "https://example.com:443/b"
        with pytest.raises(EspRefused):
            api.linked(api.at("/a"), "https://example.com:444/b")

    def test_are_followed_without_what_is_no_part_of_the_request(self):
        api = Api(esp=Esp.BRAZE, url="https://example.com", headers={}, scope="")
        link = api.linked(api.at("/a"), "https://me:pw@example.com/b?c=d#e")
        assert link == "https://example.com/b?c=d"


class TestTotals:
    @COUNTED
    @pytest.mark.parametrize("change", [-1, 1])
    def test_that_change_meanwhile_are_no_answer(self, account, change, stage: Staging):
        playing = stage(changing(account, lambda i, total: total + (change if i else 0)))
        with pytest.raises(EspUnavailable, match="another number of fields than its total"):
            list(account.source(playing.url).fields())

    @COUNTED
    def test_that_are_never_reached_are_no_answer(self, account, stage: Staging):
        playing = stage(changing(account, lambda _, total: total + 1))
        with pytest.raises(EspUnavailable, match="another number of fields than its total"):
            list(account.source(playing.url).fields())

    @COUNTED
    def test_that_are_exceeded_are_no_answer(self, account, stage: Staging):
        playing = stage(changing(account, lambda _, total: 1))
        with pytest.raises(EspUnavailable, match="another number of fields than its total"):
            list(account.source(playing.url).fields())

    @COUNTED
    @pytest.mark.parametrize("total", [None, "", "many", -1, 1.5, True, "٣", [7], "9" * 5_000])
    def test_that_are_no_number_are_another_answer(self, account, total, stage: Staging):
        playing = stage(changing(account, lambda *_: total))
        with pytest.raises(EspRefused, match=r"This must be (a whole number|an object)"):
            list(account.source(playing.url).fields())

    @COUNTED
    def test_reached_by_the_same_page_again_are_no_answer(self, account, stage: Staging):
        playing = stage(account.play)
        list(account.source(playing.url).fields())
        first = playing.heard[0]
        playing.play = lambda _: account.play(first)
        with pytest.raises(EspUnavailable, match="listed a field twice"):
            list(account.source(playing.url).fields())

    @COUNTED
    def test_without_end_are_a_refusal(self, account, stage: Staging):
        def endless(i: int) -> Played:
            merge_field = {"merge_id": i, "tag": f"T{i}", "name": "T", "type": "text"}
            custom_field = {"id": str(i), "perstag": f"T{i}", "title": "T"}
            if account is MAILCHIMP:
                return Played.json({"merge_fields": [merge_field], "total_items": 10**9})
            return Played.json({"fields": [custom_field], "meta": {"total": str(10**9)}})

        playing = stage(numbered(endless))
        with pytest.raises(EspRefused, match="more than 20 pages"):
            list(account.source(playing.url, limits=BOUNDED).fields())
        assert len(playing.heard) == 20


def changing(account: Account, total: Callable[[int, int], object]) -> Play:
    """The account, with totals that depend on the number of the page and the true total."""
    numbers = count()

    def play(heard: Heard) -> Act:
        played = account.play(heard)
        assert isinstance(played, Played)
        document = json.loads(played.body)
        if account is MAILCHIMP:
            document["total_items"] = total(next(numbers), document["total_items"])
        else:
            document["meta"]["total"] = total(next(numbers), int(document["meta"]["total"]))
        return Played.json(document)

    return play


class TestContinuedRequests:
    def test_without_end_are_a_refusal(self, stage: Staging):
        numbers = count()

        def play(heard: Heard) -> Act:
            if heard.path == SALESFORCE.listing:
                return soap("MoreDataAvailable", [(f"F{next(numbers)}", "Text")])
            return SALESFORCE.play(heard)

        playing = stage(play)
        with pytest.raises(EspRefused, match="more than 20 pages"):
            list(SALESFORCE.source(playing.url, limits=BOUNDED).fields())
        assert len(playing.heard) == 21

    @pytest.mark.parametrize("account", [SALESFORCE, BRAZE], ids=lambda a: a.esp.value)
    def test_that_bring_a_field_again_are_no_answer(self, account, stage: Staging):
        def play(heard: Heard) -> Act:
            if heard.path != account.listing:
                return account.play(heard)
            if account is BRAZE:
                return page(BRAZE, f"?cursor={len(playing.heard)}")
            return soap("MoreDataAvailable", [("Same", "Text")])

        playing = stage(play)
        with pytest.raises(EspUnavailable, match="listed a field twice"):
            list(account.source(playing.url).fields())


class TestKlaviyosSample:
    @pytest.mark.parametrize(
        ("pages", "asked", "found"), [(1, 1, 1), (2, 2, 2), ("2", 2, 2), (3, 3, 3), (100, 3, 3)]
    )
    def test_is_as_long_as_asked_for(self, pages, asked, found, stage: Staging):
        playing = stage(profiles([{f"property {i}": 1} for i in range(3)], size=1))
        reported = list(KLAVIYO.source(playing.url, pages=pages).fields())
        assert len(playing.heard) == asked
        assert reported[len(STANDARD) :] == [field(f"property {i}", "number") for i in range(found)]

    @pytest.mark.parametrize("pages", [0, 101, -1, "", "many", "1.5", "²", "9" * 5_000])
    def test_is_not_of_any_length(self, pages):
        with pytest.raises(EspRefused, match="1 to 100 pages"):
            KLAVIYO.source("https://a.klaviyo.com", pages=pages)
