"""How a reader works a page: with a mouse, or with nothing but the keyboard."""

from datetime import date

from playwright.sync_api import Locator, Page

MOST_TABS = 400


class Mouse:
    """Clicks what it is told."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        """Follow a link, press a button, open a disclosure."""
        what.click()

    def tick(self, box: Locator) -> None:
        box.check()

    def write(self, field: Locator, text: str) -> None:
        field.fill(text)

    def choose(self, field: Locator, option: str) -> None:
        field.select_option(label=option)

    def date(self, field: Locator, day: date) -> None:
        field.fill(day.isoformat())
        field.blur()


class Keyboard:
    """Goes from stop to stop with the key Tab: what it does not come to by that cannot be reached."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        self._reach(what)
        self.page.keyboard.press("Enter")

    def tick(self, box: Locator) -> None:
        self._reach(box)
        self.page.keyboard.press("Space")

    def write(self, field: Locator, text: str) -> None:
        self._reach(field)
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def choose(self, field: Locator, option: str) -> None:
        self._reach(field)
        self.page.keyboard.type(option)

    def date(self, field: Locator, day: date) -> None:
        """Digit by digit, as the field takes them in English, with pauses: no digit may go astray meanwhile."""
        self._reach(field)
        self.page.keyboard.type(f"{day:%m%d%Y}", delay=200)
        for _ in range(2):
            self.page.keyboard.press("Tab")

    def _reach(self, what: Locator) -> None:
        what.wait_for()
        for _ in range(MOST_TABS):
            if what.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{what} is not reached by {MOST_TABS} presses of Tab")
