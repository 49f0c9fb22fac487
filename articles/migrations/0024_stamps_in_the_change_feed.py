"""Storing that an article is live is no change for the feed: readers see it by the clock, and the feed does, too."""

from importlib import import_module

from django.db import migrations

feed = import_module("articles.migrations.0017_change_feed")

SAME = ("publish_at", "unpublish_at", "embargo_until", "text_changed_at", "updated_at")


def update_trigger(vendor):
    """The trigger of 0017, except for a stamp.

    That is a statement that sets the status and when it went live, but none of the times that come with another
    change. The texts are not compared for it: at the full hour that would take a third of the time.
    """
    stamp = f"OLD.status IN (4, 8) AND NEW.status = 9 AND {feed.same(vendor, SAME)}"
    is_visible = f"NOT ({feed.same(vendor, feed.OTHERS, feed.TEXTS)})"
    passed = f"(NEW.status IN {feed.PASSED} OR OLD.status IN {feed.PASSED})"
    condition = f"NOT ({stamp}) AND {passed} AND ({is_visible} OR NOT ({feed.same(vendor, feed.SHOWING)}))"
    action = feed.note(vendor, "NEW", is_visible)
    return feed.trigger(vendor, "feed_article_update", "UPDATE", "articles_article", condition, action)


def replace(apps, schema_editor):
    schema_editor.execute("DROP TRIGGER feed_article_update", params=None)
    schema_editor.execute(update_trigger(schema_editor.connection.vendor), params=None)


def restore(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    schema_editor.execute("DROP TRIGGER feed_article_update", params=None)
    schema_editor.execute(next(one for one in feed.triggers(vendor) if " feed_article_update " in one), params=None)


class Migration(migrations.Migration):
    dependencies = [("articles", "0023_names_of_permissions")]

    operations = [migrations.RunPython(replace, restore, atomic=False)]
