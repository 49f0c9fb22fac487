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
    ]
