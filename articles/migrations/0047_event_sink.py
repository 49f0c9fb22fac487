"""How far the sink of events has got."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0046_webhooks'),
    ]

    operations = [
        migrations.CreateModel(
            name='EventSink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(default='sink', max_length=20, unique=True)),
                ('position', models.BigIntegerField(default=0)),
                ('leased_until', models.DateTimeField(null=True)),
                ('lease_token', models.CharField(blank=True, max_length=36)),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
