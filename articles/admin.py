"""Registers the admin of `articles.desk`; Django's autodiscovery imports this module."""

from django.contrib import admin

import articles.desk.alerts
import articles.desk.articles.admin
import articles.desk.articles.templates
import articles.desk.audit.admin
import articles.desk.channels
import articles.desk.fronts.admin
import articles.desk.images
import articles.desk.notifications
import articles.desk.preferences
import articles.desk.releases.admin
import articles.desk.review.queue
import articles.desk.sensitive_words
import articles.desk.webhooks  # noqa: F401

admin.site.empty_value_display = "—"  # on every screen alike
