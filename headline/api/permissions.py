"""Permission check of token scopes; the owner's permissions are checked separately."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from headline.api.models import ApiToken

if TYPE_CHECKING:  # importing it loads the default permissions, and so this module
    from rest_framework.views import APIView


class InScope(BasePermission):
    """Requires the scope of the view (`scope`, default: the newsroom) from requests with a token."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Whether it has, or the request comes without a token. Raises `PermissionDenied`, which names the scope."""
        if not isinstance(request.auth, ApiToken):
            return True
        verb = "read" if request.method in SAFE_METHODS else "write"
        wanted = f"{getattr(view, 'scope', 'desk')}:{verb}"
        if wanted not in request.auth.scopes:
            raise PermissionDenied(_("This token does not have the scope “%s”.") % wanted, code="scope_missing")
        return True
