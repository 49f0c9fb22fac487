"""A token for a name and a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.authtoken.models import Token
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import ScopedRateThrottle
from rest_framework.views import APIView

from headline.api.parsers import StrictJSONParser
from scheduling.strict import Strict, refuse_unknown_parameters


class CredentialsSerializer(Strict):
    """A staff member's name and password; every wrong pair gets the same answer."""

    username = serializers.CharField(max_length=150, write_only=True)
    password = serializers.CharField(max_length=128, trim_whitespace=False, write_only=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Add the user. Raises `ValidationError`, which does not say what was wrong."""
        user = authenticate(self.context["request"], **attrs)
        if user is None or not getattr(user, "is_staff", False):
            message = _("No staff member has this name and password.")
            raise serializers.ValidationError(message, code="wrong_credentials")
        return {"user": user}


class TokenSerializer(serializers.ModelSerializer[Token]):
    """The secret for the header `Authorization: Token …`."""

    token = serializers.CharField(source="key", read_only=True)

    class Meta:
        model = Token
        fields = ["token"]


class TokenView(APIView):
    """Gives staff the token with which programs sign in as them. It stays until an administrator deletes it."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (StrictJSONParser, FormParser)  # the latter because `curl -d` sends forms
    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "token"

    @extend_schema(
        operation_id="token_create", tags=["token"], request=CredentialsSerializer, responses=TokenSerializer
    )
    def post(self, request: Request) -> Response:
        """Trade a name and a password for a token."""
        refuse_unknown_parameters(request.query_params, ())
        credentials = CredentialsSerializer(data=request.data, context={"request": request})
        credentials.is_valid(raise_exception=True)
        token, _created = Token.objects.get_or_create(user=credentials.validated_data["user"])
        return Response(TokenSerializer(token).data)
