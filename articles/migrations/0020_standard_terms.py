"""Renames models, fields, permissions and stored values to the terms of docs/glossary.md."""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import F, Value
from django.db.models.functions import Replace

guard = import_module("articles.migrations.0003_audit_guard")
guard_replace = import_module("articles.migrations.0019_links_and_audit_guard")

TRANSITIONS = {
    "refuse": "reject",
    "move": "reschedule",
    "cancel_schedule": "unschedule",
    "withdraw": "unpublish",
    "restore": "republish",
    "kill": "retract",
    "revive": "undo_retraction",
    "cancel_update": "unschedule_update",
}
ACTIONS = TRANSITIONS | {
    "taken_off": "unpublished",
    "add_person": "add_user",
    "change_person": "change_user",
    "delete_person": "delete_user",
    "change_picture": "change_image",
    "delete_picture": "delete_image",
}
FILTERS = {"=withdrawn": "=unpublished", "=killed": "=retracted", "=newer": "=update"}
MODELS = {"material": "image", "word": "sensitiveword"}
PERMISSIONS = {"kill_article": "retract_article", "edit_any_material": "edit_any_image"} | {
    f"{verb}_{old}": f"{verb}_{new}" for old, new in MODELS.items() for verb in ("add", "change", "delete", "view")
}


def rename_values(apps, schema_editor):
    def rename(model, field, names):
        rows = apps.get_model("articles", model).objects
        for old, new in names.items():
            rows.filter(**{field: old}).update(**{field: new})

    rename("AuditEntry", "action", ACTIONS)
    rename("BulkAction", "transition", TRANSITIONS)
    rename("Notification", "kind", {"refused": "rejected"})
    rename("ReleaseMember", "action", {"withdraw": "unpublish"})
    views = apps.get_model("articles", "SavedView").objects
    for old, new in FILTERS.items():
        views.filter(query__contains=old).update(query=Replace(F("query"), Value(old), Value(new)))
    for chosen in apps.get_model("articles", "NotificationPreference").objects.all():
        chosen.desk, chosen.mail = (
            ["rejected" if kind == "refused" else kind for kind in kinds] for kinds in (chosen.desk, chosen.mail)
        )
        chosen.save()
    for revision in apps.get_model("articles", "Revision").objects.filter(context__has_key="pictures").iterator():
        revision.context["images"] = revision.context.pop("pictures")
        revision.save(update_fields=["context"])


def rename_permissions(apps, schema_editor):
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="articles")
    for old, new in PERMISSIONS.items():
        permissions.filter(codename=old).update(codename=new)


def open_audit_log(apps, schema_editor):
    guard.take_down(apps, schema_editor)
    guard_replace.take_down(apps, schema_editor)


def guard_audit_log(apps, schema_editor):
    guard.put_up(apps, schema_editor)
    guard_replace.put_up(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("articles", "0019_links_and_audit_guard"), ("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.RemoveIndex("WorkingCopy", "working_copy_left"),
        migrations.RemoveIndex("WorkingCopy", "working_copy_age"),
        migrations.RemoveIndex("BatchItem", "batch_item_next"),
        migrations.RemoveIndex("Notice", "notice_inbox"),
        migrations.RemoveConstraint("MaterialUse", "material_use"),
        migrations.RenameModel("Batch", "BulkAction"),
        migrations.RenameModel("BatchItem", "BulkActionItem"),
        migrations.RenameModel("Claim", "SoftLock"),
        migrations.RenameModel("Material", "Image"),
        migrations.RenameModel("MaterialUse", "ImageUse"),
        migrations.RenameModel("Notice", "Notification"),
        migrations.RenameModel("NoticeChoice", "NotificationPreference"),
        migrations.RenameModel("Word", "SensitiveWord"),
        migrations.RenameModel("WordList", "WordListVersion"),
        migrations.RenameModel("WorkingCopy", "Autosave"),
        migrations.RenameField("BulkAction", "person", "user"),
        migrations.RenameField("BulkAction", "step", "transition"),
        migrations.RenameField("BulkActionItem", "batch", "bulk_action"),
        migrations.RenameField("SoftLock", "person", "user"),
        migrations.RenameField("SoftLock", "claimed_at", "locked_at"),
        migrations.RenameField("ImageUse", "material", "image"),
        migrations.RenameField("Notification", "person", "user"),
        migrations.RenameField("NotificationPreference", "person", "user"),
        migrations.RenameField("Autosave", "person", "user"),
        migrations.RenameField("Autosave", "kept_at", "saved_at"),
        migrations.RenameField("Article", "kill_notice", "retraction_notice"),
        migrations.RenameField("AuditEntry", "door", "source"),
        migrations.RenameField("AuditEntry", "facts", "details"),
        migrations.RenameField("CalendarFeed", "person", "user"),
        migrations.RenameField("Preferences", "person", "user"),
        migrations.RenameField("Presence", "person", "user"),
        migrations.RenameField("PreviewLink", "made_at", "created_at"),
        migrations.RenameField("PreviewLink", "made_by", "created_by"),
        migrations.RenameField("Release", "made_by", "created_by"),
        migrations.AddIndex("Autosave", models.Index(fields=["user", "article", "saved_at"], name="autosave_latest")),
        migrations.AddIndex("Autosave", models.Index(fields=["saved_at"], name="autosave_age")),
        migrations.AddIndex(
            "BulkActionItem",
            models.Index(fields=["bulk_action", "state", "article_id"], name="bulk_action_item_next"),
        ),
        migrations.AddIndex(
            "Notification", models.Index(fields=["user", "in_desk", "read_at", "at"], name="notification_inbox")
        ),
        migrations.AddConstraint(
            "ImageUse", models.UniqueConstraint(fields=("image", "article"), name="image_use")
        ),
        migrations.RenameIndex("Image", new_name="image_newest", old_name="material_newest"),
        migrations.RenameIndex("Notification", new_name="notification_article", old_name="notice_article"),
        migrations.AlterModelOptions(
            name='article',
            options={'permissions': [('edit_any_article', 'Can edit the articles of others'), ('review_article', 'Can approve and refuse articles'), ('schedule_article', 'Can schedule articles'), ('publish_article', 'Can publish, withdraw and restore articles'), ('lift_embargo', 'Can set and lift embargoes'), ('retract_article', 'Can kill articles, and revive them')], 'verbose_name': 'article', 'verbose_name_plural': 'articles'},
        ),
        migrations.AlterModelOptions(
            name='image',
            options={'permissions': [('edit_any_image', 'Can change and delete the pictures of others')], 'verbose_name': 'image', 'verbose_name_plural': 'images'},
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='user_name',
            field=models.CharField(blank=True, help_text='Empty: nobody, it was due.', max_length=150, verbose_name='user'),
        ),
        migrations.AlterField(
            model_name='bulkaction',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bulk_actions', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='calendarfeed',
            name='user',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='calendar_feed', serialize=False, to=settings.AUTH_USER_MODEL, verbose_name='user'),
        ),
        migrations.AlterField(
            model_name='image',
            name='favoured_by',
            field=models.ManyToManyField(blank=True, editable=False, related_name='favourite_images', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='image',
            name='uploaded_by',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='images', to=settings.AUTH_USER_MODEL, verbose_name='uploaded by'),
        ),
        migrations.AlterField(
            model_name='imageuse',
            name='article',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='image_uses', to='articles.article'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('rejected', 'Rejected'), ('approved', 'Approved'), ('published', 'Published'), ('failed', 'Failed'), ('overdue', 'Overdue'), ('pulled_back', 'Pulled back'), ('rolled_back', 'Rolled back')], max_length=20, verbose_name='about'),
        ),
        migrations.AlterField(
            model_name='notificationpreference',
            name='user',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='notification_preference', serialize=False, to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='releasemember',
            name='action',
            field=models.CharField(choices=[('publish', 'Publish'), ('update', 'Put the newer text out'), ('unpublish', 'Take off')], max_length=10, verbose_name='what happens'),
        ),
        migrations.AlterField(
            model_name='softlock',
            name='article',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='soft_lock', serialize=False, to='articles.article'),
        ),
        migrations.RunPython(open_audit_log, guard_audit_log, atomic=False),
        migrations.RunPython(rename_values, migrations.RunPython.noop),
        migrations.RunPython(guard_audit_log, open_audit_log, atomic=False),
        migrations.RunPython(rename_permissions, migrations.RunPython.noop),
    ]
