"""Static files behind gunicorn, as in production: hashed, compressed, and cached for ever."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path

import pytest

from tests.conftest import database_environment
from tests.harness import PATIENCE, Process, base_dir, free_port, python

pytestmark = pytest.mark.django_db(transaction=True)

OTHERS = ("admin", "unfold", "rest_framework", "drf_spectacular_sidecar", "django_prose_editor", "js_asset")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The URL of a site with collected static files."""
    port = free_port()
    environment = {
        **database_environment(),
        "DATA_DIR": str(tmp_path),
        "DJANGO_DEBUG": "off",
        "DJANGO_SECRET_KEY": "a-secret-key-of-this-test-alone-and-of-no-one-else-1234567890",
        "DJANGO_SETTINGS_MODULE": "headline.settings",
    }
    collect = [python, "manage.py", "collectstatic", "--no-input", *(f"--ignore={name}" for name in OTHERS)]
    with Process(collect, env=environment, cwd=base_dir) as process:
        process.wait_for("post-processed")
    command = [
        python,
        "-m",
        "gunicorn",
        "headline.wsgi",
        "--bind",
        f"127.0.0.1:{port}",
        "--no-control-socket",
        "--threads",
        "2",
    ]
    with Process(command, env=environment) as process:
        process.wait_for("Booting worker")
        yield f"http://127.0.0.1:{port}"


def get(address: str, **headers: str) -> HTTPResponse:
    response: HTTPResponse = urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=PATIENCE)
    return response


def test_static_files_are_hashed_compressed_and_cached_for_ever(site: str) -> None:
    page = get(f"{site}/").read().decode()
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert {re.sub(r"\.[0-9a-f]{12}\.", ".", name) for name in files} == {
        f"/static/articles/{name}"
        for name in ("site.css", "icon.svg", "pressed.js", "just_in.js", "breaking.js", "pagination.js")
    }
    for name in files:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name), name
        response = get(site + name, **{"Accept-Encoding": "gzip"})
        assert "immutable" in response.headers["Cache-Control"]
        assert "max-age=315360000" in response.headers["Cache-Control"]
    style = next(name for name in files if "site" in name)
    response = get(site + style, **{"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in response.headers["Vary"]
    assert len(response.read()) < len(get(site + style).read()) / 2
