import pytest
from pydantic import ValidationError

from envace.episode import (
    Call,
    Episode,
    Group,
    Observation,
    Role,
    Sequence,
    Source,
    Span,
    Step,
    Tool,
    Turn,
)

ASKED = Span(Source.RECORDED, (1, 2))
SAMPLED = Span(Source.SAMPLED, (3, 4, 5), (-0.5, -1.0, -1.5), "v1")
TOLD = Span(Source.TOOL, (6,))
SHOWN = Span(Source.DEMONSTRATED, (7,))
SEQUENCE = Sequence(Role.ACT).extend(ASKED, SAMPLED, TOLD)


def test_a_sequence_is_the_ids_of_its_spans_in_order() -> None:
    assert SEQUENCE.ids == (1, 2, 3, 4, 5, 6)


def test_only_what_was_produced_in_the_place_of_the_policy_is_trained() -> None:
    assert SEQUENCE.trained == (False, False, True, True, True, False)
    assert SEQUENCE.extend(SHOWN).trained[-1]
    assert not any(Sequence(Role.ACT, (Span(Source.TEMPLATE, (1,)), ASKED, TOLD)).trained)


def test_a_token_that_was_not_sampled_has_log_probability_zero() -> None:
    assert SEQUENCE.extend(SHOWN).logprobs == (0, 0, -0.5, -1.0, -1.5, 0, 0)


def test_outputs_are_counted_not_their_tokens() -> None:
    assert SEQUENCE.outputs == 1
    assert SEQUENCE.extend(SAMPLED, SHOWN).outputs == 3


def test_extending_leaves_the_sequence_as_it_was() -> None:
    longer = SEQUENCE.extend(SHOWN)
    assert longer.spans == (*SEQUENCE.spans, SHOWN)
    assert SEQUENCE.spans == (ASKED, SAMPLED, TOLD)
    assert SEQUENCE.extend() == SEQUENCE


@pytest.mark.parametrize(
    ("source", "logprobs"),
    [(Source.SAMPLED, (-1.0,)), (Source.SAMPLED, ()), (Source.TOOL, (-1.0, -1.0))],
)
def test_each_sampled_id_has_one_log_probability_and_no_other_has(
    source: Source, logprobs: tuple[float, ...]
) -> None:
    with pytest.raises(AssertionError, match="one log-prob a sampled id"):
        Span(source, (1, 2), logprobs)


def test_the_turns_of_an_episode_are_in_the_order_they_were_produced() -> None:
    first, last = Turn(Role.ACT, "call"), Turn(Role.ACT, "reply")
    played = Turn(Role.REHEARSE, "result", sequence=Sequence(Role.REHEARSE, (SAMPLED,)))
    refused = Observation({"error": {}}, code="TOOL_NOT_AVAILABLE")
    cut = Turn(Role.REHEARSE, "")
    rounds = (
        (Step(first, (refused, Observation({}, played), Observation({}, cut))),),
        (Step(last),),
    )
    episode = Episode("t", rounds, SEQUENCE)
    assert episode.turns == (first, played, cut, last)
    assert episode.sequences == (SEQUENCE, played.sequence)


def test_a_group_has_one_reward_or_none_an_episode() -> None:
    episode = Episode("t", (), SEQUENCE)
    assert Group("t", (episode, episode), (1.0, None)).rewards == (1.0, None)
    with pytest.raises(AssertionError, match="one reward"):
        Group("t", (episode,), ())


def test_a_record_refuses_what_it_does_not_know_and_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="Extra inputs"):
        Tool.model_validate({"name": "a", "parameters": {}, "strict": True})
    call = Call(name="a", arguments={})
    with pytest.raises(ValidationError, match="frozen"):
        call.__setattr__("name", "b")
