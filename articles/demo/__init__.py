"""The demo newsroom: the newspaper of the fictional city of Lanhai, in English and Chinese."""

from articles.demo.create import (
    ORIGIN as ORIGIN,
    found as found,
    going_live as going_live,
    going_out as going_out,
    is_empty as is_empty,
    is_password as is_password,
    members as members,
    renew_missed as renew_missed,
)
