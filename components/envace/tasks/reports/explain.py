"""What a reason's code means, in words for whoever reads the report."""

CODES = {
    # What a source says of a record that it cannot read.
    "bad_json": "It is not plain, bounded JSON.",
    "not_an_object": "It is no JSON object.",
    "unreadable": "The file is damaged at this place.",
    "bad_record": "A field has a value of the wrong type.",
    "bad_messages": "Its messages are no list of objects.",
    "bad_tools": "Its tools are no list.",
    "bad_tool": "A tool is no function with a name.",
    "no_tools": "It names no tools.",
    "bad_call": "A call has no name, or is no object.",
    "bad_arguments": "The arguments of a call are no JSON object.",
    "late_system": "The instructions change in mid-conversation.",
    "unknown_role": "A message has a role that is none of a conversation.",
    "not_text": "A message holds something other than text.",
    "missing_result": "A call has no result.",
    "unmatched_result": "A result answers no call.",
    "no_call": "The recorded solution calls no tool.",
    "failed_call": "A call of the recorded solution failed.",
    "failed_assertion": "After the recorded solution the world is not as it should be.",
    "bad_trace": "It does not have the form of an MLflow trace.",
    "failed_trace": "The trace did not end well.",
    "no_chat": "No span of the trace is a chat.",
    "fault": "Our server marked the output as faulty.",
    "failed_episode": "The recorded agent did not reach the goal.",
    # What the rules check.
    "not_finite": "A number in it is NaN or infinite.",
    "duplicate_tool": "A tool is offered twice.",
    "invalid_schema": "The schema of a tool cannot be used.",
    "not_unicode": "A text holds half of a character.",
    "too_many": "It has more tools, user messages or calls than are allowed.",
    "role_order": "The roles do not take turns as they must.",
    "tool_order": "A result does not answer the call before it.",
    "empty_message": "A message neither says nor calls anything.",
    "unfinished": "The conversation ends before its last reply.",
    "too_large": "A message is larger than is allowed.",
    "unbalanced_think": "A think tag is not closed, or stands where none belongs.",
    "tool_text": "A visible reply holds a call or a result as text.",
    "control_tokens": "A text holds a control token of a chat template.",
    "bad_result": "A tool result is not a bounded JSON object or array.",
    "unknown_tool": "A call goes to a tool that is not offered.",
    "invalid_arguments": "The arguments of a call break the tool's schema.",
    "repeated_call": "It makes the same call again and again.",
    "checklists": "Its checklist does not hold: weights, ids or dependences.",
    # What curation decides.
    "language": "It is in a language that is not among those to keep.",
    "too_long": "Its longest training sequence has more tokens than max_tokens.",
    "duplicate_of": "It equals an earlier task.",
    "duplicate_id": "An earlier task with other content has its id.",
    "near_duplicate_of": "It nearly equals an earlier task.",
    "contaminated": "It is, or nearly is, an item of a benchmark.",
    "mixed_families": "It calls tools of both sides of the split.",
    "held_out_tool": "It needs a tool that is held out for validation.",
}


def explain(code: str) -> str:
    """A sentence on the reason `code`; for one of a source's own it points at the samples."""
    return CODES.get(code, "Each sample says what was found.")
