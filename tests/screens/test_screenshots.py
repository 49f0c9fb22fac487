"""Takes screenshots of all screens into `var/screens`: `make screens`, or `SCREENS=dashboard,articles make screens`.

Those that `docs/screens` already has are replaced there, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO

import pytest
from django.contrib.auth.models import User
from PIL import Image as PillowImage
from playwright.sync_api import Browser, Page, ViewportSize

from tests.conftest import Site
from tests.harness import base_dir
from tests.screens import addresses
from tests.screens.newsroom import fill
from tests.screens.test_accessibility import OWN_FETCH, Scheme, let_in, look

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.screens]

FOLDER = base_dir / "var" / "screens"
IN_DOCS = base_dir / "docs" / "screens"
HEIGHTS = {1440: 900, 390: 844}
MOST = 45_000  # bytes of a screenshot
SETTLED = 500  # milliseconds until fonts are there and scripts have run
FADED = 300  # milliseconds until all colours are those of the scheme
SCHEMES: tuple[Scheme, ...] = ("dark", "light")


def test_screenshots_of_all_screens(browser: Browser, site: Site) -> None:
    admin = fill()
    wanted = os.environ.get("SCREENS", "").split(",")
    FOLDER.mkdir(parents=True, exist_ok=True)
    strangers = addresses.readers() | addresses.forgotten()
    screens = {admin.username: addresses.desk(), **addresses.of_others(), "": strangers}
    for user, its in screens.items():
        chosen = {name: address for name, address in its.items() if name in wanted or wanted == [""]}
        for page, width in pages(browser, site, user):
            for name, address in chosen.items():
                page.goto(address)
                page.wait_for_timeout(SETTLED)
                for scheme in SCHEMES:
                    look(page, width, HEIGHTS[width], scheme)
                    page.wait_for_timeout(FADED)
                    store(f"{name}-{width}-{scheme}.webp", small(page.screenshot()))


def store(name: str, image: bytes) -> None:
    """Write the screenshot, and replace the one that the documentation shows."""
    (FOLDER / name).write_bytes(image)
    if (IN_DOCS / name).exists():
        (IN_DOCS / name).write_bytes(image)


def pages(browser: Browser, site: Site, user: str) -> Iterator[tuple[Page, int]]:
    """A window for each width, for the user of this name or an anonymous one; bulk actions do not advance."""
    for width, height in HEIGHTS.items():
        viewport: ViewportSize = {"width": width, "height": height}
        with browser.new_context(base_url=site.url, viewport=viewport, reduced_motion="reduce") as context:
            context.add_init_script(OWN_FETCH)
            if user:
                let_in(context, User.objects.get(username=user))
            yield context.new_page(), width


def small(png: bytes) -> bytes:
    """As WebP, as good as fits into `MOST`."""
    image = PillowImage.open(BytesIO(png)).convert("RGB")
    for quality in (60, 45, 30, 20):
        made = BytesIO()
        image.save(made, "WEBP", quality=quality, method=6)
        if made.tell() <= MOST:
            break
    return made.getvalue()
