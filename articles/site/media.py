"""Serving pictures to readers, from whichever storage holds them.

Their names change with their content, so that browsers and proxies in front may keep them for ever. A web server in
front may serve the folder `DATA_DIR/media` itself, and browsers may be sent elsewhere by `MEDIA_STORAGE`.
"""

from __future__ import annotations

import re
from uuid import UUID

from django.core.files.storage import default_storage
from django.http import FileResponse, Http404, HttpRequest
from django.views.decorators.http import require_safe

FOR_EVER = "public, max-age=31536000, immutable"
NAME = re.compile(r"[\w-]+\.(jpeg|png|webp|avif)", re.ASCII)


@require_safe
def media(request: HttpRequest, pk: UUID, name: str) -> FileResponse:
    """One file of a picture. Who does not know its random id finds nothing."""
    found = NAME.fullmatch(name)
    if found is None:
        raise Http404
    try:
        file = default_storage.open(f"{pk}/{name}")
    except FileNotFoundError as error:
        raise Http404 from error
    headers = {"Cache-Control": FOR_EVER, "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox"}
    return FileResponse(file, content_type=f"image/{found[1]}", headers=headers)
