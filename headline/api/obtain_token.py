"""API endpoint that issues a token for a user name and password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from articles.limits import LABEL_LENGTH, PASSWORD_LENGTH, USERNAME_LENGTH
from headline.accounts.login_throttle import TooManyAttempts
from headline.accounts.second_factor import needs_second_factor
from headline.api.models import Scope
from headline.api.parsers import StrictJSONParser
from headline.api.tokens import issue
from scheduling.api.bounded_fields import BoundedListField
from scheduling.api.strict import Strict, refuse_unknown_parameters


class Locked(APIException):
    """Too many log-in attempts."""

    status_code = 429
    default_code = "throttled"

    def __init__(self, refusal: TooManyAttempts) -> None:
        super().__init__(refusal.messages[0])
        self.wait = refusal.wait  # DRF's `Retry-After` header


class CredentialsSerializer(Strict):
    """A staff member's name and password; every wrong pair gets the same error."""

    username = serializers.CharField(max_length=USERNAME_LENGTH, write_only=True)
    password = serializers.CharField(max_length=PASSWORD_LENGTH, trim_whitespace=False, write_only=True)
    name = serializers.CharField(
        max_length=LABEL_LENGTH,
        default="API",
        write_only=True,
        help_text=_("What the token is called in the newsroom's list."),
    )
    scopes = BoundedListField(
        child=serializers.ChoiceField(Scope.choices),
        allow_empty=False,
        max_length=len(Scope),
        default=sorted(Scope),
        write_only=True,
        help_text=_("What it may be used for; everything, if left out."),
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Add the user. Raises `ValidationError`, which does not say what was wrong, and `Locked`."""
        try:
            user = authenticate(self.context["request"], username=attrs["username"], password=attrs["password"])
        except TooManyAttempts as refusal:
            raise Locked(refusal) from refusal
        if user is None or not getattr(user, "is_staff", False):
            message = _("No staff member has this name and password.")
            raise serializers.ValidationError(message, code="wrong_credentials")
        if needs_second_factor(user):
            message = _(
                "This account signs in with a second factor. Issue a token in the newsroom, under My API tokens."
            )
            raise serializers.ValidationError(message, code="second_factor")
        return {"user": user, "name": attrs["name"], "scopes": attrs["scopes"]}


class TokenSerializer(serializers.Serializer[Any]):
    """The secret for the header `Authorization: Bearer …`."""

    token = serializers.CharField(read_only=True)
    expires_at = serializers.DateTimeField(read_only=True)


class TokenView(APIView):
    """Issues a token with which programs act as the user. It is shown once, and revoked when the password changes."""

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (StrictJSONParser, FormParser)  # the latter because `curl -d` sends forms

    @extend_schema(
        operation_id="token_create",
        tags=["token"],
        request={"application/json": CredentialsSerializer},  # of two kinds, a generator of clients forgets an import
        responses=TokenSerializer,
    )
    def post(self, request: Request) -> Response:
        """Issue a token for a name and a password."""
        refuse_unknown_parameters(request.query_params, ())
        credentials = CredentialsSerializer(data=request.data, context={"request": request})
        credentials.is_valid(raise_exception=True)
        values = credentials.validated_data
        token, secret = issue(values["user"], by=values["user"], name=values["name"], scopes=values["scopes"])
        return Response(TokenSerializer({"token": secret, "expires_at": token.expires_at}).data)
