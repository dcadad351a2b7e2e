"""The built documentation in a browser, on a laptop (1,280 pixels) and on a phone (400).

Each page is shown in light and in dark colours.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import compress

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from ..docs.blocks import ROOT, RUN, blocks_of
from ..support.waiting import TIMEOUT
from .page_audit import find_contrast_faults, install_axe, set_view

DOCS = ROOT / "docs"
PAGES = sorted(
    ("search", *(str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")))
)
"""The pages of the documentation. Sphinx adds the page `search`."""

CODES = re.findall(r"^### `(\w+)`$", (ROOT / "docs" / "errors.md").read_text("utf-8"), re.MULTILINE)

MEASURE = r"""
const lines = range => new Set([...range.getClientRects()].map(rect => Math.round(rect.top))).size;
const brokenWords = [];
for (const cell of document.querySelectorAll("article :is(td, th)")) {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const words = text.parentElement.closest("code") ? /\S+/g : /[\p{L}\p{N}_]+/gu;
    for (const word of text.data.matchAll(words)) {
      const range = new Range();
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      if (lines(range) > 1) brokenWords.push(word[0]);
    }
  }
}

const isTooWide = element => element.scrollWidth > element.clientWidth;
const tooWide = ["html", ".content"].filter(name => isTooWide(document.querySelector(name)));

const commands = document.querySelectorAll(
  "article :is(.highlight-sh, .highlight-python, .highlight-js) pre"
);
const cutOff = [...commands].filter(isTooWide).map(command => command.innerText);

const blocks = [...document.querySelectorAll("article div.highlight")];
const withoutButton = blocks.filter(block => !block.querySelector("button.copybtn"))
  .map(block => block.innerText);

return {brokenWords, tooWide, cutOff, withoutButton};
"""
"""Finds faults of a page. A broken word takes more than one line of a table cell."""

Pages = Mapping[str, Mapping[str, list[str]]]


@pytest.fixture(scope="module")
def documentation(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the URL of the documentation that `make docs` builds."""
    built = tmp_path_factory.mktemp("documentation")
    options = ("-W", "--keep-going", "--fresh-env", "--quiet")
    subprocess.run([sys.executable, "-m", "sphinx", *options, ROOT / "docs", built], check=True)
    return built.as_uri()


@pytest.fixture(scope="module")
def on_a_laptop(documentation: str, shared_browser: Chrome) -> Pages:
    return _measured(documentation, shared_browser, 1280)


@pytest.fixture(scope="module")
def on_a_phone(documentation: str, shared_browser: Chrome) -> Pages:
    return _measured(documentation, shared_browser, 400)


def test_no_table_cell_breaks_a_word(on_a_laptop: Pages, on_a_phone: Pages) -> None:
    assert _found(on_a_laptop, "brokenWords") == {}
    assert _found(on_a_phone, "brokenWords") == {}


def test_no_page_is_wider_than_the_window(on_a_laptop: Pages, on_a_phone: Pages) -> None:
    assert _found(on_a_laptop, "tooWide") == {}
    assert _found(on_a_phone, "tooWide") == {}


def test_every_text_has_enough_contrast(on_a_laptop: Pages, on_a_phone: Pages) -> None:
    for scheme in ("light", "dark"):
        assert _found(on_a_laptop, scheme) == {}
        assert _found(on_a_phone, scheme) == {}


def test_the_colours_follow_the_system(documentation: str, shared_browser: Chrome) -> None:
    shared_browser.get(f"{documentation}/index.html")
    colours = []
    for scheme in ("light", "dark"):
        set_view(shared_browser, 1280, scheme)
        body = shared_browser.find_element(By.TAG_NAME, "body")
        colours.append(body.value_of_css_property("background-color"))

    assert colours[0] != colours[1]


@pytest.mark.parametrize(
    ("words", "title"), [("revision", "Concepts"), ("linearizable", "Reliability")]
)
def test_the_search_works_without_a_network(
    documentation: str, shared_browser: Chrome, words: str, title: str
) -> None:
    shared_browser.get(f"{documentation}/search.html?q={words}")

    def titles(browser: Chrome) -> list[str]:
        links = browser.find_elements(By.CSS_SELECTOR, "#search-results li > a")
        return [link.text for link in links]

    WebDriverWait(shared_browser, TIMEOUT).until(lambda browser: title in titles(browser))


def test_every_block_has_a_copy_button(on_a_laptop: Pages) -> None:
    assert _found(on_a_laptop, "withoutButton") == {}


@pytest.mark.parametrize("page", ["first-email", "calling-the-api"])
def test_every_command_fits_the_width_of_a_laptop(on_a_laptop: Pages, page: str) -> None:
    assert on_a_laptop[page]["cutOff"] == []


@pytest.mark.parametrize("page", ["first-email", "calling-the-api"])
def test_a_copy_button_copies_the_command_without_its_output(
    documentation: str, shared_browser: Chrome, page: str
) -> None:
    blocks = blocks_of(page, (ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    shared_browser.get(f"{documentation}/{page}.html")
    shared_browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    buttons = shared_browser.find_elements(By.CSS_SELECTOR, "article button.copybtn")

    visible = [button.value_of_css_property("display") != "none" for button in buttons]
    assert visible == [block.language in RUN for block in blocks]
    copied = [_copied(shared_browser, button) for button in compress(buttons, visible)]
    assert copied == [block.text.rstrip("\n") for block in blocks if block.language in RUN]


def test_every_error_code_is_the_anchor_of_its_heading(
    documentation: str, shared_browser: Chrome
) -> None:
    assert CODES != []
    headings = []
    for code in CODES:
        shared_browser.get(f"{documentation}/errors.html#{code}")
        target = shared_browser.find_element(By.CSS_SELECTOR, ":target")
        headings.append(target.find_element(By.XPATH, "ancestor-or-self::section[1]/h3/code").text)

    assert headings == CODES


def _measured(documentation: str, browser: Chrome, width: int) -> Pages:
    axe = install_axe()
    measured = {}
    for page in PAGES:
        browser.get(f"{documentation}/{page}.html")
        set_view(browser, width, "light", height=1000)
        measured[page] = browser.execute_script(MEASURE)
        for scheme in ("light", "dark"):
            set_view(browser, width, scheme, height=1000)
            measured[page][scheme] = find_contrast_faults(browser, axe)
    return measured


def _found(pages: Pages, what: str) -> Mapping[str, list[str]]:
    return {page: measured[what] for page, measured in pages.items() if measured[what]}


def _copied(browser: Chrome, button: WebElement) -> str:
    """Click on the button, and return the text in the clipboard."""
    button.click()
    box = browser.execute_script(
        "const box = document.body.appendChild(document.createElement('textarea'));"
        "box.style = 'position: fixed; top: 0'; box.focus(); return box"
    )
    ActionChains(browser).key_down(Keys.CONTROL).send_keys("v").key_up(Keys.CONTROL).perform()
    pasted: str = box.get_property("value")
    browser.execute_script("arguments[0].remove()", box)
    return pasted
