"""Who answers for a service account: so far, those who have issued its tokens are in the audit log alone."""

from django.db import migrations, models


def fill(apps, schema_editor):
    entries = apps.get_model("articles", "AuditEntry").objects.filter(action="add_token", user_id__isnull=False)
    for account in apps.get_model("headline_api", "ServiceAccount").objects.select_related("user"):
        issuers = entries.filter(at__gte=account.created_at, details__owner=account.user.username)
        account.operators = sorted(set(issuers.values_list("user_id", flat=True)))
        account.save(update_fields=["operators"])


class Migration(migrations.Migration):

    dependencies = [
        ("articles", "0038_proposed_changes"),
        ("headline_api", "0005_service_accounts"),
    ]

    operations = [
        migrations.AddField(
            model_name="serviceaccount",
            name="operators",
            field=models.JSONField(
                db_default=models.Value([], models.JSONField()),
                default=list,
                editable=False,
                help_text="Ids of the users who have issued its tokens; with its creator, they count as one person.",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
