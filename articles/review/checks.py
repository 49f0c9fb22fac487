"""System checks of the review's settings."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

REVIEW_SETTINGS = frozenset({"REVIEW_SERVICES", "REVIEW_TIMEOUT", "REVIEW_AT_ONCE", "REVIEW_SOFT_LOCK"})


@register
def check_review(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Check types and ranges of `REVIEW_*`, and that each service can be called."""
    return [*_check_values(), *_check_services(), *_check_spelling()]


def _check_values() -> Iterator[CheckMessage]:
    timeout, at_once, soft_lock = (_value(f"REVIEW_{name}") for name in ("TIMEOUT", "AT_ONCE", "SOFT_LOCK"))
    if not _is_number(timeout) or not 0 < timeout < float("inf"):
        yield _error("REVIEW_TIMEOUT", timeout, "Give it a number of seconds above 0.", "E002")
    if not _is_number(at_once) or at_once < 0 or at_once != at_once // 1:
        yield _error(
            "REVIEW_AT_ONCE", at_once, "Give it a number of characters; 0 reviews all in the background.", "E003"
        )
    if not isinstance(soft_lock, timedelta) or soft_lock <= timedelta(0):
        yield _error("REVIEW_SOFT_LOCK", soft_lock, "Give it a timedelta above 0.", "E004")


def _check_services() -> Iterator[CheckMessage]:
    names = _value("REVIEW_SERVICES")
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        yield _error("REVIEW_SERVICES", names, "Give it a list of dotted names of classes.", "E005")
        return
    for name in names:
        try:
            service = import_string(name)
        except Exception as error:  # whatever a module of the project raises while it is imported
            hint = "Name a class by its module: until then every article needs a reviewer."
            yield Error(f"REVIEW_SERVICES: {name} cannot be imported: {error}", hint=hint, id="articles.E006")
        else:
            yield from _check_service(name, service)


def _check_service(name: str, service: Any) -> Iterator[CheckMessage]:
    hint = "See “Services” in docs/review.md: a class that is made without arguments, with a method review(subject)."
    review = getattr(service, "review", None)
    if not inspect.isclass(service) or not callable(review):
        yield Error(f"REVIEW_SERVICES: {name} is no class with a method review.", hint=hint, id="articles.E007")
    elif not _takes(service) or not _takes(review, "self", "subject"):
        yield Error(f"REVIEW_SERVICES: {name} cannot be called so.", hint=hint, id="articles.E007")


def _check_spelling() -> Iterator[CheckMessage]:
    for name in dir(settings):
        if name.startswith("REVIEW_") and name not in REVIEW_SETTINGS:
            hint = f"There are {', '.join(sorted(REVIEW_SETTINGS))}."
            yield checks.Warning(f"{name} is no setting.", hint=hint, id="articles.W008")


def _takes(function: Any, *arguments: str) -> bool:
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, and without a signature
        return True
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _value(name: str) -> Any:
    return getattr(settings, name, None)


def _error(name: str, value: object, hint: str, number: str) -> Error:
    return Error(f"{name} is {value!r}.", hint=hint, id=f"articles.{number}")
