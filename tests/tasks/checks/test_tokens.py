from envace.tasks.checks.rules import within_tokens


def test_a_task_at_the_limit_is_kept_and_one_above_is_not(make_task):
    assert within_tokens(make_task(), lambda _: 768, 768) is None
    reason = within_tokens(make_task(), lambda _: 1_843, 768)
    assert reason == "too_long: 1,843 tokens, limit 768"
