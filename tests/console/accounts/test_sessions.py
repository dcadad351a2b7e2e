"""Settings → Your sessions."""

from __future__ import annotations

import pytest

from recipient_fields.domain import Session
from recipient_fields.entrypoints.console.accounts.sign_in import describe_user_agent

from ..browser import Browser
from ..conftest import EMAIL, Console
from ..hostile_texts import HOSTILE

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


@pytest.fixture
def path(console: Console) -> str:
    """Return the path of the list."""
    return f"{console.settings}/sessions"


@pytest.fixture
def other(console: Console, dana: Browser) -> Browser:
    """Sign Dana in with another browser, five minutes later."""
    console.clock.advance(minutes=5)
    browser = Browser(console.app, headers={"User_Agent": FIREFOX})
    console.sign_in(browser)
    return browser


def sessions(console: Console, email: str = EMAIL) -> tuple[Session, ...]:
    listed = console.core.administrators.list_administrators(console.acme.id)
    account = next(each for each in listed if each.email.text == email)
    return console.core.administrators.list_sessions(account.id)


def test_the_list_shows_each_session_and_marks_this_one(console, dana, other, path):
    console.clock.advance(minutes=3)

    page = dana.get(path)

    assert f"Firefox on Linux {FIREFOX} 3 minutes ago 20 Nov 2026, 09:20 UTC" in page.text
    assert "20 Nov 2026, 21:20 UTC" in page.text
    assert page.text.count("This session") == 1
    assert [form.action for form in page.forms if "/end" in form.action] == [
        f"{path}/end-all",
        f"{path}/{sessions(console)[1].id}/end",
    ]


def test_another_session_is_ended_once(console, dana, other, path):
    page = dana.get(path)
    session = sessions(console)[1]

    ended = dana.follow(dana.submit_form(page, f"/{session.id}/end"))
    again = dana.follow(dana.submit_form(page, f"/{session.id}/end"))

    assert "The session was ended." in ended.text
    assert "This form was submitted already" in again.text
    assert other.get(console.fields).status == 303
    assert dana.get(console.fields).status == 200
    assert len(sessions(console)) == 1


def test_the_session_of_another_administrator_looks_like_a_missing_one(
    console, dana, other, viewer, path
):
    foreign = sessions(console, "vic@acme.example")[0]

    responses = []
    for session_id in (foreign.id, 999):
        inputs = dana.get(path).form().inputs
        responses.append(dana.post(f"{path}/{session_id}/end", inputs))

    assert [each.status for each in responses] == [404, 404]
    assert viewer.get(console.fields).status == 200


def test_signing_out_everywhere_ends_all_sessions(console, dana, other, viewer, path):
    stolen = Browser(console.app, cookies=dict(dana.cookies))

    response = dana.submit_form(dana.get(path), "/end-all")

    assert response.location == "/console/sign-in"
    assert response.headers["clear-site-data"] == '"cache"'
    assert "console" not in dana.cookies
    for browser in (dana, other, stolen):
        assert browser.get(console.fields).status == 303
    assert sessions(console) == ()
    assert viewer.get(console.fields).status == 200


def test_a_viewer_ends_own_sessions(console, viewer, path):
    vic = "vic@acme.example"
    console.sign_in(console.browser(), email=vic)
    page = viewer.get(path)
    session = sessions(console, vic)[1]

    assert viewer.submit_form(page, f"/{session.id}/end").status == 303
    assert len(sessions(console, vic)) == 1
    assert viewer.submit_form(page, "/end-all").status == 303
    assert sessions(console, vic) == ()


@pytest.mark.parametrize("action", ["end", "end-all"])
def test_an_ended_session_ends_no_other(console, dana, other, path, action):
    page = other.get(path)
    first, second = sessions(console)
    console.core.administrators.end_session(second.administrator_id, second.id)

    ends = f"/{first.id}/end" if action == "end" else "/end-all"
    assert other.submit_form(page, ends).status == 401
    assert sessions(console) == (first,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (FIREFOX, "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/128.0 Safari/537.36 Edg/128.0", "Edge on Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Safari/605.1.15", "Safari on macOS"),
        ("Mozilla/5.0 (iPhone; like Mac OS X) CriOS/128.0 Safari/604.1", "Chrome on iPhone"),
        ("Mozilla/5.0 (Linux; Android 14) Chrome/128.0 Safari/537.36", "Chrome on Android"),
        ("curl/8.9.1", "curl"),
        ("", "Unknown browser"),
        ("<b>", "Unknown browser"),
    ],
)
def test_a_user_agent_is_described(text, expected):
    assert describe_user_agent(text) == expected


@pytest.mark.parametrize(
    "kind", ["script", "attribute", "single quote", "template", "entity", "comment", "long"]
)
def test_a_user_agent_is_shown_as_text(console, dana, path, kind):
    text = HOSTILE[kind]
    browser = Browser(console.app, headers={"User_Agent": text})
    console.sign_in(browser)

    page = dana.get(path)

    assert text in page.text
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(tag in {"img", "b"} for tag, _ in page.tags)
