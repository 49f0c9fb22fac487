"""Helpers of the import tests: generated files, and the command with its exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.core.management import CommandError, call_command

SUMMARY = "created={} updated={} skipped={} failed={}"


@dataclass(frozen=True)
class Result:
    """What the command printed, and the code it exits with."""

    code: int
    lines: list[str]
    error: str

    @property
    def summary(self) -> str:
        """The last line, which programs read."""
        return self.lines[-1]

    @property
    def remarks(self) -> list[str]:
        """The lines before it."""
        return self.lines[:-1]


def run_import(path: Path, *options: str) -> Result:
    """`manage.py import_articles` in this process and transaction."""
    return run_command("import_articles", path, *options)


def run_command(name: str, path: Path | str, *options: str) -> Result:
    """A command about a file in this process and transaction."""
    out, err = StringIO(), StringIO()
    code = 0
    try:
        call_command(name, str(path), *options, stdout=out, stderr=err)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except CommandError as error:
        return Result(error.returncode, out.getvalue().splitlines(), str(error))
    return Result(code, out.getvalue().splitlines(), err.getvalue())


def write_lines(path: Path, *records: object) -> Path:
    """A JSON Lines file; a record that is a text is written as it is."""
    lines = (record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def counts(created: int = 0, updated: int = 0, skipped: int = 0, failed: int = 0) -> str:
    """The summary line with these numbers."""
    return SUMMARY.format(created, updated, skipped, failed)


WXR = """<?xml version="1.0" encoding="UTF-8" ?>
<rss version="2.0" xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
 xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:wp="http://wordpress.org/export/1.2/">
<channel><title>Harbour Gazette</title><wp:wxr_version>1.2</wp:wxr_version>
<wp:base_blog_url>https://gazette.example</wp:base_blog_url>
<wp:author><wp:author_id>4</wp:author_id><wp:author_login>mli</wp:author_login>
<wp:author_email>mei@gazette.example</wp:author_email>
<wp:author_display_name><![CDATA[Mei Li]]></wp:author_display_name></wp:author>
%s
</channel></rss>
"""

_POST = """<item><title><![CDATA[{title}]]></title><pubDate>{pub_date}</pubDate><dc:creator>mli</dc:creator>
<guid isPermaLink="false">https://gazette.example/?p={number}</guid>
<content:encoded><![CDATA[{body}]]></content:encoded><excerpt:encoded><![CDATA[{summary}]]></excerpt:encoded>
<wp:post_id>{number}</wp:post_id><wp:post_date_gmt>{date}</wp:post_date_gmt><wp:post_name>{slug}</wp:post_name>
<wp:status>{status}</wp:status><wp:post_type>{kind}</wp:post_type><wp:post_password>{password}</wp:post_password>
{terms}</item>"""


def post(number: int, **changes: str) -> str:
    """A post of WordPress as XML."""
    values = {
        "title": f"Post {number}",
        "body": "Some text.",
        "summary": "",
        "date": "2024-03-01 08:30:00",
        "pub_date": "",
        "slug": f"post-{number}",
        "status": "publish",
        "kind": "post",
        "password": "",
        "terms": "",
    }
    return _POST.format(number=number, **{**values, **changes})


def term(domain: str, name: str, slug: str = "") -> str:
    """A category or tag of a post."""
    return f'<category domain="{domain}" nicename="{slug or name.lower()}"><![CDATA[{name}]]></category>'


def write_wxr(path: Path, *posts: str) -> Path:
    """An export of WordPress with these posts."""
    path.write_text(WXR % "\n".join(posts), encoding="utf-8")
    return path
