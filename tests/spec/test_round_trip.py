"""What is written reads back as the very same thing."""

from __future__ import annotations

from hypothesis import given

from ppm.spec.base import Spec
from ppm.spec.consumer import Consumer
from ppm.spec.document import read_document
from ppm.spec.expression.nodes import Node
from ppm.spec.expression.parse import parse
from ppm.spec.expression.text import to_sql
from ppm.spec.pattern import Pattern
from ppm.spec.policy import Policy
from ppm.spec.prior import Prior
from ppm.spec.sequence import parse_sequence, sequence_text
from ppm.spec.values import Distance, Duration, Times
from ppm.spec.write import to_yaml
from tests.spec.expression_strategies import trees
from tests.spec.pattern_strategies import patterns, simple_patterns, times
from tests.spec.strategies import consumers, distances, durations, policies, priors


def read_back(spec: Spec) -> Spec:
    return type(spec).model_validate(read_document(to_yaml(spec), "x.yaml").values)


def is_same(one: Spec, other: Spec) -> bool:
    """Equal, and of the same types throughout: Python has 1 == 1.0 == True."""
    return one == other and repr(one) == repr(other)


@given(patterns())
def test_a_pattern_survives_yaml_and_its_plain_values(pattern: Pattern) -> None:
    assert is_same(read_back(pattern), pattern)
    assert is_same(Pattern.model_validate(pattern.as_plain()), pattern)


@given(policies)
def test_a_policy_survives_yaml(policy: Policy) -> None:
    assert is_same(read_back(policy), policy)


@given(consumers())
def test_a_consumer_survives_yaml(consumer: Consumer) -> None:
    assert is_same(read_back(consumer), consumer)


@given(priors())
def test_a_prior_survives_yaml(prior: Prior) -> None:
    assert is_same(read_back(prior), prior)


@given(simple_patterns())
def test_the_short_form_says_the_same_as_the_stages(pattern: Pattern) -> None:
    plain = pattern.as_plain()
    stages = plain.pop("stages")
    short = Pattern.model_validate(plain | {"sequence": sequence_text(pattern.stages)})
    assert is_same(short, pattern)
    assert parse_sequence(sequence_text(pattern.stages)) == stages
    assert "sequence" in read_document(to_yaml(pattern), "x.yaml").values


@given(trees("a", "leave_home"))
def test_a_condition_survives_sql(tree: Node) -> None:
    assert parse(to_sql(tree)) == tree


@given(durations)
def test_a_duration_survives_writing(duration: Duration) -> None:
    assert Duration.parse(str(duration)) == duration


@given(distances)
def test_a_distance_survives_writing(distance: Distance) -> None:
    assert Distance.parse(str(distance)) == distance


@given(times())
def test_a_number_of_times_survives_writing(often: Times) -> None:
    assert Times.parse(often.written()) == often
