"""The automatic review of articles: opinions, findings and plug-in services."""

from articles.review.automatic_approval import CHANGE_POLICY, choose_policy
from articles.review.findings import Finding, Opinion, beyond, findings_of, of_findings
from articles.review.images import inspect
from articles.review.pipeline import FAILED, review, review_words, takes_long
from articles.review.second_person import (
    APPROVE_CHANGE,
    PROPOSE_CHANGE,
    REJECT_CHANGE,
    Comparison,
    address_of_subject,
    applies,
    approve_change,
    comparisons,
    deciding_refusal,
    discard_changes,
    needs_second_person,
    propose,
    reject_change,
    set_values,
    version_of_change,
    waits,
)
from articles.review.stages import (
    CHANGE_STAGES,
    StageChoice,
    at_own_stage,
    check_stages,
    choose_stages,
    each_at_own_stage,
    reviewing_groups,
    stages_of,
    with_stage,
)
from articles.review.text import Subject
from articles.review.unreviewed import refuse_sensitive
from articles.review.wordlist import WordProblem, add_words, problem_of, record_words

__all__ = [
    "CHANGE_POLICY",
    "FAILED",
    "CHANGE_STAGES",
    "Finding",
    "Opinion",
    "StageChoice",
    "Subject",
    "WordProblem",
    "add_words",
    "at_own_stage",
    "each_at_own_stage",
    "beyond",
    "check_stages",
    "choose_policy",
    "choose_stages",
    "problem_of",
    "findings_of",
    "inspect",
    "of_findings",
    "record_words",
    "refuse_sensitive",
    "review",
    "review_words",
    "reviewing_groups",
    "stages_of",
    "takes_long",
    "with_stage",
    "APPROVE_CHANGE",
    "Comparison",
    "PROPOSE_CHANGE",
    "REJECT_CHANGE",
    "address_of_subject",
    "applies",
    "approve_change",
    "comparisons",
    "deciding_refusal",
    "discard_changes",
    "needs_second_person",
    "propose",
    "reject_change",
    "set_values",
    "version_of_change",
    "waits",
]
