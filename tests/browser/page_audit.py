"""What a page of the console must satisfy in every view. The scripts also run if pages can't."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from selenium.webdriver import ActionChains, Chrome, Keys

from ..support.node import install_packages

PHONE, TABLET, LAPTOP, DESKTOP = 360, 768, 1280, 2560
"""The widths of windows in pixels."""
TABLE, SIDE_MENU = 896, 1216
"""The widths from which tables are no lists of cards, and the menu is at the side."""
NARROWEST = 320
"""The width at which pages must still need no horizontal scrolling: 1,280 pixels at 400 %."""

_AXE = """
const afterwards = window.setTimeout;
// The browser runs no timers of a page whose scripts it blocks, but it settles promises.
window.setTimeout = task => { Promise.resolve().then(() => task()); return 0; };
const options = {
  runOnly: arguments[0], preload: false, iframes: false, resultTypes: ["violations"],
};
return axe.run(options).then(({violations}) => {
  window.setTimeout = afterwards;
  return violations.flatMap(({id, nodes}) =>
    nodes.map(({html, failureSummary}) => `${id}: ${html} ${failureSummary}`));
});
"""
_ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_CONTRAST = {"type": "rule", "values": ["color-contrast"]}

View: TypeAlias = tuple[int, str, object]
"""The width in pixels, the colour scheme, and the rules of axe-core. None checks only sizes."""
WITH_SCRIPTS: Sequence[View] = (
    (LAPTOP, "light", _ALL_RULES),
    (LAPTOP, "dark", _CONTRAST),
    (PHONE, "dark", _ALL_RULES),
    (PHONE, "light", _CONTRAST),
    (TABLET, "light", None),
    (TABLE, "light", None),
    (SIDE_MENU, "light", None),
    (DESKTOP, "dark", None),
)
"""Only the contrast of a page depends on its colours."""
WITHOUT_SCRIPTS: Sequence[View] = ((LAPTOP, "light", None), (PHONE, "dark", _ALL_RULES))
"""Fewer views, because scripts only show or hide a few buttons of a page."""
_LOWEST_TARGETS = {PHONE: 44, TABLET: 44, TABLE: 24, SIDE_MENU: 24, LAPTOP: 24, DESKTOP: 24}
"""The least height in pixels of links and buttons, by the width of the window."""

_WIDTH = """
const {scrollWidth, clientWidth} = document.documentElement;
return scrollWidth > clientWidth ? [`The page is ${scrollWidth} px wide.`] : [];
"""

_BORDERS = """
const isVisible = style => style === "solid";
const hasBorder = each => {
  const {borderTopStyle, borderTopWidth, outlineStyle} = getComputedStyle(each);
  return isVisible(borderTopStyle) && parseFloat(borderTopWidth) >= 1 || isVisible(outlineStyle);
};
return [...document.querySelectorAll(
  ".button, .badge, .panel, .notice, .choice, [aria-current], input:not([type=hidden], "
  + "[type=checkbox], [type=radio]), select, textarea"
)].filter(each => each.checkVisibility() && each.getBoundingClientRect().width > 1)
  .filter(each => !hasBorder(each))
  .map(each => `Without its own colours, it has no border: ${each.outerHTML.slice(0, 160)}`);
"""

_CONTROLS = """
const controls = [...document.querySelectorAll(
  "a[href], button, input:not([type=hidden]), select, textarea, summary"
)].filter(each => each.checkVisibility() && !each.disabled && each.tabIndex >= 0);
const describe = each => each.outerHTML.slice(0, 160);
"""

_TARGETS = f"""{_CONTROLS}
const [least] = arguments;
// A link in a sentence is as high as its line.
const isInText = each => each.tagName === "A" && getComputedStyle(each).display === "inline";
const height = each => Math.max(
  ...[each, ...(each.labels ?? [])].map(part => part.getBoundingClientRect().height));
return controls.filter(each => !isInText(each) && each.getBoundingClientRect().width > 1)
  .filter(each => height(each) < least)
  .map(each => `The target is ${{height(each)}} px high: ${{describe(each)}}`);
"""

_PREPARE_FOCUS = f"""{_CONTROLS}
// A group of radio buttons is one stop: the chosen one, or the first.
const isStop = each => each.type !== "radio" || each.checked || !each.form.querySelector(
  `input[name="${{each.name}}"]:checked`) && each.form.elements[each.name][0] === each;
window.stops = controls.filter(isStop);
document.activeElement.blur();
return window.stops.map(describe);
"""

_FOCUSED = """
const focused = document.activeElement;
const hasOutline = each => {
  const {outlineStyle, outlineWidth} = getComputedStyle(each);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
};
const {width, top, bottom} = focused.getBoundingClientRect();
const isVisible = width > 1 && bottom > 0 && top < innerHeight;
const shown = [focused, focused.closest("label")].filter(Boolean).some(hasOutline);
return [window.stops.indexOf(focused), isVisible && shown];
"""


def install_axe() -> str:
    """Install axe-core unless it is installed, and return its script."""
    packages = install_packages(Path(__file__).parent / "axe", "axe")
    return (packages / "axe-core" / "axe.min.js").read_text("utf-8")


def set_view(
    browser: Chrome,
    width: int,
    scheme: str,
    *,
    height: int = 900,
    scale: int = 1,
    forced_colors: bool = False,
) -> None:
    """Emulate a window of this size in pixels, and a preference for `light` or `dark`.

    `scale` is the number of device pixels for each pixel.

    `forced_colors` replaces the colours of the page with those of the operating system.

    Without motion, a button has its new colours at once.
    """
    metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    preferences = {
        "prefers-color-scheme": scheme,
        "prefers-reduced-motion": "reduce",
        "forced-colors": "active" if forced_colors else "none",
    }
    features = [{"name": name, "value": value} for name, value in preferences.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def find_faults(browser: Chrome, axe: str, views: Sequence[View]) -> list[str]:
    """Return the faults of the page in these views. `axe` is the script of axe-core."""
    browser.execute_script(axe)
    faults = []
    for width, scheme, rules in views:
        set_view(browser, width, scheme)
        found = [] if rules is None else browser.execute_script(_AXE, rules)
        found += browser.execute_script(_WIDTH)
        found += browser.execute_script(_TARGETS, _LOWEST_TARGETS[width])
        faults += [f"{width} px, {scheme}: {fault}" for fault in found]
    set_view(browser, NARROWEST, "light")
    faults += [f"{NARROWEST} px: {fault}" for fault in browser.execute_script(_WIDTH)]
    set_view(browser, LAPTOP, "dark", forced_colors=True)
    faults += [f"forced colours: {fault}" for fault in browser.execute_script(_BORDERS)]
    return faults


def find_contrast_faults(browser: Chrome, axe: str) -> list[str]:
    """Return the texts of the page that have too little contrast. `axe` is axe-core's script."""
    browser.execute_script(axe)
    faults: list[str] = browser.execute_script(_AXE, _CONTRAST)
    return faults


def find_focus_faults(browser: Chrome) -> list[str]:
    """Press Tab until all controls had the focus. Return those that had none, or no outline."""
    stops = browser.execute_script(_PREPARE_FOCUS)
    missed, faults = set(range(len(stops))), []
    # The parts of a date input are stops too.
    for _ in range(2 * len(stops) + 10):
        ActionChains(browser, duration=0).send_keys(Keys.TAB).perform()
        index, is_visible = browser.execute_script(_FOCUSED)
        if index in missed and not is_visible:
            faults.append(f"The focus is not visible: {stops[index]}")
        missed.discard(index)
        if not missed:
            break
    return faults + [f"Tab does not reach: {stops[index]}" for index in sorted(missed)]
