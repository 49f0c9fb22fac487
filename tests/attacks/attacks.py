"""The requests: each is some kilobytes that once cost a server seconds."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus

from PIL import Image

from articles.limits import MOST_BODY_ELEMENTS
from tests.attacks.site import PASSAGE, Site

NESTED = 110_000
FORM_SIZE, LIST_SIZE = 64_000, 320_000  # bytes: the theme repeats its classes in each cell
MEGABYTE, LONGEST_ELEMENT = 1_000_000, 40  # characters: of an element as the form escapes it
TOKEN = "/api/v1/token/"
ARTICLES = "/api/v1/desk/articles/"
BOUNDARY = "attack"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


@dataclass(frozen=True)
class Attack:
    """A request; `finding` is its number in the review that found it."""

    finding: str
    name: str
    path: str
    body: bytes = b""
    method: str = "GET"
    kind: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    shows: int = 0
    """Bytes that the answer has to hold, since it is a text or a comparison of that size."""


def attacks(site: Site) -> list[Attack]:
    """All of them, on texts that the author has stored."""
    return [*_anonymous(site), *_of_the_author(site)]


def _anonymous(site: Site) -> Iterator[Attack]:
    credentials = {"username": "a", "password": "b"}
    long, many = {**credentials, "scopes": ["x"] * 14_000}, credentials | {f"k{n}": 1 for n in range(6_000)}
    huge = {**credentials, "scopes": ["x"] * 250_000}
    for name, value in {"a long list": long, "many keys": many, "a list of 1 MB": huge}.items():
        yield _json("S1", name, TOKEN, value)
    yield Attack("S1", "nested arrays", TOKEN, b"[" * 60_000, "POST", JSON)
    yield Attack("S4", "words of the readers' search", "/search/?q=" + "+".join(f"w{n}" for n in range(800)))
    for day in range(1, 17):
        yield Attack("S10", f"search {day}", f"/search/?q=nested&since=2026-10-{day:02}")
    yield Attack("S10", "a nested article", site.nested_path, shows=2 * NESTED)
    yield Attack("S10", "a nested article by API", f"/api/v1/articles/{site.nested}/", shows=2 * NESTED)
    yield Attack("S16", "an address to go on to", "/i18n/setlang/", b"next=" + b"%41" * 20_000, "POST", FORM)
    yield Attack("S16", "15 MB of it", "/i18n/setlang/", b"next=" + b"%41" * 5_000_000, "POST", FORM)
    yield Attack("S16", "a long name", "/admin/login/", b"username=" + b"%3C" * 20_000, "POST", FORM)
    yield Attack("S16", "a signed-out form", "/admin/articles/article/add/", b"body=" + b"%3C" * 20_000, "POST", FORM)
    for name in ("since", "until", "updated_since"):
        yield Attack("S17", name, f"/api/v1/articles/?{name}={'T' * 3_900}")
    yield Attack("S20", "a foreign host", "/", headers={"Host": "evil.example"})


def _of_the_author(site: Site) -> Iterator[Attack]:
    token, session = {"Authorization": f"Bearer {site.token}"}, {"Cookie": f"sessionid={site.cookie}"}
    repeated = site.article("<p>" + "a " * 800 + "</p>", "<p>" + "b a " * 800 + "</p>")
    changed = site.article("<p>0</p>" * 500, "<p>0x</p>" * 500)
    feeds = site.article("<p>" + "\n" * 20_000 + "x</p>", "<p>" + "\n" * 20_000 + "y</p>")
    for name, article in {"repeated words": repeated, "500 paragraphs": changed, "line feeds": feeds}.items():
        yield Attack("S2", name, f"{ARTICLES}{article}/revisions/2/diff/?against=1", headers=token)
        yield Attack("S2", f"{name}, on screen", f"/admin/articles/article/{article}/revisions/2/", headers=session)
    noted = site.article(f"<p>{PASSAGE * 60}</p>")
    site.add_notes(noted, 50)
    plain = site.article(f"<p>{PASSAGE * 60}</p>")
    form = f"/admin/articles/article/{plain}/change/"
    yield Attack("", "the form without notes", form, headers=session, shows=FORM_SIZE)
    yield Attack("S3", "50 notes by API", f"{ARTICLES}{noted}/notes/", headers=token)
    beside, without = f"/admin/articles/article/{noted}/change/", site.ask(form, method="GET", body=b"", **session).size
    yield Attack("S3", "50 notes beside the form", beside, headers=session, shows=without)
    yield Attack("", "the list without words", "/admin/articles/article/", headers=session, shows=LIST_SIZE)
    words = "+".join(f"w{n}" for n in range(800))
    yield Attack("S4", "words in the list", f"/admin/articles/article/?q={words}", headers=session)
    yield Attack("S4", "words in the list by API", f"{ARTICLES}?search={words}", headers=token)
    yield from _of_the_largest_bodies(site, token, session)
    ours = site.article("<p>Mine</p>")
    for name, body in {"empty paragraphs": "<p></p>" * 16_000 + "x", "nested lists": "<dd><p><li>" * 10_000}.items():
        finding = "S11" if name.startswith("empty") else "S10"
        yield _json(finding, name, f"{ARTICLES}{ours}/", {"body": body}, method="PATCH", headers=token, shows=len(body))
    yield _json("S15", "20,000 tags", ARTICLES, {"title": "T", "tags": ["opera"] * 20_000}, headers=token)
    yield _json("S15", "100,000 covers", ARTICLES, {"title": "T", "cover": ["x"] * 100_000}, headers=token)
    yield Attack("S12", "49 megapixels", "/api/v1/desk/images/", _upload(), "POST", MULTIPART, token)
    pattern = quote_plus("(a+)+$")
    yield Attack("S20", "a filter by pattern", f"/admin/articles/article/?body__regex={pattern}", headers=session)


def _of_the_largest_bodies(site: Site, token: Mapping[str, str], session: Mapping[str, str]) -> Iterator[Attack]:
    ours = site.article("<p>Mine</p>")
    too_many = {"body": "<p>" * (MEGABYTE // len("<p>"))}
    yield _json("", "333,333 paragraphs", f"{ARTICLES}{ours}/", too_many, method="PATCH", headers=token)
    for unit in ("<p>", "<p>a<b>b<i>c", "<ul><li>", "<"):
        body = unit * (MOST_BODY_ELEMENTS // unit.count("<"))
        article, shown = site.article(body), FORM_SIZE + MOST_BODY_ELEMENTS * LONGEST_ELEMENT
        for name, path in {"form": "change/", "revision": "revisions/1/"}.items():
            address = f"/admin/articles/article/{article}/{path}"
            yield Attack("", f"the {name} of {unit}", address, headers=session, shows=shown)
        yield Attack("", f"the checks of {unit}", f"{ARTICLES}{article}/checks/", headers=token)


def _json(
    finding: str,
    name: str,
    path: str,
    value: Any,
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    shows: int = 0,
) -> Attack:
    return Attack(finding, name, path, json.dumps(value).encode(), method, JSON, headers or {}, shows)


def _upload() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (7000, 7000), "red").save(file, "WEBP", lossless=True)
    part = 'Content-Disposition: form-data; name="file"; filename="a.webp"\r\nContent-Type: image/webp'
    return f"--{BOUNDARY}\r\n{part}\r\n\r\n".encode() + file.getvalue() + f"\r\n--{BOUNDARY}--\r\n".encode()
