from envace.tasks.overlap.exact import content_hash, exact


def test_the_first_of_equal_tasks_is_kept(make_task):
    kept, rejected = exact([make_task(id="a"), make_task(id="b"), make_task(id="c", reply="Ok.")])
    assert [task.id for task in kept] == ["a", "c"]
    assert [(r.source, r.record, r.reason) for r in rejected] == [
        ("worlds", "b", "duplicate_of: a")
    ]


def test_an_id_is_used_once(make_task):
    kept, rejected = exact([make_task(id="a"), make_task(id="a", reply="Ok.")])
    assert len(kept) == 1
    assert rejected[0].reason == "duplicate_id: 'a' names a task with other content"


def test_order_of_keys_and_tools_does_not_matter(make_task):
    one, two = make_task().tools[0], make_task().tools[0].model_copy(update={"name": "z"})
    turned = one.model_copy(update={"parameters": dict(reversed(one.parameters.items()))})
    assert content_hash(make_task(tools=[one, two])) == content_hash(make_task(tools=[two, turned]))


def test_another_argument_is_another_task(make_task):
    call = {"name": "add_event", "arguments": {"title": "Lunch", "day": "2026-03-02", "hour": 13}}
    assert content_hash(make_task()) != content_hash(make_task(call=call))
