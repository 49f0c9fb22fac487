"""The roles of a newsroom as groups."""

from django.contrib.auth.management import create_permissions
from django.db import migrations

from articles.roles import create_roles

APPS = ("articles", "scheduling")


def create_groups(apps, schema_editor):
    # Django makes permissions only after all migrations have run.
    for label in APPS:
        config = apps.get_app_config(label)
        config.models_module = True
        create_permissions(config, apps=apps, using=schema_editor.connection.alias, verbosity=0)
        config.models_module = None
    create_roles(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("articles", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("scheduling", "0001_initial"),
    ]

    operations = [migrations.RunPython(create_groups, migrations.RunPython.noop)]
