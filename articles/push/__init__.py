"""Web push: breaking alerts on phones and desktops of readers who want them, once their article is published."""

from articles.push.dispatch import send_pushes as send_pushes, wake_pushes as wake_pushes
from articles.push.keys import WrongKey as WrongKey, new_key as new_key, public_key as public_key
from articles.push.plan import (
    PushPlan as PushPlan,
    PushRefused as PushRefused,
    is_quiet as is_quiet,
    plan_of as plan_of,
    push_now as push_now,
)
from articles.push.retention import prune_pushes as prune_pushes
from articles.push.subscriptions import (
    BREAKING as BREAKING,
    GivenSubscription as GivenSubscription,
    SubscriptionRefused as SubscriptionRefused,
    reach as reach,
    subscribe as subscribe,
    topics_of as topics_of,
)
