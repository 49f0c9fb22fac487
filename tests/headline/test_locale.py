"""The Chinese translation is complete and current, and every text for users can be translated."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

from tests.harness import base_dir, python
from tests.headline import texts

PO = Path("headline/locale/zh_Hans/LC_MESSAGES/django.po")
SOURCES = ("articles", "headline", "scheduling", "templates")
FINDERS = {".html": texts.in_template, ".txt": texts.in_template, ".py": texts.in_python, ".js": texts.in_script}
ENGLISH = (
    "articles/cache",
    "headline/accounts/management",
    "headline/accounts/oidc.py",  # what a provider did wrong, for the log
    "headline/accounts/saml.py",
    "headline/accounts/saml_messages.py",
    "headline/backup",
    "headline/debug_mode.py",
    "headline/env.py",
    "headline/management/commands",
    "headline/media.py",
    "headline/telemetry.py",
    "scheduling/management",
    "scheduling/queues",
    "scheduling/registry.py",
    "scheduling/workers/worker.py",
)
"""Modules with texts for operators only: start-up errors, the engine's command line, and logs."""


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


def unmarked() -> list[str]:
    """The texts for users in the sources that are not marked for translation, with their places."""
    paths = sorted(path for name in SOURCES for path in (base_dir / name).rglob("*") if path.suffix in FINDERS)
    places = {str(path.relative_to(base_dir)): path for path in paths if "migrations" not in path.parts}
    return [
        f"{place}:{line}: {text}"
        for place, path in places.items()
        if not place.startswith(ENGLISH)
        for line, text in FINDERS[path.suffix](path.read_text(encoding="utf-8"))
    ]


def test_no_text_for_people_is_left_unmarked() -> None:
    assert unmarked() == []


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".html", "<p>Nothing here</p>"),
        (".html", '<a title="Open it">{{ article }}</a>'),
        (".html", '<button aria-label="{% translate "Move" %} up"></button>'),
        (".html", '<input placeholder="Search">'),
        (".html", '{% include "label.html" with text="Overdue" %}'),
        (".html", '{{ name|default:"Nobody" }}'),
        (".py", 'messages.success(request, "Saved.")'),
        (".py", 'messages.error(request, f"{count} failed")'),
        (".py", 'raise ValidationError("Too long")'),
        (".py", 'raise ArticleError("Too late")'),
        (".py", 'CharField(help_text="Lower comes first.")'),
        (".py", "class Meta:\n    verbose_name = 'Channel'"),
        (".py", "class Status(IntegerChoices):\n    DRAFT = 0, 'Draft'"),
        (".py", 'render(request, "page.html", {"title": "My drafts"})'),
        (".py", "from django.utils.translation import gettext as translated"),
        (".py", "advice = f\"{sentence} {_('Start a worker.')}\""),
        (".js", 'button.textContent = "Undo";'),
        (".js", 'row.setAttribute("aria-label", "Close")'),
        (".js", "say(`The connection is lost since ${time}`)"),
    ],
)
def test_an_unmarked_text_is_found(suffix: str, source: str) -> None:
    assert list(FINDERS[suffix](source)) != []


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".html", '<p title="{% translate "Open" %}">{% blocktranslate %}Nothing here{% endblocktranslate %}</p>'),
        (".html", '<script>const a = "Nothing here";</script><span class="material-symbols-outlined">home</span>'),
        (".py", 'messages.success(request, _("Saved %s.") % name)\nraise ValueError("no such thing")'),
        (".js", "// Nothing to see here\nelement.className = 'desk-button desk-main'; fetch(`/admin/${address}`)"),
    ],
)
def test_what_is_marked_or_for_machines_is_left_alone(suffix: str, source: str) -> None:
    assert list(FINDERS[suffix](source)) == []


@pytest.mark.django_db
def test_the_script_that_chooses_permissions_speaks_chinese(admin_client: Client) -> None:
    script = Path(str(finders.find("admin/js/SelectFilter2.js"))).read_text(encoding="utf-8")
    said = {text for _quote, text in re.findall(r"""\bn?gettext\(\s*(["'])(.*?)\1""", script)}
    catalogue = admin_client.get(reverse("admin:jsi18n"), headers={"accept-language": "zh-CN"}).text
    assert "Choose all %s" in said
    assert {text for text in said if f"{json.dumps(text)}: " not in catalogue} == set()


@pytest.mark.django_db
def test_a_reader_gets_the_language_of_the_browser(client: Client) -> None:
    chinese = client.get("/", headers={"accept-language": "zh-CN,zh;q=0.9"}).content.decode()
    english = client.get("/", headers={"accept-language": "en"}).content.decode()

    assert 'lang="zh-hans"' in chinese
    assert "最新消息" in chinese
    assert "Latest news" in english
    assert dict(settings.LANGUAGES)["zh-hans"] == "简体中文"
