"""The engine in a separate project, without Headline."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.harness import base_dir, python

SETTINGS = """
SECRET_KEY = "guards-nothing"
USE_TZ = True
INSTALLED_APPS = [{apps}]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "urls"
TEMPLATES = [
    {{
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {{
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        }},
    }}
]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "alone.sqlite3"}}}}
"""

HANDLERS = """
from pathlib import Path
from scheduling.registry import handler

@handler("greet")
def greet(tasks):
    Path("greeted").write_text(" ".join(task.parameters["whom"] for task in tasks))

@handler("mail", at_least_once=True)
def mail(tasks):
    Path("mailed").touch()
"""

ADD = """
import importlib.util
from django.utils import timezone
from scheduling.services import add_task
add_task("greet", execute_time=timezone.now(), parameters={"whom": "the world"})
add_task("mail", execute_time=timezone.now(), parameters={})
assert not importlib.util.find_spec("headline") and not importlib.util.find_spec("articles")
"""

ADMIN = ["django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"]
ADMIN += ["django.contrib.messages"]
API = ["rest_framework", "rest_framework.authtoken"]


@pytest.fixture(
    params=[
        pytest.param([], id="bare"),
        pytest.param([*ADMIN, *API], id="with admin and API", marks=pytest.mark.thorough),
    ]
)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A Django project with the engine, one app that has handlers, and what `startproject` and a REST API add."""
    (tmp_path / "scheduling").symlink_to(base_dir / "scheduling")
    (tmp_path / "greetings").mkdir()
    (tmp_path / "greetings" / "__init__.py").touch()
    (tmp_path / "greetings" / "handlers.py").write_text(HANDLERS)
    apps = [*request.param, "greetings", "scheduling"]
    (tmp_path / "settings.py").write_text(SETTINGS.format(apps=", ".join(map(repr, apps))))
    urls = ["path('admin/', admin.site.urls)"] if request.param else []
    urls += ["path('tasks/', include('scheduling.api.urls'))"] if API[0] in apps else []
    imports = "from django.urls import include, path\n" + ("from django.contrib import admin\n" if urls else "")
    (tmp_path / "urls.py").write_text(f"{imports}urlpatterns = [{', '.join(urls)}]\n")
    return tmp_path


def manage(project: Path, *arguments: str) -> str:
    """Run Django's command line in the project."""
    environment = {"PYTHONPATH": str(project), "DJANGO_SETTINGS_MODULE": "settings", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [python, "-m", "django", *arguments], cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_checks_migrates_adds_and_runs(project: Path) -> None:
    manage(project, "check")
    manage(project, "migrate", "--verbosity", "0")
    manage(project, "shell", "-c", ADD)
    assert manage(project, "poll").startswith("executed=1 failed=0")
    assert (project / "greeted").read_text() == "the world"
    assert (project / "mailed").exists()
