"""A card is an article or a link, never both; an alert is open while readers may come to see it."""

from django.db import migrations, models


def keep_article(apps, schema_editor):
    """Where a card has both, readers have seen the article."""
    cards = apps.get_model("articles", "Card")._default_manager.using(schema_editor.connection.alias)
    cards.filter(article__isnull=False).exclude(url="").update(url="")


class Migration(migrations.Migration):

    dependencies = [
        ("articles", "0041_article_language"),
    ]

    operations = [
        migrations.AlterField(
            model_name="alert",
            name="is_open",
            field=models.BooleanField(default=True, editable=False, help_text="Whether readers may come to see it."),
        ),
        migrations.RunPython(keep_article, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="card",
            constraint=models.CheckConstraint(
                condition=models.Q(("article", None), ("url", ""), _connector="OR"), name="front_card_is_one"
            ),
        ),
    ]
