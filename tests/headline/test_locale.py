"""The Chinese translation is whole, fresh and in use."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from tests.harness import base_dir, python

PO = Path("headline/locale/zh_Hans/LC_MESSAGES/django.po")
SOURCES = ("articles", "headline", "scheduling", "templates")


def run(*command: str, cwd: Path = base_dir) -> str:
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "headline.settings"}
    result = subprocess.run(command, cwd=cwd, env=environment, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def entries(*options: str, po: Path) -> str:
    """The entries that msgattrib selects, without the header."""
    return run("msgattrib", "--no-wrap", *options, str(po)).partition("\n\n")[2]


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `makemessages` makes of a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        shutil.copytree(base_dir / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(base_dir / "manage.py", copy)
    run(python, "manage.py", "makemessages", "-l", "zh_Hans", "--no-wrap", "--add-location", "file", cwd=copy)
    return copy / PO


def test_every_text_of_the_sources_is_translated(collected: Path) -> None:
    assert entries("--untranslated", po=collected) == ""
    assert entries("--only-fuzzy", po=collected) == ""


def test_no_translation_has_lost_its_text(collected: Path) -> None:
    assert entries("--only-obsolete", po=collected) == ""


def test_placeholders_survive_and_the_compiled_file_is_fresh(tmp_path: Path) -> None:
    compiled = tmp_path / "django.mo"

    run("msgfmt", "--check", "-o", str(compiled), str(PO))

    assert compiled.read_bytes() == (base_dir / PO).with_suffix(".mo").read_bytes()


@pytest.mark.django_db
def test_a_reader_gets_the_language_of_the_browser(client: Client) -> None:
    chinese = client.get("/", headers={"accept-language": "zh-CN,zh;q=0.9"}).content.decode()
    english = client.get("/", headers={"accept-language": "en"}).content.decode()

    assert 'lang="zh-hans"' in chinese
    assert "最新消息" in chinese
    assert "Latest news" in english
    assert dict(settings.LANGUAGES)["zh-hans"] == "简体中文"
