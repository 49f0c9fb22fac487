"""Imports of posts by the command, of this version and of an earlier one, each into a SQLite database of its own.

SQLite works within the process, so its processor time is that of all the work.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape as escape_xml

from bench.measure import Values
from tests.harness import base_dir

_WORDS = "harbour ferry council tram bridge storm market school river budget vote night 港口 渡轮 市议会".split()  # noqa: SIM905
_CHANNELS = ("City", "Business", "Science", "Sport", "要闻")
_WXR = """<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:wp="http://wordpress.org/export/1.2/"><channel><title>Gazette</title><wp:wxr_version>1.2</wp:wxr_version>
<wp:base_blog_url>https://gazette.example</wp:base_blog_url>
"""
_ITEM = """<item><title>{title}</title><guid isPermaLink="false">https://gazette.example/?p={number}</guid>
<dc:creator>mli</dc:creator><content:encoded>{body}</content:encoded><excerpt:encoded>{summary}</excerpt:encoded>
<wp:post_id>{number}</wp:post_id><wp:post_date_gmt>2024-03-01 08:30:00</wp:post_date_gmt>
<wp:post_name>{slug}</wp:post_name><wp:status>publish</wp:status><wp:post_type>post</wp:post_type>
<category domain="category" nicename="c">{channel}</category>{tags}</item>
"""
_TAG = '<category domain="post_tag" nicename="{0}">{0}</category>'


def earlier_version(commit: str, directory: Path) -> Path:
    """The files of a commit, in `directory`. Raises `CalledProcessError` if the history lacks it."""
    archive = subprocess.run(["git", "archive", commit], cwd=base_dir, capture_output=True, check=True).stdout
    # By tar itself: Debian's Python 3.11.2 has no filter for what is extracted, and later ones ask for it.
    subprocess.run(["tar", "-x", "-C", str(directory)], input=archive, check=True)
    return directory


def imported(root: Path, many: int) -> Values:
    """Posts for each second of processor time in both formats, and the greatest memory of both in MB.

    `root` has the files of the version.
    """
    with TemporaryDirectory() as directory:
        place = Path(directory)
        _write(place, many)
        jsonl, of_jsonl = _run(root, place, place / "posts.jsonl")
        wxr, of_wxr = _run(root, place, place / "posts.xml")
    return {"JSON Lines": many / jsonl, "WordPress": many / wxr, "memory": max(of_jsonl, of_wxr)}


def _run(root: Path, place: Path, file: Path) -> tuple[float, float]:
    """Seconds of processor time and greatest memory in MB of an import into a new database."""
    data = place / file.suffix[1:]
    data.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    environment = kept | {
        "DATA_DIR": str(data),
        "DJANGO_DEBUG": "off",
        "DJANGO_SECRET_KEY": "a-key-that-guards-nothing-here-but-has-to-be-long-and-mixed-1",
        "DJANGO_SETTINGS_MODULE": "headline.settings",
        "SITE_URL": "http://127.0.0.1:8000",
    }
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "manage.py"]
    subprocess.run([*command, "migrate", "--verbosity", "0"], cwd=root, env=environment, check=True)
    with subprocess.Popen(
        [*command, "import_articles", str(file)], cwd=root, env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _write(place: Path, many: int) -> None:
    with open(place / "posts.jsonl", "w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(post, ensure_ascii=False) + "\n" for post in _posts(many))
    with open(place / "posts.xml", "w", encoding="utf-8") as items:
        items.write(_WXR)
        items.writelines(map(_item, _posts(many)))
        items.write("</channel></rss>\n")


def _posts(many: int) -> Iterator[dict[str, object]]:
    """Posts of some 3,000 characters with links and emphasis, the same each time."""
    chance = random.Random(33)
    for number in range(1, many + 1):
        paragraphs = (
            f'<p>{_sentence(chance)} <a href="https://example.org/{number}">{chance.choice(_WORDS)}</a> '
            f"<strong>{chance.choice(_WORDS)}</strong></p>"
            for _ in range(6)
        )
        yield {
            "external_id": f"gazette:{number}",
            "title": _sentence(chance)[:60],
            "slug": f"post-{number}",
            "summary": escape(_sentence(chance)[:200]),
            "body": "\n\n".join(paragraphs),
            "body_format": "html",
            "status": "published",
            "publish_at": "2024-03-01T08:30:00Z",
            "channel": chance.choice(_CHANNELS),
            "tags": [f"tag-{chance.randint(1, 200)}" for _ in range(3)],
            "byline": "Mei Li",
        }


def _item(post: dict[str, object]) -> str:
    tags = "".join(map(_TAG.format, dict.fromkeys(post["tags"])))  # type: ignore[call-overload]
    body = "\n\n".join(
        f"<!-- wp:paragraph -->\n{paragraph}\n<!-- /wp:paragraph -->" for paragraph in str(post["body"]).split("\n\n")
    )
    texts = {name: escape_xml(str(post[name])) for name in ("title", "slug", "summary", "channel")}
    return _ITEM.format(number=str(post["external_id"]).partition(":")[2], body=escape_xml(body), tags=tags, **texts)


def _sentence(chance: random.Random) -> str:
    return " ".join(chance.choices(_WORDS, k=60)).capitalize() + "."
