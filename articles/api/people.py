"""The API of authors and of the signed-in user."""

from __future__ import annotations

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings

from articles.api.base import NewsroomView
from articles.api.screens import form_errors
from articles.desk.preferences import PreferencesForm
from articles.limits import TIME_LENGTH
from articles.models import Preferences, named
from articles.permissions import allows, lock_account
from articles.workflow import TRANSITIONS, Transition
from scheduling.api.strict import Strict
from scheduling.database import retried


class AuthorSerializer(serializers.Serializer[Any]):
    """A user who may be named as an author or owner."""

    id = serializers.IntegerField(source="pk")
    username = serializers.CharField()
    name = serializers.SerializerMethodField(help_text=_("As readers see it."))

    def get_name(self, user: User) -> str:
        """The display name."""
        return named(user)


@extend_schema_view(list=extend_schema(operation_id="desk_authors_list", summary="Users to choose as author or owner"))
class AuthorViewSet(mixins.ListModelMixin, NewsroomView):
    """The active members of staff."""

    serializer_class = AuthorSerializer
    queryset = User.objects.filter(is_staff=True, is_active=True)
    ordering = ("id",)


class MeSerializer(serializers.Serializer[Any]):
    """The signed-in user, and what a program may do as such."""

    id = serializers.IntegerField(source="pk", read_only=True)
    username = serializers.CharField(read_only=True)
    name = serializers.SerializerMethodField()
    email = serializers.CharField(read_only=True)
    roles = serializers.SerializerMethodField()
    is_superuser = serializers.BooleanField(read_only=True)
    permissions = serializers.SerializerMethodField()
    transitions = serializers.SerializerMethodField(
        help_text=_("What this user may do with articles whose state and author allow it.")
    )
    scopes = serializers.SerializerMethodField(help_text=_("Of the token; null with a session."))
    time_zone = serializers.CharField(help_text=_("Empty: that of the newsroom."))
    language = serializers.CharField(help_text=_("Empty: that of the browser."))

    def get_name(self, user: Any) -> str:
        """The display name."""
        return named(user)

    def get_roles(self, user: Any) -> list[str]:
        """Their names."""
        return sorted(user.groups.values_list("name", flat=True))

    def get_permissions(self, user: Any) -> list[str]:
        """All, by name."""
        return sorted(user.get_all_permissions())

    def get_transitions(self, user: Any) -> list[str]:
        """Those whose permission the user has."""
        return [one.value for one in Transition if allows(TRANSITIONS[one].permission, user)]

    def get_scopes(self, user: Any) -> list[str] | None:
        """The scopes of the token."""
        return getattr(self.context["request"].auth, "scopes", None)


class PreferencesSerializer(Strict):
    """What the signed-in user chooses."""

    time_zone = serializers.CharField(max_length=TIME_LENGTH, required=False, allow_blank=True)
    language = serializers.ChoiceField(settings.LANGUAGES, required=False, allow_blank=True)


class MeView(NewsroomView):
    """The signed-in user."""

    permission_classes = tuple(cast(Any, api_settings.DEFAULT_PERMISSION_CLASSES))
    serializer_class = MeSerializer
    queryset = User.objects.none()
    pagination_class = None
    is_versioned = is_single = True

    @extend_schema(operation_id="desk_me_retrieve", summary="The signed-in user, with roles and allowed transitions")
    def retrieve(self, request: Request) -> Response:
        """Who you are, and what you may do; the `ETag` can be sent as `If-Match` with changes."""
        return self.respond_with(None)

    @extend_schema(
        operation_id="desk_me_partial_update", summary="Choose time zone and language", request=PreferencesSerializer
    )
    def partial_update(self, request: Request) -> Response:
        """For notifications and the admin."""
        values = self.checked(PreferencesSerializer)
        self.if_match(User(pk=request.user.pk), lambda: self._choose(values))
        return self.respond_with(None)

    @retried
    def _choose(self, values: dict[str, Any]) -> None:
        lock_account(self.request.user)
        chosen = self._preferences()
        form = PreferencesForm({"time_zone": chosen.time_zone, "language": chosen.language, **values}, instance=chosen)
        if not form.is_valid():
            raise ValidationError(form_errors(form))
        form.save()

    def _preferences(self) -> Preferences:
        pk = self.request.user.pk
        return Preferences.objects.filter(pk=pk).first() or Preferences(pk=pk)

    def shown(self, pk: Any) -> Any:
        """The signed-in user with the chosen time zone and language."""
        user, chosen = self.request.user, self._preferences()
        user.time_zone, user.language = chosen.time_zone, chosen.language  # type: ignore[union-attr]
        return self.get_serializer(user).data
