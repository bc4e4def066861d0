"""Attacks a policy from outside: lower bounds on the epsilon that a consumer really sees."""

from ppm.audit.assertion import Sample, assert_private, one_by_one
from ppm.audit.canaries import CanaryBound, canary_bound, guess, p_value, score_guesses
from ppm.audit.channel import Loss, exact_delta, exact_loss
from ppm.audit.features import Feature
from ppm.audit.one_run import one_run_bound
from ppm.audit.symbols import Outputs
from ppm.audit.worlds import Bound, lower_bound

__all__ = [
    "Bound",
    "CanaryBound",
    "Feature",
    "Loss",
    "Outputs",
    "Sample",
    "assert_private",
    "canary_bound",
    "exact_delta",
    "exact_loss",
    "guess",
    "lower_bound",
    "one_by_one",
    "one_run_bound",
    "p_value",
    "score_guesses",
]
