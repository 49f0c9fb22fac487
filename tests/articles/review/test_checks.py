"""System checks of the settings of review and caches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.checks import run_checks

from articles.review import Opinion, ReviewSubject
from articles.workflow import Verdict
from tests.harness import Server, start_redis

HERE = "tests.articles.review.test_checks"


class Good:
    def review(self, subject: ReviewSubject) -> Opinion:
        return Opinion(Verdict.PASSED)


class Silent:
    """Has no method."""


class Curious:
    """Needs an argument that is not given."""

    def __init__(self, key: str) -> None:
        self.key = key

    def review(self, subject: ReviewSubject) -> Opinion:
        return Opinion(Verdict.PASSED)


class Deaf:
    """Does not take the article."""

    def review(self) -> Opinion:
        return Opinion(Verdict.PASSED)


def function(subject: ReviewSubject) -> Opinion:
    return Opinion(Verdict.PASSED)


def found() -> list[str]:
    ours = [message for message in run_checks() if message.id and message.id.startswith("articles")]
    assert all(message.hint for message in ours)
    return [str(message.id).removeprefix("articles.") for message in ours]


def test_the_settings_as_they_come_are_good(settings: Any) -> None:
    assert found() == []
    settings.REVIEW_SERVICES = (f"{HERE}.Good",)
    settings.REVIEW_TIMEOUT, settings.REVIEW_AT_ONCE = 1, 0
    assert found() == []


@pytest.mark.cases(8)
@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("REVIEW_TIMEOUT", 0, "E002"),
        ("REVIEW_TIMEOUT", -1.5, "E002"),
        ("REVIEW_TIMEOUT", float("nan"), "E002"),
        ("REVIEW_TIMEOUT", float("inf"), "E002"),
        ("REVIEW_TIMEOUT", "10", "E002"),
        ("REVIEW_TIMEOUT", timedelta(seconds=10), "E002"),
        ("REVIEW_AT_ONCE", -1, "E003"),
        ("REVIEW_AT_ONCE", 0.5, "E003"),
        ("REVIEW_AT_ONCE", None, "E003"),
        ("REVIEW_SOFT_LOCK", 1800, "E004"),
        ("REVIEW_SOFT_LOCK", timedelta(0), "E004"),
        ("REVIEW_SERVICES", f"{HERE}.Good", "E005"),
        ("REVIEW_SERVICES", [Good], "E005"),
        ("REVIEW_SERVICES", ["newsroom.moderation.Moderation"], "E006"),
        ("REVIEW_SERVICES", [f"{HERE}.Missing"], "E006"),
        ("REVIEW_SERVICES", ["Good"], "E006"),
        ("REVIEW_SERVICES", [""], "E006"),
        ("REVIEW_SERVICES", [f"{HERE}.function"], "E007"),
        ("REVIEW_SERVICES", [f"{HERE}.Silent"], "E007"),
        ("REVIEW_SERVICES", [f"{HERE}.Curious"], "E007"),
        ("REVIEW_SERVICES", [f"{HERE}.Deaf"], "E007"),
        ("REVIEW_TIMEUOT", 10, "W008"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_named(settings: Any, name: str, value: object, complaint: str) -> None:
    """R5.1 R5.2"""
    setattr(settings, name, value)
    assert found() == [complaint]


@pytest.mark.parametrize("seconds", [0, -1, 61, "60", True, None, float("nan")])
def test_responses_are_stored_for_some_time_but_no_longer_than_a_lost_purge_may_cost(
    settings: Any, seconds: Any
) -> None:
    settings.PAGE_CACHE_SECONDS = seconds
    assert [message.id for message in run_checks()] == ["articles.E008"]


def test_proxies_that_are_not_purged_or_that_may_get_the_old_again_are_named(settings: Any) -> None:
    settings.CDN_PURGE_HEADER, settings.REDIS_CACHE_URL = {"Authorization": "Bearer secret"}, ""
    assert [message.id for message in run_checks()] == ["articles.W009"]
    settings.CDN_PURGE_URLS = ["http://127.0.0.1/"]
    assert [message.id for message in run_checks()] == ["articles.W010"]
    settings.REDIS_CACHE_URL = "redis://127.0.0.1/1"
    assert run_checks() == []


@pytest.fixture
def cache_server(tmp_path: Path, settings: Any) -> Iterator[Server]:
    """A Redis for the cache."""
    server = start_redis(tmp_path)
    settings.REDIS_CACHE_URL = f"{server.url}/1"
    backend = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": settings.REDIS_CACHE_URL}
    settings.CACHES = {**settings.CACHES, "responses": backend}
    yield server
    server.kill()


def found_for_production() -> set[str]:
    messages = run_checks(include_deployment_checks=True)
    return {str(message.id) for message in messages} & {"articles.W011", "articles.W012"}


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("limit", "policy", "complaints"),
    [
        pytest.param("0", "noeviction", {"articles.W012"}, marks=pytest.mark.thorough),
        ("50mb", "noeviction", {"articles.W012"}),
        ("0", "allkeys-lru", {"articles.W012"}),
        ("50mb", "allkeys-lru", set()),
        pytest.param("50mb", "volatile-ttl", set(), marks=pytest.mark.thorough),
    ],
)
def test_a_cache_that_cannot_make_room_is_named_in_production(
    cache_server: Server, settings: Any, limit: str, policy: str, complaints: set[str]
) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://elsewhere:6379/0"
    with redis.Redis.from_url(cache_server.url) as client:
        client.config_set("maxmemory", limit)
        client.config_set("maxmemory-policy", policy)
    assert found_for_production() == complaints
    assert not {"W011", "W012"} & set(found())


def test_a_server_for_both_is_named_in_production(cache_server: Server, settings: Any) -> None:
    settings.SCHEDULING_REDIS_URL = f"{cache_server.url}/0"
    assert "articles.W011" in found_for_production()
    cache_server.kill()
    assert found_for_production() == {"articles.W011"}
    settings.SCHEDULING_REDIS_URL = settings.REDIS_CACHE_URL = ""
    assert found_for_production() == set()
