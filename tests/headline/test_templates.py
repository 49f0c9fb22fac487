"""Templates are readable."""

from __future__ import annotations

import subprocess

from tests.harness import base_dir

MOST = 200


def test_no_line_of_a_template_is_too_long_to_read() -> None:
    listed = subprocess.run(["git", "ls-files", "*.html"], cwd=base_dir, capture_output=True, text=True, check=True)
    long = [
        f"{path}:{number}"
        for path in listed.stdout.split()
        for number, line in enumerate((base_dir / path).read_text(encoding="utf-8").splitlines(), start=1)
        if len(line) > MOST
    ]
    assert long == []
