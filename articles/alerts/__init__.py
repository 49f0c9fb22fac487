"""Breaking alerts: set and deleted by who may publish, shown to readers by the clock."""

from articles.alerts.manage import (
    close_past_alerts as close_past_alerts,
    delete_alert as delete_alert,
    save_alert as save_alert,
)
