"""Pictures, where they are used, and articles' covers; the roles learn what they may do with them."""

from importlib import import_module

import django.core.validators
import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

create_groups = import_module("articles.migrations.0002_roles").create_groups


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0005_saved_views'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='article',
            name='cover',
            field=models.JSONField(blank=True, default=list, help_text='Ids, also of those the text decides on.', verbose_name='pictures of the cover'),
        ),
        migrations.AddField(
            model_name='article',
            name='cover_mode',
            field=models.CharField(choices=[('none', 'None'), ('one', 'One picture'), ('three', 'Three pictures'), ('auto', 'Automatic, from the pictures in the text')], default='auto', max_length=5, verbose_name='cover'),
        ),
        migrations.AddField(
            model_name='revision',
            name='cover',
            field=models.JSONField(blank=True, default=list, help_text='Ids, also of those the text decides on.', verbose_name='pictures of the cover'),
        ),
        migrations.AddField(
            model_name='revision',
            name='cover_mode',
            field=models.CharField(choices=[('none', 'None'), ('one', 'One picture'), ('three', 'Three pictures'), ('auto', 'Automatic, from the pictures in the text')], default='auto', max_length=5, verbose_name='cover'),
        ),
        migrations.CreateModel(
            name='Material',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('digest', models.CharField(editable=False, help_text='Of the file as it was sent.', max_length=64, unique=True)),
                ('file', models.FileField(editable=False, help_text='The picture in full, without its metadata.', upload_to='', verbose_name='file')),
                ('format', models.CharField(editable=False, max_length=5, verbose_name='format')),
                ('width', models.PositiveIntegerField(editable=False, verbose_name='width')),
                ('height', models.PositiveIntegerField(editable=False, verbose_name='height')),
                ('size', models.PositiveIntegerField(editable=False, help_text='Bytes.', verbose_name='size')),
                ('widths', models.JSONField(default=list, editable=False, help_text='Of the resized versions, in pixels.')),
                ('title', models.CharField(help_text='For the newsroom: how it is found again.', max_length=200, verbose_name='title')),
                ('alt', models.CharField(blank=True, help_text='What is to be seen, for those who do not see it. Needed before the picture can be used.', max_length=500, verbose_name='description')),
                ('caption', models.CharField(blank=True, help_text='For readers, below it.', max_length=1000, verbose_name='caption')),
                ('credit', models.CharField(blank=True, help_text='Who made it, who owns it.', max_length=200, verbose_name='credit')),
                ('focus_x', models.PositiveSmallIntegerField(default=50, help_text='Per cent.', validators=[django.core.validators.MaxValueValidator(100)], verbose_name='focal point from the left')),
                ('focus_y', models.PositiveSmallIntegerField(default=50, help_text='Per cent.', validators=[django.core.validators.MaxValueValidator(100)], verbose_name='focal point from the top')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='uploaded')),
                ('favoured_by', models.ManyToManyField(blank=True, editable=False, related_name='favourite_materials', to=settings.AUTH_USER_MODEL)),
                ('uploaded_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='materials', to=settings.AUTH_USER_MODEL, verbose_name='uploaded by')),
            ],
            options={
                'verbose_name': 'picture',
                'verbose_name_plural': 'pictures',
                'permissions': [('edit_any_material', 'Can change and delete the pictures of others')],
            },
        ),
        migrations.CreateModel(
            name='MaterialUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('article', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='material_uses', to='articles.article')),
                ('material', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='articles.material')),
            ],
            options={
                'verbose_name': 'use of a picture',
                'verbose_name_plural': 'uses of pictures',
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='material',
            index=models.Index(fields=['created_at', 'id'], name='material_newest'),
        ),
        migrations.AddConstraint(
            model_name='materialuse',
            constraint=models.UniqueConstraint(fields=('material', 'article'), name='material_use'),
        ),
        migrations.RunPython(create_groups, migrations.RunPython.noop),
    ]
