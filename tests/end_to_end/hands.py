"""How a reader works a page: with a mouse, or with nothing but the keyboard."""

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
        """Choose the option whose text begins so."""
        labels = field.locator("option").all_inner_texts()
        field.select_option(label=next(label for label in labels if label.startswith(option)))


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

    def _reach(self, what: Locator) -> None:
        what.wait_for()
        for _ in range(MOST_TABS):
            if what.evaluate("one => one === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{what} is not reached by {MOST_TABS} presses of Tab")
