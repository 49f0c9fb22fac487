"""The API of users and roles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.auth.models import Group, Permission, User
from django.utils.translation import get_language, gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from articles.api.fields import InstantField
from articles.api.screens import ScreenViewSet, or_waits
from articles.exceptions import NotAllowed
from articles.limits import EMAIL_LENGTH, MOST_PERMISSIONS, USERNAME_LENGTH
from articles.notifications import choose_language
from headline.accounts.links import invite, is_invited
from headline.accounts.second_factor import has_second_factor, remove_second_factors
from headline.accounts.sessions import end_sessions
from headline.accounts.single_sign_on import unlink
from scheduling.api.bounded_fields import BoundedSlugField
from scheduling.api.strict import EmptyBody, Strict
from scheduling.database import retried


class UserFilterSerializer(serializers.Serializer[Any]):
    """Filters of the users."""

    username = serializers.CharField(
        max_length=USERNAME_LENGTH, required=False, help_text=_("The one with this log-in name.")
    )
    role = serializers.CharField(max_length=USERNAME_LENGTH, required=False, help_text=_("Only users in this role."))
    is_active = serializers.BooleanField(
        required=False, allow_null=True, default=None, help_text=_("Only active or only deactivated users.")
    )


class UserSerializer(Strict, serializers.ModelSerializer[User]):
    """A user of the newsroom."""

    name = serializers.CharField(source="get_full_name", max_length=USERNAME_LENGTH, required=False, allow_blank=True)
    roles = BoundedSlugField(
        source="groups", slug_field="name", queryset=Group.objects.all(), many=True, required=False
    )
    email = serializers.CharField(max_length=EMAIL_LENGTH, required=False, allow_blank=True)  # the form checks it
    last_login = InstantField(read_only=True, allow_null=True)
    is_invited = serializers.SerializerMethodField(help_text=_("Invited, and has set no password yet."))
    has_second_factor = serializers.SerializerMethodField()

    class Meta:
        model = User
        fields = [
            "id", "username", "name", "email", "roles", "is_active", "is_staff", "is_superuser", "last_login",
            "is_invited", "has_second_factor",
        ]  # fmt: skip
        extra_kwargs: ClassVar[dict[str, Any]] = {
            "username": {"required": False, "help_text": _("Of a new user, the email address.")},
            "is_active": {"help_text": _("Clear it instead of deleting: it ends sessions and tokens.")},
        }

    def get_is_invited(self, user: User) -> bool:
        """As the list of users says."""
        return is_invited(user)

    def get_has_second_factor(self, user: User) -> bool:
        """Whether one is set up."""
        return has_second_factor(user)


class InvitationSerializer(serializers.Serializer[Any]):
    """How the invitation reaches the user."""

    link = serializers.CharField(help_text=_("To hand over, if no mail server is set up; else empty: it is mailed."))


@extend_schema_view(
    list=extend_schema(operation_id="desk_users_list", parameters=[UserFilterSerializer], summary="Users"),
    retrieve=extend_schema(operation_id="desk_users_retrieve", summary="One user"),
    partial_update=extend_schema(
        operation_id="desk_users_partial_update",
        summary="Change or deactivate a user",
        responses=or_waits(UserSerializer),
    ),
    destroy=extend_schema(operation_id="desk_users_destroy", summary="Delete a user; articles stay"),
)
class UserViewSet(ScreenViewSet):
    """Users and their roles. A role is given by users who have its permissions."""

    serializer_class = UserSerializer
    filter_class = UserFilterSerializer
    queryset = User.objects.prefetch_related("groups")
    named_in_form = {"groups": "roles"}  # noqa: RUF012
    is_secret = frozenset({"invite"})  # its response has a link to set a password

    def filter_list(self, queryset: Any, filters: dict[str, Any]) -> Any:
        """Filter by name, role and whether they are active."""
        lookups = {"username": "username", "role": "groups__name", "is_active": "is_active"}
        return queryset.filter(**{lookups[name]: value for name, value in filters.items() if value is not None})

    def in_form(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The name is a field of the form alone."""
        plain = super().in_form(values)
        return {"name" if name == "get_full_name" else name: value for name, value in plain.items()}

    @extend_schema(operation_id="desk_users_create", summary="Invite a user")
    def create(self, request: Request) -> Response:
        """With name, address and roles; the invitation is mailed. Without a mail server, `invite` returns its link."""
        return self.respond_with(retried(self._invited)().pk, status.HTTP_201_CREATED)

    def _invited(self) -> Any:
        user: Any = self._save()
        choose_language(user, get_language())
        invite(user, by=self.request.user)
        return user

    @extend_schema(
        operation_id="desk_users_invite", summary="Send the invitation again", request=None,
        responses=InvitationSerializer,
    )  # fmt: skip
    @action(detail=True, methods=["post"])
    def invite(self, request: Request, pk: int) -> Response:
        """By mail, or as a link to hand over."""
        user = self._changeable()
        link = self.if_match(user, lambda: invite(user, by=request.user) if is_invited(user) else "")
        return Response(InvitationSerializer({"link": link}).data)

    @extend_schema(operation_id="desk_users_end_sessions", summary="End all sessions", request=None)
    @action(detail=True, methods=["post"], url_path="end-sessions")
    def end_sessions(self, request: Request, pk: int) -> Response:
        """The user must log in again everywhere."""
        user = self._changeable()
        self.if_match(user, lambda: end_sessions(user))
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_users_remove_second_factors", summary="Remove second factors", request=None)
    @action(detail=True, methods=["post"], url_path="remove-second-factors")
    def remove_second_factors(self, request: Request, pk: int) -> Response:
        """For a user who has lost them; sessions end."""
        user = self._changeable()

        def remove() -> None:
            remove_second_factors(user)
            end_sessions(user)

        self.if_match(user, remove)
        return self.respond_with(pk)

    @extend_schema(operation_id="desk_users_unlink", summary="Unlink single sign-on", request=None)
    @action(detail=True, methods=["post"])
    def unlink(self, request: Request, pk: int) -> Response:
        """The next single sign-on with the user's address links the account again."""
        user = self._changeable()
        self.if_match(user, lambda: unlink(user))
        return self.respond_with(pk)

    def _changeable(self) -> Any:
        """The user, whom the signed-in one may change; the body is empty."""
        self.checked(EmptyBody)
        user = self.get_object()
        if not self.screen.has_change_permission(self.plain_request, user):
            raise NotAllowed
        return user


class PermissionField(BoundedSlugField):
    """A permission by its name, such as `articles.publish_article`."""

    most, max_length = MOST_PERMISSIONS, USERNAME_LENGTH

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="codename", queryset=Permission.objects.select_related("content_type"), **options)

    def to_internal_value(self, data: Any) -> Any:
        """The permission. Raises `ValidationError`."""
        app, _dot, codename = str(data).partition(".")
        try:
            return Permission.objects.get(content_type__app_label=app, codename=codename)
        except (Permission.DoesNotExist, Permission.MultipleObjectsReturned):
            self.fail("does_not_exist", slug_name="name", value=str(data)[:USERNAME_LENGTH])

    def to_representation(self, obj: Any) -> str:
        """With the name of its app."""
        return f"{obj.content_type.app_label}.{obj.codename}"


class RoleSerializer(Strict, serializers.ModelSerializer[Group]):
    """A role and its permissions."""

    permissions = PermissionField(many=True, required=False)

    class Meta:
        model = Group
        fields = ["id", "name", "permissions"]


@extend_schema_view(
    list=extend_schema(operation_id="desk_roles_list", summary="Roles"),
    retrieve=extend_schema(operation_id="desk_roles_retrieve", summary="One role"),
    create=extend_schema(operation_id="desk_roles_create", summary="Add a role"),
    partial_update=extend_schema(operation_id="desk_roles_partial_update", summary="Change a role"),
    destroy=extend_schema(operation_id="desk_roles_destroy", summary="Delete a role"),
)
class RoleViewSet(ScreenViewSet):
    """Groups of users. A permission is granted by users who have it."""

    serializer_class = RoleSerializer
    queryset = Group.objects.prefetch_related("permissions__content_type")
