"""Adds the titles and the summary for search results and shared links to articles and revisions."""

from django.db import migrations, models

from articles.migrations._triggers import with_triggers


def texts(model):
    return [
        migrations.AddField(model, name, models.CharField(label, blank=True, help_text=help_text, max_length=length))
        for name, label, help_text, length in (
            ("search_title", "search title", "In search results. Default: the headline.", 200),
            ("social_title", "social title", "In shared links. Default: the headline.", 200),
            ("social_summary", "social summary", "In shared links. Default: the summary.", 500),
        )
    ]


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0026_article_templates'),
    ]

    operations = with_triggers(*texts("article"), *texts("revision"))
