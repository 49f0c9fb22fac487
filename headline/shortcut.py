"""The admin's "view on site" redirect, restricted because the URL reveals a headline or opens a preview."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.contenttypes.models import ContentType
from django.contrib.contenttypes.views import shortcut
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse

from articles.desk.parse import number_or_zero


def view_on_site(request: HttpRequest, content_type_id: str, object_id: str) -> HttpResponse:
    """Redirect users who may view this model in the admin, if it offers the link; 404 for others."""
    kind = ContentType.objects.filter(pk=number_or_zero(content_type_id)).first()
    model = kind and kind.model_class()
    screens = admin.site.get_model_admin(model) if model and admin.site.is_registered(model) else None
    if screens is None or not screens.view_on_site or not screens.has_view_permission(request):
        raise Http404
    try:
        return shortcut(request, content_type_id, object_id)
    except ValidationError as error:  # not a key of this model, such as a number for a UUID
        raise Http404 from error
