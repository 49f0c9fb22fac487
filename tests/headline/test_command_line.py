"""`manage.py` as a program among others."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.harness import base_dir, python


@pytest.mark.cases(1)
@pytest.mark.parametrize("arguments", [["help"], ["diffsettings", "--all"]], ids=["little", "much"])
def test_a_reader_of_the_output_that_ends_early_is_no_error(arguments: list[str]) -> None:
    """Such as `head`; little output is written only at the end."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    environment = {"PATH": os.environ["PATH"], "DJANGO_DEBUG": "on"}
    command = [python, "manage.py", *arguments]
    done = subprocess.run(
        command, env=environment, cwd=base_dir, stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")
