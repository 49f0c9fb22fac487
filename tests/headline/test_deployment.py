"""The deployment files are valid: systemd units, nginx's site, compose.yml."""

from __future__ import annotations

import json
import re
import shlex
import ssl
import subprocess
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from django.core.management import load_command_class

from headline import __version__
from tests.conftest import serving
from tests.harness import PATIENCE, Process, base_dir, eventually, free_port, python

UNITS = base_dir / "deploy" / "systemd"
COMPOSE = base_dir / "compose.yml"


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def commands() -> dict[str, list[str]]:
    """The command lines of units and containers, by file."""
    units = {unit.name: re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE) for unit in UNITS.iterdir()}
    containers = [service.get("command", "") for service in compose()["services"].values()]
    found = {**units, COMPOSE.name: containers}
    return {name: [line for line in lines if "manage.py" in line] for name, lines in found.items()}


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE.read_text(encoding="utf-8")))


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    """With this machine's paths, as it looks for the programs."""
    for unit in UNITS.iterdir():
        text = unit.read_text(encoding="utf-8").replace("/opt/headline/.venv/bin", str(Path(python).parent))
        (tmp_path / unit.name).write_text(text.replace("/opt/headline", str(base_dir)), encoding="utf-8")
    assert run("systemd-analyze", "verify", "--man=no", *map(str, tmp_path.iterdir())) == ""


def test_units_and_containers_run_commands_that_exist() -> None:
    lines = [line for lines in commands().values() for line in lines]
    found = [words for line in lines for words in re.findall(r"manage\.py ([\w -]+[\w/-])", line)]
    assert {words.split()[0] for words in found} == {"poll", "backup", "migrate", "collectstatic"}
    for words in found:
        name, *options = words.split()
        app = {"poll": "scheduling", "backup": "headline"}.get(name, "django.core")
        app = "django.contrib.staticfiles" if name == "collectstatic" else app
        load_command_class(app, name).create_parser("manage.py", name).parse_args(options)


def test_gunicorn_accepts_the_options_of_the_unit() -> None:
    unit = (UNITS / "headline-web.service").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ExecStart=\S+/gunicorn (.+)$", unit, re.MULTILINE)
    run(python, "-m", "gunicorn", *shlex.split(line), "--check-config")


def test_compose_follows_the_published_schema() -> None:
    schema = json.loads((files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json").read_text())
    jsonschema.Draft7Validator(schema).validate(compose())


def test_compose_separates_queue_and_cache_and_runs_two_workers() -> None:
    services = compose()["services"]
    assert services["worker"]["deploy"]["replicas"] == 2
    assert "noeviction" in services["queue"]["command"]
    assert "allkeys-lru" in services["cache"]["command"]
    assert [name for name, service in services.items() if "healthcheck" not in service] == ["proxy", "setup"]


def test_the_version_is_the_same_everywhere() -> None:
    project = tomllib.loads((base_dir / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == __version__
    assert compose()["x-headline"]["image"] == f"localhost/headline:{__version__}"


ENVIRONMENT = {
    "SITE_URL": "https://news.example.org",
    "DJANGO_DEBUG": "off",
    "PROXY_COUNT": "1",
    "DJANGO_SECRET_KEY": "k" * 60,
}


@pytest.fixture
def nginx(tmp_path: Path, transactional_db: None) -> Iterator[tuple[int, int]]:
    """nginx with the site in front of gunicorn; its ports for http and https."""
    with serving("--bind", f"unix:{tmp_path}/web.sock", env=ENVIRONMENT), nginx_before(tmp_path) as ports:
        yield ports


@contextmanager
def nginx_before(directory: Path) -> Iterator[tuple[int, int]]:
    """nginx in front of `web.sock` in this directory; its ports for http and https."""
    plain, secure = free_port(), free_port()
    with Process(["nginx", "-c", str(_configuration(directory, plain, secure))]) as process:
        process.wait_for("start worker process")
        yield plain, secure
        process.stop()  # with its worker, which would keep the pipe of its output open


def _configuration(directory: Path, plain: int, secure: int) -> Path:
    key, certificate = directory / "privkey.pem", directory / "fullchain.pem"
    subject = ["-subj", "/CN=news.example.org", "-keyout", str(key), "-out", str(certificate)]
    run("openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", *subject)
    site = (base_dir / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    site = re.sub(r"listen \[::\].*\n", "", site).replace("listen 80;", f"listen 127.0.0.1:{plain};")
    site = site.replace("listen 443 ssl;", f"listen 127.0.0.1:{secure} ssl;").replace("/run/headline", str(directory))
    site = site.replace("/etc/letsencrypt/live/news.example.org", str(directory))
    site = site.replace("/var/log/nginx", str(directory))
    file = directory / "nginx.conf"
    paths = "".join(f"{name}_temp_path {directory}/{name}; " for name in ("client_body", "proxy", "fastcgi"))
    paths += "".join(f"{name}_temp_path {directory}/{name}; " for name in ("uwsgi", "scgi"))
    start = f"user root; daemon off; pid {directory}/nginx.pid; error_log stderr notice; events {{}}"
    file.write_text(f"{start}\nhttp {{ access_log off; {paths}\n{site}\n}}\n", encoding="utf-8")
    return file


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Returns redirects instead of following them."""

    def redirect_request(self, *values: Any, **options: Any) -> None:
        """Follow none."""


def status(url: str) -> tuple[int, str]:
    context = ssl._create_unverified_context()  # the certificate is our own
    opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(url, headers={"Host": "news.example.org"})
    try:
        with opener.open(request, timeout=PATIENCE) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers.get("Location", "")


def test_nginx_serves_the_site_over_tls(nginx: tuple[int, int]) -> None:
    plain, secure = nginx
    assert status(f"http://127.0.0.1:{plain}/feed/") == (301, "https://news.example.org/feed/")
    code, page = status(f"https://127.0.0.1:{secure}/feed/")
    assert (code, "https://news.example.org/" in page) == (200, True)
    assert status(f"https://127.0.0.1:{secure}/metrics")[0] == 403
    assert status(f"https://127.0.0.1:{secure}/protected/images/x.jpg")[0] == 404
    assert "proxy_not_counted" not in status(f"https://127.0.0.1:{secure}/readyz")[1]


def test_the_access_log_of_nginx_has_no_secret(nginx: tuple[int, int], tmp_path: Path) -> None:
    _plain, secure = nginx
    secrets = ("preview/a-secret/", "calendar/a-secret.ics", "admin/reset/MQ/a-secret/", "search/?q=a-secret")
    for path in secrets:
        status(f"https://127.0.0.1:{secure}/{path}")
    status(f"https://127.0.0.1:{secure}/latest/")
    log = tmp_path / "headline.log"
    eventually(lambda: log.exists() and "/latest/ 200 " in log.read_text())
    assert "a-secret" not in log.read_text()
    assert len(re.findall(r" [0-9a-f]{32}$", log.read_text(), re.MULTILINE)) == len(secrets) + 1
