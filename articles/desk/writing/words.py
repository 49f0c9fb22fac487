"""The texts of the rich-text editor, for which its package has no translation of its own."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

EDITOR_WORDS = {
    "toolbar": _("Formatting"),
    "toolbarHelp": _("Escape leads to the formatting buttons, the arrow keys move between them."),
    "paragraph": _("Paragraph"),
    "heading2": _("Heading"),
    "heading3": _("Smaller heading"),
    "heading4": _("Smallest heading"),
    "bold": _("Bold"),
    "italic": _("Italic"),
    "underline": _("Underlined"),
    "strike": _("Struck through"),
    "subscript": _("Subscript"),
    "superscript": _("Superscript"),
    "bulletList": _("List"),
    "orderedList": _("Numbered list"),
    "blockquote": _("Quote"),
    "horizontalRule": _("Line across"),
    "figure": _("Picture"),
    "link": _("Link"),
    "unlink": _("Take the link away"),
    "embed": _("Video from another site"),
    "table": _("Table"),
    "table:addColumnAfter": _("Add a column"),
    "table:deleteColumn": _("Delete the column"),
    "table:addRowAfter": _("Add a row"),
    "table:deleteRow": _("Delete the row"),
    "table:mergeCells": _("Merge the cells"),
    "table:splitCell": _("Split the cell"),
    "table:toggleHeaderCell": _("Heading cell"),
    "table:deleteTable": _("Delete the table"),
    "history:undo": _("Undo"),
    "history:redo": _("Redo"),
    "Edit Link": _("Link"),
    "URL": _("Address"),
    "Title": _("Title"),
    "Update": _("Apply"),
    "Insert": _("Insert"),
    "Cancel": _("Cancel"),
    "Insert Figure": _("Insert a picture"),
    "Edit Figure": _("Change the picture"),
    "Edit Image": _("Change the picture"),
    "Image URL": _("Address of the picture"),
    "Alternative Text": _("Description, for those who cannot see it"),
    "Caption": _("Caption"),
    "Add caption": _("Add a caption"),
    "Remove caption": _("Remove the caption"),
    "kept": _("Kept as it is:"),
    "embedTitle": _("Video from another site"),
    "embedAddress": _("Address of the video's page"),
    "embedShown": _("Readers see a player:"),
}
"""Name of a button, or the package's English text, to what people read."""

SCREEN_WORDS = {
    "counted": _("Words: {words} · reading time: about {minutes} min"),
    "length": _("{length} of about {good} characters"),
    "long": _("rather long: lists and search engines may cut it"),
    "full": _("as long as it can be"),
}
"""What the scripts around the editor say."""
