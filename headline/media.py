"""Storage of uploaded files: below `DATA_DIR`, or in an S3-compatible bucket."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from headline.env import WrongEnvironment

LOCAL_URL = "/media/"
BUCKET_CACHE_CONTROL = "public, max-age=3600"
"""Cache lifetime of files in a bucket, where access is not checked per request."""

_REMEDY = "write s3://key:secret@bucket/folder?endpoint=https://host:port&region=name&public=https://host/folder"
_OPTIONS = frozenset({"endpoint", "region", "public"})


@dataclass(frozen=True)
class Media:
    """Django's STORAGES entry, and the URL of the files."""

    backend: dict[str, Any]
    url: str


def storage(name: str, value: str) -> Media:
    """The storage that `value`, the content of the variable `name`, asks for; local when it is empty.

    The site serves the files itself, also from a private bucket, unless `public` is their base URL. Without a key in
    the URL, the usual AWS variables, files and roles apply. Raises `WrongEnvironment`.
    """
    if not value:
        return Media({"BACKEND": "django.core.files.storage.FileSystemStorage"}, LOCAL_URL)
    try:
        url = urlsplit(value)
        options = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
    except ValueError as error:
        raise WrongEnvironment(name, f"is no address ({error})", _REMEDY) from error
    _check(name, url, options)
    public = options.pop("public", "").rstrip("/")
    backend = {"BACKEND": "headline.bucket.Bucket", "OPTIONS": _bucket(url, options)}
    return Media(backend, f"{public}/" if public else LOCAL_URL)


def accel_redirect(name: str, value: str) -> str:
    """The internal nginx path for `X-Accel-Redirect`, with a trailing slash; "" if unset."""
    if value and not re.fullmatch(r"/[\w./-]+", value, re.ASCII):
        raise WrongEnvironment(name, f"is {value!r}", "write the path of an internal location, such as /protected/")
    return f"{value.rstrip('/')}/" if value else ""


def _check(name: str, url: SplitResult, options: dict[str, str]) -> None:
    # The value may hold a secret and is not repeated.
    if url.scheme != "s3" or not url.hostname or url.fragment or bool(url.username) != bool(url.password):
        raise WrongEnvironment(name, "has an unknown format", _REMEDY)
    if unknown := options.keys() - _OPTIONS:
        raise WrongEnvironment(name, f"has the unknown option {min(unknown)!r}", _REMEDY)
    for option in options.keys() - {"region"}:
        if not options[option].startswith(("http://", "https://")):
            raise WrongEnvironment(name, f"has the {option} {options[option]!r}", "begin it with https://")


def _bucket(url: SplitResult, options: dict[str, str]) -> dict[str, Any]:
    """The options of django-storages."""
    found: dict[str, Any] = {
        "bucket_name": url.netloc.rpartition("@")[2],
        "location": url.path.strip("/"),
        "querystring_auth": False,
        "object_parameters": {"CacheControl": BUCKET_CACHE_CONTROL},
    }
    if url.username:
        found |= {"access_key": unquote(url.username), "secret_key": unquote(url.password or "")}
    if "region" in options:
        found["region_name"] = options["region"]
    if "endpoint" in options:  # servers other than Amazon's have no host name per bucket
        found |= {"endpoint_url": options["endpoint"], "addressing_style": "path"}
    return found
