"""Whatever can be sent has a limit; all limits are in two modules, and docs/limits.md shows those that matter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from django import forms
from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import IntegerField
from django.test import RequestFactory
from django.urls import resolve

from articles import limits
from scheduling import limits as of_engine
from tests.harness import base_dir
from tests.headline.api_document import api_document

pytestmark = pytest.mark.django_db

FIXED = {"uuid", "date", "binary", "time"}
"""Formats that say how long a text is; the length of a file is that of the body."""

BY_SIZE = "NewTaskRequest.parameters"
"""Any JSON, of at most `SCHEDULING_MAX_PARAMETERS_BYTES`."""

NEEDED = {"string": "maxLength", "integer": "maximum", "number": "maximum", "array": "maxItems"}


def unlimited(schema: dict[str, Any], place: str, schemas: dict[str, Any]) -> Iterator[str]:
    """The places in a schema where any number of characters, items or keys may be sent."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from unlimited(schemas[name], f"{place} {name}", schemas)
    for part in (*schema.get("oneOf", ()), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from unlimited(part, place, schemas)
    if schema.get("readOnly") or "enum" in schema or schema.get("format") in FIXED or place.endswith(BY_SIZE):
        return
    kinds = schema.get("type", [])
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        if kind in NEEDED and NEEDED[kind] not in schema:
            yield f"{place}: {kind} without {NEEDED[kind]}"
    for name, part in schema.get("properties", {}).items():
        yield from unlimited(part, f"{place}.{name}", schemas)
    if "items" in schema:
        yield from unlimited(schema["items"], f"{place}[]", schemas)
    if schema.get("additionalProperties") and "maxProperties" not in schema:
        yield f"{place}: object without maxProperties"


def test_every_field_and_query_parameter_of_the_api_has_a_limit() -> None:
    """Paths and headers are limited by the web server: `limit_request_line` and `limit_request_field_size`."""
    document = api_document()
    schemas, seen = document["components"]["schemas"], 0
    found: list[str] = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            asked = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
            bodies = operation.get("requestBody", {}).get("content", {}).values()
            parts = [(one["name"], one["schema"]) for one in asked] + [("", one["schema"]) for one in bodies]
            seen += len(parts)
            for name, schema in parts:
                found += unlimited(schema, f"{method} {path} {name}", schemas)
    assert seen > 200
    assert sorted(set(found)) == []


def our_forms(kind: type[forms.BaseForm] = forms.BaseForm) -> Iterator[type[forms.BaseForm]]:
    for one in kind.__subclasses__():
        if one.__module__.startswith(("articles.", "headline.", "scheduling.")):
            yield one
        yield from our_forms(one)


def forms_of_admin() -> Iterator[type[forms.BaseForm]]:
    request = RequestFactory().get("/admin/")
    request.user = User(is_superuser=True, is_staff=True, is_active=True)
    for screen in admin.site._registry.values():
        if screen.has_add_permission(request) and "add_view" not in vars(type(screen)):  # which shows another form
            yield screen.get_form(request)


def columns_of(form: type[forms.BaseForm]) -> set[str]:
    """The numbers and read-only texts of a model's form, whose columns limit them."""
    model = getattr(getattr(form, "_meta", None), "model", None)
    columns: Iterable[Any] = model._meta.get_fields() if model else ()
    return {one.name for one in columns if isinstance(one, IntegerField) or not getattr(one, "editable", True)}


def without_limit(field: Any) -> bool:
    if isinstance(field, forms.MultiValueField):
        return any(map(without_limit, field.fields))
    if isinstance(field, forms.CharField) and not isinstance(field, forms.UUIDField):
        return field.max_length is None
    return isinstance(field, forms.IntegerField) and field.max_value is None


def test_every_field_of_a_form_has_a_limit() -> None:
    """A form has at most 1,000 values, by `DATA_UPLOAD_MAX_NUMBER_FIELDS`, so choices need none."""
    resolve("/admin/")  # imports all screens
    import_module("headline.accounts.factor_forms")
    all_forms = {*our_forms(), *forms_of_admin()}
    assert len(all_forms) > 35
    found = {
        f"{form.__module__}.{form.__qualname__}.{name}"
        for form in all_forms
        for name, field in form.base_fields.items()  # type: ignore[attr-defined]
        if name not in columns_of(form) and without_limit(field)
    }
    assert not found, "\n".join(sorted(found))


def rows(module: ModuleType) -> dict[str, str]:
    """The comment and the value of each limit of a module."""
    source = (base_dir / f"{module.__name__.replace('.', '/')}.py").read_text(encoding="utf-8")
    found = re.findall(r"^([A-Z_]+) = .*?  # (.+)$", source, re.MULTILINE)
    names = {name for name in vars(module) if name.isupper()}
    assert {name for name, _comment in found} == names, "each limit has a comment"
    return {comment: f"{getattr(module, name):,}" for name, comment in found}


def test_the_page_about_limits_shows_them_as_they_are() -> None:
    page = (base_dir / "docs" / "limits.md").read_text(encoding="utf-8")
    shown = {(comment, number) for number, comment in re.findall(r"^\* ([\d,]+) (.+)$", page, re.MULTILINE)}
    assert len(shown) > 25
    assert shown <= {*rows(of_engine).items(), *rows(limits).items()}


def test_no_field_of_a_program_or_a_form_has_a_number_of_its_own() -> None:
    """A limit that stands beside its field is not in the table."""
    files = [*(base_dir / "articles").rglob("*.py"), *(base_dir / "headline").rglob("*.py")]
    files += (base_dir / "scheduling").rglob("*.py")
    asks = re.compile(r"\b(?:serializers|forms|fields)\.\w+Field\b|Bounded\w+Field\(")
    found = [
        f"{path.relative_to(base_dir)}: {line.strip()}"
        for path in files
        if "migrations" not in path.parts and asks.search(source := path.read_text(encoding="utf-8"))
        for line in re.findall(r"^.*\bmax_length=\d.*$", source, re.MULTILINE)
    ]
    assert found == []
