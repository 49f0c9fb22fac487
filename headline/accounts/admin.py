"""Registers the admin of users and groups, and removes that of django-allauth's models: users see their own."""

from __future__ import annotations

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django.contrib import admin

import headline.accounts.staff  # noqa: F401

for model in (Authenticator, EmailAddress, SocialAccount, SocialApp, SocialToken, UserSession):
    admin.site.unregister(model)
