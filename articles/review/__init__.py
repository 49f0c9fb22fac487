"""The automatic review of articles: opinions, findings and plug-in services."""

from articles.review.automatic_approval import choose_policy as choose_policy, lock_policy as lock_policy
from articles.review.findings import (
    Finding as Finding,
    Opinion as Opinion,
    beyond as beyond,
    findings_of as findings_of,
    of_findings as of_findings,
)
from articles.review.images import hides_something as hides_something, inspect as inspect, pixels_of as pixels_of
from articles.review.pipeline import (
    FAILED as FAILED,
    review as review,
    review_words as review_words,
    takes_long as takes_long,
)
from articles.review.second_person import (
    Comparison as Comparison,
    address_of_subject as address_of_subject,
    applies as applies,
    approve_change as approve_change,
    comparisons as comparisons,
    deciding_refusal as deciding_refusal,
    discard_changes as discard_changes,
    needs_second_person as needs_second_person,
    propose as propose,
    reject_change as reject_change,
    set_values as set_values,
    version_of_change as version_of_change,
    waits as waits,
)
from articles.review.stages import (
    StageChoice as StageChoice,
    at_own_stage as at_own_stage,
    check_stages as check_stages,
    choose_stages as choose_stages,
    each_at_own_stage as each_at_own_stage,
    reviewing_groups as reviewing_groups,
    stages_of as stages_of,
    with_stage as with_stage,
)
from articles.review.text import ReviewSubject as ReviewSubject
from articles.review.unreviewed import refuse_sensitive as refuse_sensitive
from articles.review.wordlist import (
    WordProblem as WordProblem,
    add_words as add_words,
    problem_of as problem_of,
    record_words as record_words,
)
