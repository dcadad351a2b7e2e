"""The reference at `/docs` in a browser without access to the network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.expected_conditions import element_to_be_clickable
from selenium.webdriver.support.wait import WebDriverWait

from ..openapi.conftest import published_document
from ..openapi.live import Live, live_service


@pytest.fixture
def live() -> Iterator[Live]:
    with live_service("memory:") as live:
        yield live


def test_a_user_can_enter_a_key_and_send_a_request(
    live: Live, browser: Chrome, tmp_path: Path
) -> None:
    browser.get(f"{live.url}/docs")

    _click(browser, "button.authorize")
    field = _find(browser, ".auth-container input")
    field.send_keys(live.acme)
    _click(browser, ".auth-btn-wrapper button.authorize")
    _click(browser, ".auth-btn-wrapper button.btn-done")
    operation = "#operations-Recipient_fields-list_recipient_fields"
    _click(browser, f"{operation} .opblock-summary-control")
    _click(browser, f"{operation} .try-out__btn")
    _click(browser, f"{operation} button.execute")
    response = _find(browser, f"{operation} .live-responses-table")

    assert _find(response, ".response .response-col_status").text.startswith("200")
    body = _find(response, ".response .highlight-code").text
    for key in ("loyalty_tier", "preferred_shop", "first_name"):
        assert f'"{key}"' in body
    browser.execute_script("arguments[0].scrollIntoView()", response)
    browser.save_screenshot(tmp_path / "reference.png")
    assert browser.get_log("browser") == []
    assert _hosts(browser) == {urlsplit(live.url).netloc}


def test_the_page_has_every_operation(live: Live, browser: Chrome) -> None:
    browser.get(f"{live.url}/docs")
    _find(browser, ".opblock")

    operations = sum(
        1 for item in published_document()["paths"].values() for m in item if m != "parameters"
    )
    assert len(browser.find_elements(By.CSS_SELECTOR, ".opblock")) == operations
    assert browser.find_elements(By.CSS_SELECTOR, ".errors-wrapper") == []
    assert browser.get_log("browser") == []


def _find(where: Any, selector: str) -> Any:
    return WebDriverWait(where, 20).until(lambda w: w.find_element(By.CSS_SELECTOR, selector))


def _click(browser: Chrome, selector: str) -> None:
    WebDriverWait(browser, 20).until(element_to_be_clickable((By.CSS_SELECTOR, selector))).click()


def _hosts(browser: Chrome) -> set[str]:
    """Return the hosts of all requests."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    urls = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    split = [urlsplit(url) for url in urls]
    return {url.netloc for url in split if url.scheme not in {"chrome", "data"}}
