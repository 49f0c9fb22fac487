"""The time of last change that readers are told: so far that of any change, so that nothing jumps for them."""

from django.db import migrations, models
from django.db.models import F, Max, Min

AT_ONCE = 10_000  # ids whose rows are locked at the same time: the newsroom may be at work


def fill(apps, schema_editor):
    articles = apps.get_model("articles", "Article").objects.order_by()
    first, last = articles.aggregate(first=Min("pk"), last=Max("pk")).values()
    for start in range(first or 0, (last or 0) + 1, AT_ONCE):
        articles.filter(pk__gte=start, pk__lt=start + AT_ONCE).update(text_changed_at=F("updated_at"))


class Migration(migrations.Migration):
    dependencies = [("articles", "0014_taggings")]

    operations = [
        migrations.AddField(
            model_name="article",
            name="text_changed_at",
            field=models.DateTimeField(
                editable=False,
                help_text="May be before it goes live; empty: not since then.",
                null=True,
                verbose_name="last change of what readers see",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, atomic=False),
        migrations.AddIndex(
            model_name="article",
            index=models.Index(fields=["text_changed_at"], name="article_text_changed"),
        ),
    ]
