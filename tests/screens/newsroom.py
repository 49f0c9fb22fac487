"""The demo newsroom with data on every page, so that none is tested empty."""

from __future__ import annotations

from datetime import timedelta
from io import BytesIO
from uuid import uuid4

from django.contrib.auth.models import User
from django.core.files.base import ContentFile
from django.utils import timezone
from PIL import Image as PillowImage, ImageOps

from articles import alerts, fronts, images, publishing, releases
from articles.demo.create import found
from articles.demo.images import painted
from articles.models import (
    Article,
    Channel,
    Delivery,
    Endpoint,
    Event,
    Image,
    Notification,
    SavedView,
    SensitiveWord,
)
from articles.publishing import bulk
from articles.review import propose
from articles.workflow import Transition
from headline.api.models import ServiceAccount
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat

Status = Article.Status
PASSWORD = "headline"


def fill() -> User:
    """Fill an empty database; returns the administrator."""
    found(password=PASSWORD)
    admin = User.objects.get(username="admin")
    _trouble()
    _history(admin)
    _retracted(admin)
    _own(admin)
    _proposed(admin)
    SensitiveWord.objects.create(text="miracle cure", level=SensitiveWord.Level.BLOCK)
    SavedView.objects.create(owner=admin, name="City, this week", query="channel=1&stage=scheduled")
    for article in Article.objects.filter(status=Status.REJECTED):
        Notification.objects.create(
            user=admin, kind=Notification.Kind.REJECTED, article=article, article_title=article.title, at=timezone.now()
        )
    _bulk_actions(admin)
    _releases(admin)
    _front(admin)
    _unused_image(admin)
    _outside(admin)
    User.objects.create_user("wren@example.org", "wren@example.org", first_name="Wren Hale", is_staff=True)
    return admin


def _outside(admin: User) -> None:
    """What the world hears: a breaking alert, a webhook with a delivery in each state, a shared page; a program."""
    article = Article.objects.filter(status=Status.PUBLISHED).order_by("pk")[0]
    alerts.save_alert(article.pk, {"text": "Bridge closed after a collision", "lasts": timedelta(hours=1)}, by=admin)
    now = timezone.now()
    endpoint = Endpoint.objects.create(url="https://search.example.org/hook", description="Search", owner=admin)
    for number, state in enumerate(Delivery.State):
        event = Event.objects.create(
            kind=Event.Kind.PUBLISHED, object_id=article.pk, revision=100 + number, happened_at=now
        )
        is_sent = state in (Delivery.State.DELIVERED, Delivery.State.FAILED)
        sent = {"sent_at": now, "code": 200 + 300 * number, "ms": 30, "kind": event.kind} if is_sent else {}
        endpoint.deliveries.create(event=event, object_id=article.pk, state=state, due_at=now, **sent)
    at, lasts = now + timedelta(hours=3), timedelta(days=3)
    publishing.share_page("/en/", at=at, lasts=lasts, by=admin, note="The printer")
    account = User.objects.create_user("archive", is_staff=True)
    ServiceAccount.objects.create(user=account, purpose="Copies articles to the archive.", created_by=admin)


def _unused_image(admin: User) -> None:
    file = BytesIO()
    ImageOps.mirror(PillowImage.open(BytesIO(painted("port")))).save(file, "JPEG")
    images.upload(ContentFile(file.getvalue(), "port.jpg"), by=admin, alt="Cranes at dusk", title="The port, mirrored")


def _front(admin: User) -> None:
    """A scheduled version of the English front, and a draft like it with an article that has no time yet."""
    front = fronts.open_front(language="en", by=admin)
    version = fronts.start_draft(front, by=admin)
    fronts.schedule_version(version, live_from=timezone.now() + timedelta(hours=20), by=admin)
    draft = fronts.start_draft(front, like=version, by=admin)
    article = Article.objects.filter(status=Status.DRAFT).order_by("pk")[0]
    place = {"uuid": uuid4(), "block": draft.blocks.earliest("position").uuid}
    added = fronts.Operation(op=fronts.OperationKind.ADD_CARD, values={"article": article.pk}, **place)
    fronts.edit_draft(draft, [added], base=0, by=admin)


def _trouble() -> None:
    """An overdue article, one at risk, a failed task, a punctual day and a live worker."""
    now = read_database_clock()
    first, second = Article.objects.filter(status=Status.MANUAL_REVIEW).order_by("pk")[:2]
    Article.objects.filter(pk=first.pk).update(publish_at=now - timedelta(minutes=40))
    Article.objects.filter(pk=second.pk).update(publish_at=now + timedelta(hours=3))
    logs = TaskInfoLog.objects.filter(task_type="articles.publish").order_by("execute_time")
    for number, log in enumerate(logs[:6]):
        late = timedelta(milliseconds=[4, 7, 3, 85, 12, 1300][number])
        ran = now - timedelta(hours=3 * number, minutes=10)
        TaskInfoLog.objects.filter(pk=log.pk).update(
            status=TaskInfoLog.Status.EXECUTED, executed_at=ran, updated_at=ran, lateness=late
        )
    failed = logs.last()
    assert failed is not None
    error = "Traceback …\nOSError: [Errno 28] No space left on device"
    TaskInfoLog.objects.filter(pk=failed.pk).update(status=TaskInfoLog.Status.FAILED, error=error, updated_at=now)
    TaskInfo.objects.filter(pk=failed.pk).delete()
    alive = now + timedelta(hours=1)  # as long as it takes to look at all screens
    WorkerHeartbeat.objects.create(
        name="newsroom-1:4711", started_at=now, seen_at=alive, task_types=["articles.publish"]
    )


def _history(admin: User) -> None:
    article = Article.objects.filter(status=Status.PUBLISHED).order_by("pk")[0]
    publishing.edit(article, by=admin, changes={"summary": f"{article.summary} (Updated.)"}, note="The figure was old.")


def _retracted(admin: User) -> None:
    """A retracted article."""
    now = read_database_clock()
    values = {"status": Status.PUBLISHED, "publish_at": now - timedelta(days=2), "published_at": now, "author": admin}
    article = Article.objects.create(title="The mayor resigns", **values)
    publishing.retract(article, by=admin, notice="This report was wrong: nobody has resigned.")


def _own(admin: User) -> None:
    """An article that waits for a reviewer, and only the administrator is there: the rule can be overridden."""
    article = Article.objects.create(title="The archive moves on Sunday", author=admin)
    publishing.submit(article, by=admin)


def _proposed(admin: User) -> None:
    """Changes that wait for another person, one of them the administrator's own."""
    other = User.objects.exclude(pk=admin.pk).order_by("pk")[0]
    channel, image = Channel.objects.order_by("pk")[0], Image.objects.order_by("pk")[0]
    propose(channel, {"description": "关于这座城市的一切"}, name=channel.name, by=other)
    propose(image, {"alt": "黎明时分的吊车", "focus_x": 30}, name=image.title, by=admin)


def _bulk_actions(admin: User) -> None:
    articles = Article.objects.filter(status__in=(Status.DRAFT, Status.PUBLISHED)).order_by("pk")
    chosen = list(articles.values_list("pk", "title")[:12])
    waiting = Article.objects.filter(status=Status.MANUAL_REVIEW).order_by("pk")
    bulk.gather_articles(Transition.APPROVE, list(waiting.values_list("pk", "title")), by=admin)
    bulk_action = bulk.gather_articles(Transition.SUBMIT, chosen, by=admin)
    bulk.start_bulk_action(bulk_action)
    while bulk.advance_bulk_action(bulk_action.pk):
        pass
    going_on = bulk.gather_articles(Transition.UNPUBLISH, chosen, by=admin)
    bulk.start_bulk_action(going_on)
    bulk.gather_articles(Transition.SCHEDULE, chosen, by=admin)


def _releases(admin: User) -> None:
    """A scheduled release with a blocking issue, and a published one."""
    ready, draft = (
        Article.objects.filter(status=status, memberships__isnull=True).order_by("-pk")[0]
        for status in (Status.APPROVED, Status.DRAFT)
    )
    waiting = releases.create_release(name="Budget day, 11 o’clock", by=admin)
    for article in (ready, draft):
        releases.add_member(waiting, article=article, by=admin)
    releases.schedule_release(waiting, publish_at=timezone.now().replace(microsecond=0) + timedelta(hours=20), by=admin)
    out = releases.create_release(name="Elections", by=admin)
    result = Article.objects.create(title="The count is in", status=Status.APPROVED, author=admin)
    releases.add_member(out, article=result, by=admin)
    releases.publish_release_now(out, by=admin)
