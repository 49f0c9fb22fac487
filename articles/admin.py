"""Django looks for screens here; they live in `articles.desk`."""

from django.contrib import admin

from articles.desk import article, audit, channel, material, notices, people, preferences, queue, release, word

__all__ = ["article", "audit", "channel", "material", "notices", "people", "preferences", "queue", "release", "word"]

admin.site.empty_value_display = "—"  # on every screen alike
