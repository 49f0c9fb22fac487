"""The admin's short cut from a row to its page on the site: an address tells a headline, or opens a preview."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.contrib.contenttypes.views import shortcut
from django.http import Http404, HttpRequest, HttpResponse

from articles.desk.numbers import whole_number


def view_on_site(request: HttpRequest, content_type_id: str, object_id: str) -> HttpResponse:
    """Lead there who may see rows of this kind on the desk, where it offers the short cut; nobody else."""
    kind = ContentType.objects.filter(pk=whole_number(content_type_id)).first()
    model = kind and kind.model_class()
    screens = admin.site._registry.get(model) if model else None
    if screens is None or not screens.view_on_site or not screens.has_view_permission(request):
        raise Http404
    return shortcut(request, content_type_id, object_id)
