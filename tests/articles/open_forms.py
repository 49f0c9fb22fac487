"""What a browser sends of a form that is open."""

from __future__ import annotations

from html.parser import HTMLParser


class _Form(HTMLParser):
    """Collects the fields of one form of a page."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.sent: dict[str, list[str]] = {}
        self._form_id, self._is_within, self._select, self._area = form_id, False, "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._is_within = at.get("id") == self._form_id
        elif tag == "select":
            self._select = at["name"]
        elif tag == "textarea":
            self._area = at.get("name", "")
            self._add(self._area, "")
        elif tag == "option" and "selected" in at:
            self._add(self._select, at["value"])
        elif tag == "input" and (at.get("type") not in ("checkbox", "radio") or "checked" in at):
            self._add(at.get("name", ""), at.get("value", "on" if at.get("type") == "checkbox" else ""))

    def handle_data(self, data: str) -> None:
        if self._area in self.sent:
            self.sent[self._area][-1] = (self.sent[self._area][-1] + data).removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""

    def _add(self, name: str, value: str) -> None:
        if self._is_within and name and not name.startswith("_"):
            self.sent.setdefault(name, []).append(value)


def sent_by(page: str, form_id: str) -> dict[str, list[str]]:
    """The fields of this form as they are sent if nothing is typed."""
    form = _Form(form_id)
    form.feed(page)
    return form.sent
