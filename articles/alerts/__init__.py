"""Breaking alerts: set and deleted by who may publish, shown to readers by the clock."""

from articles.alerts.manage import (
    delete_alert as delete_alert,
    may_delete_alert as may_delete_alert,
    save_alert as save_alert,
    sync_open_alerts as sync_open_alerts,
)
