"""Options of database connections."""

from __future__ import annotations

import pytest

from headline.database import is_serving, mysql_options


@pytest.mark.parametrize(
    "arguments",
    [
        ["/venv/bin/gunicorn", "headline.wsgi"],
        ["/venv/lib/gunicorn/__main__.py", "headline.wsgi"],  # python -m gunicorn
        ["/venv/lib/uvicorn/__main__.py", "headline.asgi:application"],
        ["manage.py", "poll", "--forever"],
        ["/venv/lib/django/__main__.py", "refresh"],
    ],
)
def test_what_serves_has_timeouts(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", arguments)
    assert is_serving(arguments)
    assert mysql_options(8)["read_timeout"] == 8


@pytest.mark.parametrize("program", ["manage.py", "/venv/bin/django-admin", "/venv/lib/django/__main__.py"])
def test_a_command_that_a_person_waits_for_has_none(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [program, "migrate"])
    assert "read_timeout" not in mysql_options(8)
