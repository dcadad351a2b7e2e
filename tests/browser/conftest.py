"""Chromium of Debian without access to the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions, ChromeService

CHROMIUM = "/usr/bin/chromium"
CHROMEDRIVER = "/usr/bin/chromedriver"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,2000",
)

SCRIPT_TIMEOUT = 100
"""Seconds for a script. axe-core needs more than 30 for docs/library.md on a busy machine."""

_SCRIPTS = "profile.managed_default_content_settings.javascript"
_BLOCK = 2


@contextmanager
def chromium(profile: Path, *, runs_scripts: bool = True) -> Iterator[Chrome]:
    """Start a browser whose profile is in this folder."""
    options = ChromeOptions()
    if not runs_scripts:
        options.add_experimental_option("prefs", {_SCRIPTS: _BLOCK})
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with Chrome(options, ChromeService(CHROMEDRIVER)) as browser:
        browser.set_script_timeout(SCRIPT_TIMEOUT)
        yield browser


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Chrome]:
    """Start a browser for this test."""
    with chromium(tmp_path / "profile") as browser:
        yield browser


@pytest.fixture(scope="module")
def shared_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Start one browser for all tests of a module."""
    with chromium(tmp_path_factory.mktemp("browser") / "profile") as browser:
        yield browser
