"""Whoever walks by the keyboard sees where they are: each stop has the page's own outline."""

import pytest
from playwright.sync_api import Browser

from tests.dashboard.conftest import screen_of
from tests.end_to_end.processes import Engine

STOPS_MAX = 60
"""More than the longest screen has, the way round and back to the start."""

OUTLINE = """
() => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const {outlineStyle, outlineWidth, outlineColor} = getComputedStyle(at);
  const {x, y} = at.getBoundingClientRect();
  const accent = Object.assign(document.createElement("a"), {href: "#"});
  document.body.append(accent);
  const colour = getComputedStyle(accent).color;
  accent.remove();
  const isSeen = outlineStyle === "solid" && outlineWidth === "2px" && outlineColor === colour;
  return {what: at.outerHTML.slice(0, 80), isSeen: isSeen && x > -10 && y > -10};
}
"""
SCREENS = ["", "schedules", "schedules/report-00042", "new", "failed", "flows", "system"]


@pytest.mark.parametrize("address", SCREENS)
def test_every_stop_of_the_keyboard_is_outlined(
    browser: Browser, engine: Engine, theme: str, address: str
):
    with screen_of(browser, engine, theme) as screen:
        page = screen.show(address, "")
        seen = []
        for _ in range(STOPS_MAX):
            page.keyboard.press("Tab")
            stop = page.evaluate(OUTLINE)
            if stop is None:
                break
            seen.append(stop["what"])
            assert stop["isSeen"], stop["what"]
        assert len(seen) > len(SCREENS) - 1, seen  # The sections at least.
