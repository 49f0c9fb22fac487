"""The readers' addresses."""

from __future__ import annotations

from django.urls import path

from articles.site import previews, views
from articles.site.media import media

urlpatterns = [
    path("", views.home, name="home"),
    path("latest/", views.latest, name="latest"),
    path("channel/<str:slug>/", views.channel, name="channel"),
    path("channel/<str:slug>/latest/", views.latest, name="channel-latest"),
    path("media/<uuid:pk>/<str:name>", media, name="media"),
    path("preview/<str:token>/", previews.by_link, name="preview"),
    path("article/<int:pk>/<str:slug>/", views.article, name="article"),
]
