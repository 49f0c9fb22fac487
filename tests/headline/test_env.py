"""Every invalid environment variable is refused with a message that says which and why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headline import debug_mode, env
from tests.harness import base_dir, python, run_python

Given = Callable[..., None]

DEPLOYED = {
    "DJANGO_SECRET_KEY": "a-long-and-random-text-for-this-one-test-of-a-deployment-0123456789",
    "SITE_URL": "https://news.example.org",
    "PROXY_COUNT": "1",
}
STARTS_AS_IT_IS = {"DJANGO_DEBUG", "PATH"}


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """`given(SITE_URL="…")` lets `headline.env` find these variables and no others."""
    monkeypatch.setattr(env, "_used", {})

    def give(**variables: str) -> None:
        monkeypatch.setattr(env, "_environment", variables)

    return give


@pytest.mark.cases(16)
@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("DATABASE_URL", "postgres://host/name", "has the scheme 'postgres'"),
        ("DATABASE_URL", "mysql://host:99999/name", "has no valid host and port"),
        ("DATABASE_URL", "mysql://host:port/name", "has no valid host and port"),
        ("EMAIL_URL", "pop://host", "unknown format"),
        ("EMAIL_URL", "smtp://", "unknown format"),
        ("EMAIL_URL", "smtp://host:port", "has no valid host and port"),
        ("EMAIL_FROM", "newsroom", "is 'newsroom'"),
        ("DATABASE_URL", "mysql://host/", "names no database"),
        ("DATABASE_URL", "mysql:///name", "neither a host nor a socket"),
        ("DATABASE_URL", "mysql://host/name?sokcet=/run/x", "unknown option 'sokcet'"),
        ("DATABASE_URL", "mysql://user@a,b:port/name", "has no valid host and port"),
        ("DATABASE_URL", "mysql://user@a,/name", "names a server without a host"),
        ("DATABASE_URL", "sqlite:////no/such/directory/x.sqlite3", "names a file|names '/no/such"),
        ("DATABASE_URL", "sqlite:////", "names '/'"),
        ("REDIS_URL", "http://host", "unknown format"),
        ("REDIS_URL", "redis://host:6379/first", "unknown format"),
        ("REDIS_URL", "redis://host:99999/0", "unknown format"),
        ("REDIS_URL", "redis://host/?db=first", "unknown format"),
        ("REDIS_URL", "unix://relative/path", "unknown format"),
        ("REDIS_URL", "redis+sentinel://a:26379,b:26379", "unknown format"),
        ("REDIS_URL", "redis+sentinel://a:26379,b:x/main/0", "unknown format"),
        ("REDIS_URL", "redis+cluster://a:1,b:2/3", "unknown format"),
        ("REDIS_CACHE_URL", "redis+cluster://a:1,b:2", "unknown format"),
        ("DJANGO_DEBUG", "maybe", "is 'maybe'"),
        ("DJANGO_DEBUG", "off", "DJANGO_SECRET_KEY is missing"),
        ("DJANGO_SECRET_KEY", "two\nlines", "control character"),
        ("DJANGO_ALLOWED_HOSTS", "https://news.example.org", "without scheme"),
        ("DJANGO_ALLOWED_HOSTS", "news.example.org:443", "without scheme, port"),
        ("SITE_URL", "news.example.org", "scheme and host alone"),
        ("SITE_URL", "https://news.example.org/path", "scheme and host alone"),
        ("SITE_URL", "https://news.example.org:x", "has no valid host and port"),
        ("SITE_URL", "https://", "SITE_URL is 'https://'"),
        ("SITE_URL", "https://news example.org", "SITE_URL is"),
        ("SITE_URL", "https://新闻.example", "xn--"),
        ("WEBSUB_HUB", "hub.example.org", "has an unknown format"),
        ("WEBSUB_HUB", "ftp://hub.example.org/", "has an unknown format"),
        ("WEBSUB_HUB", "https://user:secret@hub.example.org/", "has an unknown format"),
        ("WEBSUB_HUB", "https://hub.example.org:99999/", "has no valid host and port"),
        ("WEBSUB_HUB", "https://hub.example.org/#x", "has an unknown format"),
        ("TIME_ZONE", "Mars/Olympus", "write a time zone"),
        ("TIME_ZONE", "../etc/passwd", "write a time zone"),
        ("LANGUAGE_CODE", "fr", "choose one of en, zh-hans"),
        ("LOG_FORMAT", "xml", "choose one of text, json"),
        ("PROXY_COUNT", "-1", "at least 0"),
        ("METRICS_NETWORKS", "10.0.0.1/8", "contains no network"),
        ("METRICS_NETWORKS", "localhost", "contains no network"),
        ("DATA_DIR", "/proc/nowhere", "cannot be made"),
        ("ENV_FILE", "/no/such/file", "cannot be read"),
    ],
)
def test_an_invalid_value_stops_the_start_with_one_message(name: str, value: str, fault: str) -> None:
    done = _manage_check({name: value})
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("Headline cannot start: ")
    assert any(part in sentence for part in fault.split("|"))
    assert name in sentence or "DJANGO_SECRET_KEY" in sentence
    assert ": " in sentence.removeprefix("Headline cannot start: ")


def _manage_check(variables: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check` with these variables alone: the output at a start with them."""
    environment = {"PATH": os.environ["PATH"], **variables}
    if "DJANGO_SECRET_KEY" not in variables and not STARTS_AS_IT_IS & variables.keys():
        environment |= {"DJANGO_DEBUG": "on"}
    return run_python("manage.py", "check", *options, env=environment)


def test_debug_mode_needs_only_one_variable() -> None:
    assert _manage_check({"DJANGO_DEBUG": "on"}).returncode == 0


def test_a_file_in_place_of_a_directory_gives_one_message(tmp_path: Path) -> None:
    """As does any that cannot be made, such as on a disk that is read-only."""
    (tmp_path / "static").touch()
    done = _manage_check({"DATA_DIR": str(tmp_path)})
    assert done.returncode != 0
    assert done.stderr.strip().startswith("Headline cannot start: DATA_DIR needs ")
    assert "Traceback" not in done.stderr


PUBLIC = {"SITE_URL": "https://news.example.org"}


@pytest.mark.parametrize(
    ("variables", "fault"),
    [
        ({"PATH": os.environ["PATH"]}, "DJANGO_SECRET_KEY is missing"),
        ({**PUBLIC, "DJANGO_DEBUG": ""}, "DJANGO_SECRET_KEY is missing"),
        ({**PUBLIC, "DJANGO_DEBUG": "off"}, "DJANGO_SECRET_KEY is missing"),
        ({**PUBLIC, "DJANGO_DEBUG": "on"}, "DJANGO_DEBUG is on for the public host 'news.example.org'"),
        ({**DEPLOYED, "DJANGO_DEBUG": "on"}, "DJANGO_DEBUG is on for the public host"),
        ({"DJANGO_DEBUG": "on", "DJANGO_ALLOWED_HOSTS": "localhost,*"}, "for the public host '*'"),
        ({"DJANGO_DEBUG": "on", "DJANGO_ALLOWED_HOSTS": ".example.org"}, "for the public host '.example.org'"),
        ({"DJANGO_DEBUG": "on", "SITE_URL": "http://8.8.8.8:8000"}, "for the public host '8.8.8.8'"),
        ({"DJANGO_DEBUG": "on", "SITE_URL": "http://[2606:4700::1111]"}, "for the public host"),
        (
            {**PUBLIC, "DJANGO_SECRET_KEY": "insecure-key-for-development-on-one-machine-only"},
            "DJANGO_SECRET_KEY is the key of Headline's source code",
        ),
    ],
)
def test_a_public_host_does_not_start_in_debug_mode(variables: dict[str, str], fault: str) -> None:
    """With neither, or both, the message says what to set."""
    done = _manage_check(variables)
    assert done.returncode == 1
    (sentence,) = done.stderr.splitlines()
    assert fault in sentence and "set it to a long random text" in sentence.replace(
        "set DJANGO_SECRET_KEY to a long", "set it to a long"
    )


@pytest.mark.parametrize(
    "host",
    [
        "http://192.168.1.5:8000",
        *(pytest.param(host, marks=pytest.mark.thorough) for host in ("http://127.0.0.1:9000", "http://[::1]:8000")),
        "http://web:80",
    ],
)
def test_debug_mode_is_allowed_in_a_private_network(host: str) -> None:
    assert _manage_check({"DJANGO_DEBUG": "on", "SITE_URL": host}).returncode == 0


def test_an_unconfigured_server_does_not_start() -> None:
    """By another entry point than manage.py."""
    environment = {"PATH": os.environ["PATH"], "SITE_URL": "https://news.example.org"}
    command = [python, "-c", "import headline.wsgi"]
    done = subprocess.run(command, env=environment, cwd=base_dir, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "DJANGO_SECRET_KEY is missing" in done.stderr


def test_fallback_keys_are_still_valid(given: Given) -> None:
    given(DJANGO_SECRET_KEY="new", DJANGO_SECRET_KEY_FALLBACKS="old, older")
    assert debug_mode.secret_keys(debug=False) == ("new", ["old", "older"])


def test_a_deployment_passes_djangos_own_checks_without_a_warning() -> None:
    done = _manage_check(DEPLOYED, "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("address", ["hunter2@host:port/name", "hunter2#x@host/name", "hunter2/x@host/name"])
def test_a_password_is_never_repeated(address: str) -> None:
    done = _manage_check({"DATABASE_URL": f"mysql://user:{address}"}, "--traceback")
    assert "DATABASE_URL has no valid host and port" in done.stderr
    assert "%XX" in done.stderr
    assert "hunter2" not in done.stderr


def test_proxies_have_addresses_and_a_header_that_lets_us_in(given: Given) -> None:
    given(URLS="http://10.0.0.1/, https://cdn.example.org/zones/7/purge", HEADER="Authorization: Bearer hunter2")
    assert env.addresses("URLS") == ["http://10.0.0.1/", "https://cdn.example.org/zones/7/purge"]
    assert env.header("HEADER") == {"Authorization": "Bearer hunter2"}
    given()
    assert (env.addresses("URLS"), env.header("HEADER")) == ([], {})
    for wrong in ("hunter2", "Authorization:", "Authorization: ", "Two words: hunter2"):
        given(HEADER=wrong)
        with pytest.raises(env.WrongEnvironment, match="HEADER has an unknown format") as raised:
            env.header("HEADER")
        assert "hunter2" not in str(raised.value)
    given(URLS="http://10.0.0.1/,10.0.0.2")
    with pytest.raises(env.WrongEnvironment, match="URLS has an unknown format"):
        env.addresses("URLS")


@pytest.mark.parametrize(
    ("value", "meaning"), [("on", True), ("TRUE", True), ("1", True), ("off", False), ("no", False)]
)
def test_a_flag_has_the_usual_spellings(given: Given, value: str, meaning: bool) -> None:
    given(FLAG=value)
    assert env.flag("FLAG", default=not meaning) is meaning


def test_an_empty_value_counts_as_unset(given: Given) -> None:
    given(FLAG="", TEXT=" ")
    assert env.flag("FLAG", default=True) is True
    assert env.text("TEXT", default="default") == "default"


def test_a_list_ignores_blanks(given: Given) -> None:
    given(HOSTS=" a.example.org , .b.example.org,[::1], ")
    assert env.hosts("HOSTS", default=[]) == ["a.example.org", ".b.example.org", "[::1]"]


@pytest.mark.parametrize(
    ("value", "port", "flags"),
    [
        ("smtp://mail.example.org", 25, (False, False)),
        ("smtps://user:p%40ss@mail.example.org", 465, (True, False)),
        ("smtp+tls://user:p%40ss@mail.example.org:2525", 2525, (False, True)),
    ],
)
def test_a_mail_server_s_address_is_understood(given: Given, value: str, port: int, flags: tuple[bool, bool]) -> None:
    given(EMAIL_URL=value)
    mail = env.mail("EMAIL_URL", debug=False)
    assert (mail["EMAIL_HOST"], mail["EMAIL_PORT"]) == ("mail.example.org", port)
    assert (mail["EMAIL_USE_SSL"], mail["EMAIL_USE_TLS"]) == flags
    assert mail["EMAIL_HOST_PASSWORD"] in {"", "p@ss"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            "mysql://user:p%40ss+word@db.example.org:3307/news",
            {"USER": "user", "PASSWORD": "p@ss+word", "HOST": "db.example.org", "PORT": 3307, "NAME": "news"},
        ),
        ("mysql://user@[::1]/news", {"USER": "user", "PASSWORD": "", "HOST": "::1", "PORT": ""}),
        (
            "mysql://user:pass@/news?unix_socket=/run/mysqld/mysqld.sock",
            {"HOST": "", "OPTIONS": {"unix_socket": "/run/mysqld/mysqld.sock"}},
        ),
        (
            "mysql://user:p%2C@a.example.org:3307,[::1],b/news",
            {"PASSWORD": "p,", "OPTIONS": {"servers": [("a.example.org", 3307), ("::1", 3306), ("b", 3306)]}},
        ),
        ("sqlite:////tmp/news%20room.sqlite3", {"NAME": "/tmp/news room.sqlite3"}),
        ("sqlite:///tests/other.sqlite3", {"NAME": str(base_dir / "tests/other.sqlite3")}),
        ("sqlite://:memory:", {"NAME": ":memory:"}),
        ("sqlite:///:memory:", {"NAME": ":memory:"}),
    ],
)
def test_a_database_address_is_understood(given: Given, value: str, expected: dict[str, Any]) -> None:
    given(DATABASE_URL=value)
    database = env.database("DATABASE_URL", default="")
    assert {key: database[key] for key in expected} == expected


@pytest.mark.parametrize(
    "value",
    [
        "redis://localhost",
        "redis://:p%40ss@10.0.0.1:6379/0?socket_keepalive=1",
        "rediss://user:pass@redis.example.org:6380/2?ssl_ca_certs=/etc/ssl/redis.pem",
        "redis://[::1]:6379/3",
        "unix:///run/redis/redis.sock?db=2",
        "redis+sentinel://a:26379,b:26379/main/0",
        "redis+sentinel://a/main",
        "redis+cluster://a:7000,b:7001",
    ],
)
def test_every_form_of_a_redis_address_is_taken(given: Given, value: str) -> None:
    given(REDIS_URL=value)
    assert env.redis("REDIS_URL") == value


@pytest.mark.parametrize(
    ("queue", "cache"),
    [
        ("", ""),
        ("redis://localhost", "redis://localhost?db=1"),
        ("redis://:secret@localhost:6379/3", "redis://:secret@localhost:6379/3?db=4"),
        ("redis://localhost/15", "redis://localhost/15?db=0"),
        ("unix:///run/redis.sock?db=2", "unix:///run/redis.sock?db=3"),
        ("redis+sentinel://a:26379/main/0", ""),
        ("redis+cluster://a:7000", ""),
    ],
)
def test_the_cache_lives_in_the_next_database_of_a_single_server(given: Given, queue: str, cache: str) -> None:
    given()
    assert env.redis_cache("REDIS_CACHE_URL", queue=queue) == cache


def test_the_cache_may_not_be_the_queues_own_database(given: Given) -> None:
    given(REDIS_CACHE_URL="redis://localhost:6379?db=0")
    with pytest.raises(env.WrongEnvironment, match="the queue's own database"):
        env.redis_cache("REDIS_CACHE_URL", queue="redis://localhost/0")


def test_variables_may_stand_in_a_file_and_the_real_environment_wins(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# Comment\n\nTIME_ZONE=Asia/Shanghai\nLANGUAGE_CODE=zh-hans\n")
    code = "from django.conf import settings; print(settings.TIME_ZONE, settings.LANGUAGE_CODE)"
    environment = {"PATH": os.environ["PATH"], "DJANGO_DEBUG": "on", "ENV_FILE": str(file), "LANGUAGE_CODE": "en"}
    done = run_python("manage.py", "shell", "--no-imports", "-c", code, env=environment)
    assert done.stdout == "Asia/Shanghai en\n"


def test_a_line_of_the_file_that_is_no_assignment_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("export TIME_ZONE=UTC\n")
    done = _manage_check({"ENV_FILE": str(file)})
    assert "'export TIME_ZONE=UTC'" in done.stderr


def test_debug_is_off_as_soon_as_there_is_a_secret_key() -> None:
    code = "from django.conf import settings; print(settings.DEBUG, settings.ALLOWED_HOSTS)"
    environment = {"PATH": os.environ["PATH"], **DEPLOYED}
    done = run_python("manage.py", "shell", "--no-imports", "-c", code, env=environment)
    assert done.stdout == "False ['localhost', '.localhost', '127.0.0.1', '[::1]', 'news.example.org']\n"


@pytest.mark.cases(1)
@pytest.mark.parametrize("url", ["sqlite:///{}/new.sqlite3", "mysql://nobody:hunter2@127.0.0.1:1/headline"])
def test_an_unreachable_or_empty_database_gives_one_message(url: str, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "DJANGO_DEBUG": "on", "DATA_DIR": str(tmp_path)}
    environment["DATABASE_URL"] = url.format(tmp_path)
    done = run_python("manage.py", "audit", "list", env=environment)
    (sentence,) = done.stderr.splitlines()
    assert (done.returncode, sentence.startswith("The database failed: ")) == (1, True)
    assert "manage.py migrate" in sentence and "hunter2" not in sentence


def test_a_proxy_that_is_not_counted_gives_a_warning() -> None:
    """Https says that there is one."""
    done = _manage_check({**DEPLOYED, "PROXY_COUNT": "0"}, "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 1
    assert "headline.W001" in done.stderr and "PROXY_COUNT" in done.stderr
