"""An editor and a reader who follow a script: what random ones meet too rarely, one step after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.chaos.checker import Verdict
from tests.chaos.faults import KINDS, Scene
from tests.chaos.history import FaultRecord, now
from tests.chaos.newsroom import Editor, Newsroom, Refused, Story, Uncertain, iso, texts
from tests.chaos.proof import account, settle
from tests.chaos.readers import Reader
from tests.harness import Stand, base_dir

_LOOKS = 12  # at a page: more than the processes that may have a copy of it


class Script:
    """Steps of a scenario; each operation is recorded, and may be refused."""

    def __init__(self, newsroom: Newsroom, scene: Scene, seed: int) -> None:
        self.scene = scene
        self.editor = Editor(newsroom, seed, pause=0.0)
        self.reader = Reader(newsroom, seed, pause=0.0)

    def approved(self) -> Story:
        """An article that has passed its review."""
        story = self.editor.create()
        self.editor.submit(story)
        self.editor.approve(story)
        return story

    def scheduled(self, at: float) -> Story:
        """One that goes live at this time."""
        story = self.approved()
        self.schedule(story, at)
        return story

    def live(self) -> Story:
        """One that is published at once."""
        story = self.approved()
        self.editor.publish(story)
        return story

    def schedule(self, story: Story, at: float) -> None:
        """Set its time."""
        with suppress(Refused, Uncertain):
            self.editor.on(story, "schedule", "schedule/", publish_at=iso(at))

    def embargo(self, story: Story, until: float) -> None:
        """Set an embargo."""
        with suppress(Refused, Uncertain):
            self.editor.on(story, "set_embargo", "embargo/", until=iso(until))

    def end(self, story: Story, at: float) -> None:
        """Set the time to be unpublished."""
        values = {"unpublish_at": iso(at)}
        with suppress(Refused, Uncertain):
            self.editor.change(story, values, values, by="chief")

    def update(self, story: Story) -> None:
        """Write another text of a live article, and publish it."""
        number = story.text = story.text + 1
        self.editor.change(story, {"text": number}, texts(story.number, number), by="editor")
        self.editor.submit(story)
        self.editor.approve(story)
        self.editor.publish_update(story)

    def release(self, members: Sequence[Story], at: float) -> None:
        """Schedule a release of these articles."""
        name = f"Release {members[0].number}"
        pk = self.editor.send("create_release", [], "releases/", {"name": name}, release=name)["id"]
        for story in members:
            body = {"article": story.article}
            self.editor.send("joined_release", [story], f"releases/{pk}/members/", body, release=name)
        time_set = {"publish_at": iso(at)}
        self.editor.send("schedule_release", [], f"releases/{pk}/schedule/", time_set, release=name, values=time_set)

    def unschedule(self, story: Story) -> None:
        """Remove its time."""
        with suppress(Refused, Uncertain):
            self.editor.unschedule(story)

    def unpublish(self, story: Story) -> None:
        """Remove it from the site."""
        with suppress(Refused, Uncertain):
            self.editor.unpublish(story)

    def look(self, story: Story, times: int = _LOOKS) -> None:
        """Look at its pages, often enough to see them from all processes."""
        for _ in range(times):
            self.reader.look_at(story)

    @contextmanager
    def fault(self, kind: str) -> Iterator[None]:
        """A fault while the block lasts."""
        began, self.scene.holds = now(), None
        with KINDS[kind].fault(self.scene):
            yield
        self.scene.history.add(FaultRecord(began=began, ended=now(), kind=kind, holds=self.scene.holds))

    def wait_until(self, moment: float) -> None:
        """Return at this time."""
        time.sleep(max(0.0, moment - now()))


Scenario = Callable[[Script], None]


def play(
    stand: Stand,
    directory: Path,
    scenarios: Sequence[Scenario],
    *,
    seed: int = 0,
    source: Path = base_dir,
    settings: str = "{}",
    latest: float | None = None,
    has_cdn: bool = True,
    refreshing: bool = True,
) -> Verdict:
    """The verdict on these scenarios, one after the other, with the code in `source`; see `settle`."""

    def work(newsroom: Newsroom, scene: Scene) -> float:
        script = Script(newsroom, scene, seed)
        for scenario in scenarios:
            scenario(script)
        return settle(scene, refreshing=refreshing)

    verdict, _history = account(
        stand, directory, work, seed=seed, source=source, settings=settings, latest=latest, with_clocks=False,
        has_cdn=has_cdn,
    )  # fmt: skip
    return verdict
