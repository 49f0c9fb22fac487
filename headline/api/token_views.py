"""REST API of tokens and service accounts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth.models import Group, User
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from articles.api.base import NewsroomView
from articles.exceptions import NotAllowed
from articles.limits import LABEL_LENGTH, TOKEN_DAYS, USERNAME_LENGTH
from headline.api.models import ApiToken, Scope, ServiceAccount
from headline.api.service_accounts import (
    ADD_USER,
    CHANGE_USER,
    change_service_account,
    create_service_account,
    may_issue_for,
)
from headline.api.tokens import issue, revoke
from scheduling.api.bounded_fields import BoundedListField, BoundedSlugField
from scheduling.api.strict import Strict
from scheduling.database import read_database_clock


class IssuedTokenSerializer(serializers.ModelSerializer[ApiToken]):
    """A token without its secret."""

    owner = serializers.CharField(source="user.username", read_only=True, help_text=_("As whom a program acts."))
    scopes = serializers.ListField(child=serializers.ChoiceField(Scope.choices), read_only=True)
    last_used_at = serializers.DateTimeField(
        read_only=True, allow_null=True, help_text=_("To within minutes; null if it was never used.")
    )

    class Meta:
        model = ApiToken
        fields = ["id", "name", "owner", "scopes", "created_at", "expires_at", "last_used_at"]
        read_only_fields = fields


class NewSecretSerializer(IssuedTokenSerializer):
    """A new token with its secret, which is shown once."""

    token = serializers.CharField(read_only=True, help_text=_("The secret; it is not stored and never shown again."))

    class Meta(IssuedTokenSerializer.Meta):
        fields = [*IssuedTokenSerializer.Meta.fields, "token"]
        read_only_fields = fields


class NewTokenSerializer(Strict):
    """A token to issue."""

    name = serializers.CharField(
        max_length=LABEL_LENGTH, help_text=_("What the token is called in the newsroom's list.")
    )
    scopes = BoundedListField(child=serializers.ChoiceField(Scope.choices), allow_empty=False, max_length=len(Scope))
    days = serializers.IntegerField(min_value=1, max_value=TOKEN_DAYS, default=90, help_text=_("How long it is valid."))
    owner = BoundedSlugField(
        slug_field="username", queryset=User.objects.filter(is_active=True, is_staff=True), required=False,
        help_text=_("A service account that you may change; left out, you."),
    )  # fmt: skip


@extend_schema_view(
    list=extend_schema(operation_id="desk_tokens_list", summary="API tokens: your own, or all if you may see them"),
    retrieve=extend_schema(operation_id="desk_tokens_retrieve", summary="One API token"),
)
class ApiTokenViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """API tokens, whose secrets are shown once."""

    permission_classes = tuple(cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES))
    serializer_class = IssuedTokenSerializer
    queryset = ApiToken.objects.select_related("user")
    lookup_value_converter = "int"
    ordering = ("-id",)
    is_secret = True

    def get_queryset(self) -> QuerySet[ApiToken]:
        """The user's own tokens, or all."""
        tokens: QuerySet[ApiToken] = super().get_queryset()
        may_see_all = self.request.user.has_perm("headline_api.view_apitoken")
        return tokens if may_see_all else tokens.filter(user=self.request.user.pk)

    @extend_schema(
        operation_id="desk_tokens_create", summary="Issue a token", request=NewTokenSerializer,
        responses={201: NewSecretSerializer},
    )  # fmt: skip
    def create(self, request: Request) -> Response:
        """A token issued with a token has no more scopes and ends no later than that one."""
        values = self.checked(NewTokenSerializer)
        owner: Any = values.get("owner", request.user)
        if not may_issue_for(owner, request.user):
            raise NotAllowed
        expires_at = _checked_end(
            request.auth, values["scopes"], read_database_clock() + timedelta(days=values["days"])
        )
        token, secret = issue(
            owner, by=request.user, name=values["name"], scopes=set(values["scopes"]), expires_at=expires_at
        )
        token.token = secret  # type: ignore[attr-defined]
        return Response(NewSecretSerializer(token).data, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_tokens_destroy", summary="Revoke a token")
    def destroy(self, request: Request, pk: int) -> Response:
        """An own token, or any with the permission to."""
        token = self.get_object()
        if token.user_id != request.user.pk and not request.user.has_perm("headline_api.delete_apitoken"):
            raise NotAllowed
        revoke(token, by=request.user)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _checked_end(used: Any, scopes: list[str], end: datetime) -> datetime:
    """When the new token ends. Raises `ValidationError` for scopes that the token used for the request lacks."""
    if not isinstance(used, ApiToken):
        return end
    if not set(scopes) <= set(used.scopes):
        text = _("A token cannot issue one with more scopes than its own.")
        raise ValidationError({"scopes": [text]}, code="scope_missing")
    return min(end, used.expires_at)


class ServiceAccountSerializer(Strict, serializers.ModelSerializer[ServiceAccount]):
    """A program that acts by tokens."""

    id = serializers.IntegerField(source="pk", read_only=True)
    name = serializers.CharField(
        source="user.username", max_length=USERNAME_LENGTH, validators=[UnicodeUsernameValidator()]
    )
    roles = BoundedSlugField(
        source="user.groups", slug_field="name", queryset=Group.objects.all(), many=True, allow_empty=False
    )
    is_active = serializers.BooleanField(
        source="user.is_active", required=False, help_text=_("Deactivating it ends its tokens.")
    )
    created_by = serializers.StringRelatedField[Any](read_only=True, allow_null=True)

    class Meta:
        model = ServiceAccount
        fields = ["id", "name", "purpose", "roles", "is_active", "created_by", "created_at"]


@extend_schema_view(
    list=extend_schema(operation_id="desk_service_accounts_list", summary="Service accounts"),
    retrieve=extend_schema(operation_id="desk_service_accounts_retrieve", summary="One service account"),
)
class ServiceAccountViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, NewsroomView):
    """Users that are programs: they have roles and tokens, but no password."""

    read_permissions = ("auth.view_user", ADD_USER, CHANGE_USER)
    serializer_class = ServiceAccountSerializer
    queryset = ServiceAccount.objects.select_related("user", "created_by").prefetch_related("user__groups")
    lookup_value_converter = "int"
    ordering = ("pk",)
    is_versioned = True

    def get_object(self) -> ServiceAccount:
        """The account. Raises `NotFound` also for numbers beyond SQLite's, which Django compares only in plain keys."""
        try:
            return cast(ServiceAccount, super().get_object())
        except OverflowError as error:
            raise NotFound from error

    def retrieve(self, request: Request, pk: int) -> Response:
        """The account; its `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(self.get_object().pk)

    @extend_schema(operation_id="desk_service_accounts_create", summary="Create a service account")
    def create(self, request: Request) -> Response:
        """With roles that you have."""
        values = self._values()
        account = create_service_account(
            name=values["user"]["username"], purpose=values.get("purpose", ""), roles=values["user"]["groups"],
            by=request.user,
        )  # fmt: skip
        return self.respond_with(account.pk, status.HTTP_201_CREATED)

    @extend_schema(operation_id="desk_service_accounts_partial_update", summary="Change a service account")
    def partial_update(self, request: Request, pk: int) -> Response:
        """Its purpose, its roles, and whether it is active. Its name stays."""
        account = self.get_object()
        values = self._values(account)
        changes = {
            "purpose": values.get("purpose"),
            "roles": values.get("user", {}).get("groups"),
            "is_active": values.get("user", {}).get("is_active"),
        }
        self.if_match(account, lambda: change_service_account(account, by=request.user, **changes))
        return self.respond_with(pk)

    def _values(self, account: ServiceAccount | None = None) -> dict[str, Any]:
        form = self.get_serializer(account, data=self.request.data, partial=account is not None)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)
