"""Proposed changes of texts that readers see, and the notifications about them."""

from django.db import migrations, models


KIND = "proposed"


def add_kind(apps, schema_editor):
    """Show them also to users who have chosen their notifications before."""
    for chosen in apps.get_model("articles", "NotificationPreference").objects.all():
        chosen.desk = [*chosen.desk, KIND]
        chosen.save()


def remove_kind(apps, schema_editor):
    for chosen in apps.get_model("articles", "NotificationPreference").objects.all():
        chosen.desk = [kind for kind in chosen.desk if kind != KIND]
        chosen.mail = [kind for kind in chosen.mail if kind != KIND]
        chosen.save()


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0037_more_names_compared_exactly'),
    ]

    operations = [
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('submitted', 'Waiting for review'), ('rejected', 'Rejected'), ('approved', 'Approved'), ('published', 'Published'), ('failed', 'Failed'), ('overdue', 'Overdue'), ('pulled_back', 'Approval revoked'), ('rolled_back', 'Rolled back'), ('mentioned', 'Mentioned'), ('noted', 'New note'), ('assigned', 'Assigned'), ('proposed', 'Proposed change')], max_length=20, verbose_name='about'),
        ),
        migrations.CreateModel(
            name='ProposedChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subject', models.CharField(choices=[('article', 'Article'), ('channel', 'Channel'), ('tag', 'Tag'), ('image', 'Image'), ('user', 'Author')], max_length=10, verbose_name='kind')),
                ('subject_id', models.CharField(max_length=36)),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('values', models.JSONField(help_text='Field to proposed value.')),
                ('proposed_by', models.JSONField(default=list, help_text='IDs of its writers; none of them may approve.')),
                ('proposed_at', models.DateTimeField(verbose_name='proposed')),
            ],
            options={
                'verbose_name': 'proposed change',
                'verbose_name_plural': 'proposed changes',
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('subject', 'subject_id'), name='proposed_change')],
            },
        ),
        migrations.RunPython(add_kind, remove_kind),
    ]
