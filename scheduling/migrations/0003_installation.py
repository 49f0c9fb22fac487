import uuid

from django.db import migrations, models


def name_it(apps, schema_editor):
    apps.get_model("scheduling", "Installation").objects.get_or_create(pk=1)


class Migration(migrations.Migration):
    dependencies = [
        ("scheduling", "0002_failing_tasks_and_refused_work"),
    ]

    operations = [
        migrations.CreateModel(
            name="Installation",
            fields=[
                ("id", models.SmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("identity", models.UUIDField(default=uuid.uuid4, editable=False)),
            ],
            options={
                "db_table": "scheduling_installation",
                "default_permissions": (),
            },
        ),
        migrations.RunPython(name_it, migrations.RunPython.noop),
    ]
