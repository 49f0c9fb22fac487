from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('scheduling', '0005_worker_metrics'),
    ]

    operations = [
        migrations.AddField(
            model_name='workerheartbeat',
            name='stopped_at',
            field=models.DateTimeField(blank=True, null=True, verbose_name='stopped'),
        ),
        migrations.AlterField(
            model_name='taskinfolog',
            name='executed_at',
            field=models.DateTimeField(blank=True, help_text='When its effect was committed, measured after the commit; without a lateness, shortly before it.', null=True, verbose_name='executed'),
        ),
        migrations.AlterField(
            model_name='taskinfolog',
            name='lateness',
            field=models.DurationField(blank=True, help_text='Executed minus due, or minus promised if that was later. Empty if the worker died between the commit and this measurement.', null=True, verbose_name='lateness'),
        ),
    ]
