"""A browser window that shows the console."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from attrs import define
from selenium.common import WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from ..support.waiting import TIMEOUT
from .page_audit import (
    LAPTOP,
    PHONE,
    WITH_SCRIPTS,
    WITHOUT_SCRIPTS,
    find_faults,
    find_focus_faults,
    set_view,
)

_CONTROL = (
    '//*[self::a or self::button or self::summary][normalize-space()="{0}" or @aria-label="{0}"]'
    "[not(@aria-hidden)]"
)
_INPUT = (
    '//*[self::input or self::select or self::textarea][@aria-label="{0}"'
    ' or @id=//label[starts-with(normalize-space(), "{0}")]/@for]'
)
_LOADED = 'return document.readyState === "complete" ? performance.timeOrigin : null'
"""Identifies the page, once it is loaded."""
_MAX_STOPS = 100
_CHOICE = '//label[normalize-space()="{0}"]'


@define
class Window:
    """A window in which an administrator works, by the words on the pages."""

    browser: Chrome
    origin: str
    runs_scripts: bool
    is_phone: bool
    axe: str | None
    """The script of axe-core with which `audit` checks pages. None checks nothing."""
    clicks: int = 0
    """The clicks of a person, also those on text boxes that have no focus."""

    def open(self, url: str) -> None:
        """Open a URL, or a path of the console."""
        self.browser.get(url if "://" in url else f"{self.origin}{url}")

    def press(self, text: str) -> None:
        """Click on the link or button with this text or label, and wait for the next page."""
        with self._next_page():
            self.click(text)

    def click(self, text: str) -> None:
        """Click on the link, button or summary with this text or label."""
        self.clicks += 1
        self._find(_CONTROL, text).click()

    def tab_to(self, name: str, *, backwards: bool = False) -> None:
        """Press the tab key until the control with this accessible name has the focus."""
        for _ in range(_MAX_STOPS):
            keys = (Keys.SHIFT, Keys.TAB, Keys.NULL) if backwards else (Keys.TAB,)
            ActionChains(self.browser).send_keys(*keys).perform()
            if self.browser.switch_to.active_element.accessible_name == name:
                return
        raise AssertionError(name)

    def type(self, *keys: str) -> None:
        """Type into the element that has the focus."""
        self.browser.switch_to.active_element.send_keys(*keys)

    def press_enter(self) -> None:
        """Press Enter in the element that has the focus, and wait for the next page."""
        with self._next_page():
            self.type(Keys.ENTER)

    @property
    def focused(self) -> str | None:
        """The label of the element that has the focus, if it has one of its own."""
        return self.browser.switch_to.active_element.get_attribute("aria-label")

    @contextmanager
    def _next_page(self) -> Iterator[None]:
        """Wait for the page that follows the block."""
        loaded_at = self.browser.execute_script(_LOADED)
        yield
        ignored = [WebDriverException]  # Between two pages, no script runs.
        WebDriverWait(self.browser, TIMEOUT, 0.02, ignored).until(
            lambda browser: browser.execute_script(_LOADED) not in {None, loaded_at}
        )

    def reload(self) -> None:
        """Load the page again. The browser repeats a form whose response it shows."""
        self.browser.refresh()

    def fill(self, label: str, text: str) -> None:
        """Replace the text of an input, or the path of its file."""
        element = self._find(_INPUT, label)
        assert element.is_displayed(), label
        self.clicks += element != self.browser.switch_to.active_element
        if element.get_attribute("type") != "file":
            element.clear()
        element.send_keys(text)

    def paste(self, label: str, text: str) -> None:
        """Replace the text of an input at once, which is faster than keys for a long text."""
        script = "arguments[0].value = arguments[1]"
        self.browser.execute_script(script, self._find(_INPUT, label), text)

    def choose(self, option: str, *, of: str | None = None) -> None:
        """Choose a radio button or a checkbox, or an option of a select."""
        self.clicks += 1
        if of is None:
            self._find(_CHOICE, option).click()
        else:
            self._find(_INPUT, of).send_keys(option)

    def value(self, label: str) -> str:
        """Return what an input contains."""
        return str(self._find(_INPUT, label).get_property("value"))

    def has(self, text: str) -> bool:
        """Return whether the page shows a link or a button with this text or label."""
        found = self.browser.find_elements(By.XPATH, _CONTROL.format(text))
        return any(each.is_displayed() for each in found)

    @property
    def path(self) -> str:
        """The path of the page."""
        return urlsplit(self.browser.current_url).path

    @property
    def heading(self) -> str:
        """The main heading."""
        return self.browser.find_element(By.TAG_NAME, "h1").text

    @property
    def text(self) -> str:
        """The visible text of the page, with single spaces."""
        return " ".join(self.browser.find_element(By.TAG_NAME, "main").text.split())

    def find(self, selector: str) -> WebElement:
        """Return the first element that the CSS selector matches."""
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def audit(self) -> None:
        """Check the page in every view, and what the browser logged since the last audit."""
        faults = [*self.messages(), *self._foreign_requests()]
        if self.axe is not None:
            views = WITH_SCRIPTS if self.runs_scripts else WITHOUT_SCRIPTS
            faults += find_faults(self.browser, self.axe, views)
            if self.runs_scripts:
                set_view(self.browser, LAPTOP, "light")
                faults += find_focus_faults(self.browser)
            self.restore_view()
        assert faults == [], "\n".join([self.path, *faults])

    def restore_view(self) -> None:
        """Show the page as the device of this window does."""
        set_view(self.browser, PHONE if self.is_phone else LAPTOP, "light")

    def _find(self, template: str, text: str) -> WebElement:
        return self.browser.find_element(By.XPATH, template.format(text))

    def messages(self) -> list[str]:
        """Return warnings and errors in the browser's console, except about a page's status."""
        expected = "Failed to load resource: the server responded with a status of 4"
        entries = self.browser.get_log("browser")
        return [
            entry["message"]
            for entry in entries
            if entry["level"] != "INFO"
            and not (entry["source"] == "network" and expected in entry["message"])
        ]

    def _foreign_requests(self) -> list[str]:
        """Return the URLs of requests that were not for the service."""
        own = f"{self.origin}/"
        # Chromium's own icon in a date input has a `data` URL.
        return [url for url in self._requests() if not url.startswith((own, "data:image/svg"))]

    def _requests(self) -> Iterator[str]:
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                yield message["params"]["request"]["url"]
