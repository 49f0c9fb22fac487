"""Optional reports to Sentry and traces by OpenTelemetry: off, and not imported, unless the environment has addresses.

Neither gets personal data, texts or secrets: no variables of stack frames, no request bodies, headers or queries.
"""

from __future__ import annotations

import atexit
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from django.conf import settings

from headline import __version__, env
from headline.env import WrongEnvironment
from headline.log_format import hide_secrets
from scheduling.log_fields import log_fields

_SECONDS_AT_EXIT = 2  # for what is not sent yet: a restart must not wait long for a collector that does not respond
SENTRY_DSN, OTEL_ENDPOINT = "SENTRY_DSN", "OTEL_EXPORTER_OTLP_ENDPOINT"
_BEFORE = "headline.doctor.middleware.ProbesMiddleware"  # answers hosts that the middleware of OpenTelemetry refuses
_EXPORTED = frozenset(
    {"http.method", "http.route", "http.status_code", "http.request.method", "http.response.status_code"}
    | {"article_id", "request_id"}
)
"""Attributes of spans that are exported: a list of what to hide would miss some, such as whole URLs."""

_MAIL_ADDRESS = re.compile(r"(?<![\w.+@-])[\w.+-]{1,64}@[\w-]+\.[\w.-]+")
"""Such as those that a mail server refuses."""

_QUOTED = (("entry '", "' for key"), ("value: '", "' for column"))
"""What is around contents that MySQL and MariaDB quote. An expression would need quadratic time."""


def start_sentry(dsn: str) -> None:
    """Report unhandled and logged errors of web servers, workers and commands."""
    if not dsn:
        return
    sentry_sdk = _package("sentry_sdk", SENTRY_DSN)
    try:
        sentry_sdk.init(
            dsn=dsn,
            release=f"headline@{__version__}",
            send_default_pii=False,
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            auto_session_tracking=False,
            shutdown_timeout=_SECONDS_AT_EXIT,
            before_send=_without_secrets,
        )
    except ValueError as error:
        raise WrongEnvironment(SENTRY_DSN, "is no DSN", "copy it from the settings of the project in Sentry") from error


def _without_secrets(event: dict[str, Any], hint: object) -> dict[str, Any]:
    request = event.get("request", {})
    event["request"] = {name: request[name] for name in ("method", "url") if name in request}
    event["tags"] = {**event.get("tags", {}), **log_fields()}
    for name in ("extra", "user"):
        event.pop(name, None)
    if "logentry" in event:  # the parameters of a line may be headlines or names
        event["logentry"] = {"message": event["logentry"].get("message", "")}
    cleaned: dict[str, Any] = _in_each_text(event, _without_contents_of_errors)
    return cleaned


def _without_contents_of_errors(text: str) -> str:
    text = _MAIL_ADDRESS.sub("…", env.redact(hide_secrets(text)))
    for before, after in _QUOTED:
        head, start, rest = text.partition(before)
        _contents, end, tail = rest.rpartition(after)
        if end:
            text = f"{head}{start[:-1]}…{end[1:]}{tail}"
    return text


def _in_each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _in_each_text(one, change) for key, one in value.items()}
    return [_in_each_text(one, change) for one in value] if isinstance(value, list | tuple) else value


def start_tracing(endpoint: str) -> None:
    """Export a span for each request to Django; called before Django loads its middleware."""
    if not endpoint:
        return
    trace = _package("opentelemetry.trace", OTEL_ENDPOINT)
    sdk = _package("opentelemetry.sdk.trace", OTEL_ENDPOINT)
    resources = _package("opentelemetry.sdk.resources", OTEL_ENDPOINT)
    base: Any = _package("opentelemetry.exporter.otlp.proto.http.trace_exporter", OTEL_ENDPOINT).OTLPSpanExporter
    django = _package("opentelemetry.instrumentation.django", OTEL_ENDPOINT)

    class Exporter(base):  # type: ignore[misc]  # the class of an optional package
        """Sends what `_EXPORTED` lists, and no events, which contain the texts of errors."""

        def export(self, spans: Sequence[Any]) -> Any:
            """Send the spans."""
            return super().export([_without_contents(span, sdk.ReadableSpan, trace.Status) for span in spans])

    resource = resources.Resource.create({"service.name": "headline", "service.version": __version__})
    provider = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)  # that waits for up to 30 seconds
    export = import_module("opentelemetry.sdk.trace.export")
    processor = export.BatchSpanProcessor(Exporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces"))
    atexit.register(processor._batch_processor.shutdown, timeout_millis=_SECONDS_AT_EXIT * 1000)
    provider.add_span_processor(processor)
    django.DjangoInstrumentor().instrument(
        tracer_provider=provider,
        request_hook=lambda span, request: span.set_attributes(dict(log_fields())),
        middleware_position=settings.MIDDLEWARE.index(_BEFORE) + 1,
    )


def _without_contents(span: Any, kind: Any, status: Any) -> Any:
    return kind(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in (span.attributes or {}).items() if name in _EXPORTED},
        kind=span.kind,
        status=status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _package(name: str, variable: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        remedy = "install requirements-telemetry.lock, or remove the variable"
        raise WrongEnvironment(variable, f"needs packages that are not installed ({error.name})", remedy) from error
