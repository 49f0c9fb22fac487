"""Review stages, and claims that end when the review page is left."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('articles', "0027_search_and_social_texts"),
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='bulkactionitem',
            name='stage',
            field=models.CharField(blank=True, help_text='The review stage that was shown, for an approval.', max_length=12),
        ),
        migrations.AddField(
            model_name='softlock',
            name='until_left',
            field=models.BooleanField(default=False, help_text='Released when its user leaves the review page.'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('submitted', 'Waiting for review'), ('rejected', 'Rejected'), ('approved', 'Approved'), ('published', 'Published'), ('failed', 'Failed'), ('overdue', 'Overdue'), ('pulled_back', 'Approval revoked'), ('rolled_back', 'Rolled back')], max_length=20, verbose_name='about'),
        ),
        migrations.CreateModel(
            name='ReviewStage',
            fields=[
                ('kind', models.CharField(choices=[('first', 'First review'), ('second', 'Second review'), ('final', 'Final review'), ('proofreading', 'Proofreading')], max_length=12, primary_key=True, serialize=False, verbose_name='stage')),
                ('position', models.PositiveSmallIntegerField(default=1, verbose_name='position')),
                ('name', models.CharField(blank=True, max_length=60, verbose_name='name')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='auth.group', verbose_name='who approves')),
            ],
            options={
                'verbose_name': 'review stage',
                'verbose_name_plural': 'review stages',
                'ordering': ['position'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='StageApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField(help_text='Number of the revision.')),
                ('stage', models.CharField(choices=[('first', 'First review'), ('second', 'Second review'), ('final', 'Final review'), ('proofreading', 'Proofreading')], max_length=12)),
                ('approved_at', models.DateTimeField()),
                ('article', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stage_approvals', to='articles.article')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('article', 'revision', 'stage'), name='one_approval_at_a_stage')],
            },
        ),
    ]
