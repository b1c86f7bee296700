"""Retail: orders that can be cancelled or changed while pending, and returned once delivered."""

from random import Random

from envace import config
from envace.episode import Call
from envace.worlds._stories import Domain, Subject, Wish, ids, person, pick, stories, words
from envace.worlds.world import TEXT, WHOLE, Action, Row, State, World, changed, refusal, tool

SYSTEM = (
    "You serve a shop. Only pending orders can be cancelled or changed, only delivered ones "
    "returned. Name the order id in replies. Ask for a missing detail. Only if a tool refuses, say "
    "you cannot and why."
)
REASONS = ("mistake", "late", "price")
ITEMS = words(
    "lamp desk kettle backpack tent keyboard monitor mirror blender rug bicycle helmet camera "
    "printer sofa heater toaster guitar clock jacket suitcase router speaker mattress"
)


class Config(config.Config):
    """It has no parameters."""


def build(config: Config) -> World:
    """The retail world."""
    actions = (
        Action(tool("find_order", "", customer=TEXT, item=TEXT), _find),
        Action(
            tool(
                "cancel_order",
                "Cancels a pending order.",
                order=TEXT,
                reason={"type": "string", "enum": [*REASONS]},
            ),
            _cancel,
        ),
        Action(tool("return_order", "Returns a delivered order.", order=TEXT), _return),
        Action(
            tool("set_quantity", "Changes a pending order.", order=TEXT, quantity=WHOLE),
            _set_quantity,
        ),
    )
    wishes = (_wish_cancel, _wish_return, _wish_quantity)
    return World("retail", SYSTEM, actions, stories(Domain(_rows, _subject, QUESTIONS, wishes)))


def _find(state: State, asked: Row) -> tuple[State, Row]:
    for order, row in state.items():
        if (row["customer"], row["item"]) == (asked["customer"], asked["item"]):
            return state, {"order": order, "status": row["status"]}
    return state, refusal("NOT_FOUND", "No such order.")


def _cancel(state: State, asked: Row) -> tuple[State, Row]:
    order = str(asked["order"])
    if refused := _unless(state, order, "pending"):
        return state, refused
    after = changed(state, order, status="cancelled", reason=asked["reason"])
    return after, {"order": order, "status": "cancelled"}


def _return(state: State, asked: Row) -> tuple[State, Row]:
    order = str(asked["order"])
    if refused := _unless(state, order, "delivered"):
        return state, refused
    return changed(state, order, status="returning"), {"order": order, "status": "returning"}


def _set_quantity(state: State, asked: Row) -> tuple[State, Row]:
    order, quantity = str(asked["order"]), asked["quantity"]
    if refused := _unless(state, order, "pending"):
        return state, refused
    return changed(state, order, quantity=quantity), {"order": order, "quantity": quantity}


def _unless(state: State, order: str, status: str) -> Row | None:
    if order not in state:
        return refusal("NOT_FOUND", f"There is no order {order}.")
    if (now := state[order]["status"]) != status:
        return refusal(f"NOT_{status.upper()}", f"Order {order} is {now}.")
    return None


def _rows(rng: Random) -> State:
    """Six orders of two customers, two in each status."""
    customers = (person(rng), person(rng))
    items = rng.sample(ITEMS, 6)
    statuses = ("pending", "shipped", "delivered") * 2
    keys = ids(rng, "O", 6)
    return {
        key: {
            "customer": rng.choice(customers),
            "item": item,
            "quantity": rng.randint(1, 3),
            "status": status,
        }
        for key, item, status in zip(keys, items, statuses, strict=True)
    }


QUESTIONS = (
    "What is the status of {it}?",
    "Where is {it}?",
    "How is {it} coming along?",
    "Can you check {it}?",
    "Any news about {it}?",
)


def _subject(order: str, state: State) -> Subject:
    row = state[order]
    item, customer, status = (str(row[field]) for field in ("item", "customer", "status"))
    return Subject(
        id=order,
        by_id=f"order {order}",
        by_name=f"my {item} order",
        person=customer,
        find=Call(name="find_order", arguments={"customer": customer, "item": item}),
        told="Order {order} is {status}.",
        facts=((status,),),
    )


def _pick(rng: Random, state: State, *statuses: str) -> Subject:
    keys = [key for key, row in state.items() if row["status"] in statuses]
    return _subject(pick(rng, keys, f"{' or '.join(statuses)} order"), state)


def _wish_cancel(rng: Random, state: State, granted: bool) -> Wish:
    subject = _pick(rng, state, *(("pending",) if granted else ("shipped", "delivered")))
    status = str(state[subject.id]["status"])
    return Wish(
        subject=subject,
        act=Call(
            name="cancel_order",
            arguments={"order": subject.id, "reason": rng.choice(REASONS)},
        ),
        asks=(
            "Please cancel {it}, reason: {reason}.",
            "Cancel {it}. The reason is {reason}.",
            "I want to cancel {it}, the reason is {reason}.",
            "Can you cancel {it}? Reason: {reason}.",
        ),
        done=f"Order {subject.id} is cancelled.",
        fact=subject.id,
        cannot=f"I cannot cancel order {subject.id}: it is {status}.",
        why=(status, "pending"),
        code="NOT_PENDING",
        vague=("Please cancel {it}.", "I want to cancel {it}.", "Can you cancel {it}?"),
        question="What is the reason: mistake, late or price?",
        missing="reason",
    )


def _wish_return(rng: Random, state: State, granted: bool) -> Wish:
    subject = _pick(rng, state, *(("delivered",) if granted else ("pending", "shipped")))
    status = str(state[subject.id]["status"])
    return Wish(
        subject=subject,
        act=Call(name="return_order", arguments={"order": subject.id}),
        asks=(
            "Please return {it}.",
            "I want to return {it}.",
            "Start a return for {it}.",
            "I'd like to send back {it}.",
        ),
        done=f"The return of order {subject.id} has started.",
        fact=subject.id,
        cannot=f"I cannot return order {subject.id}: it is {status}.",
        why=(status, "delivered"),
        code="NOT_DELIVERED",
    )


def _wish_quantity(rng: Random, state: State, granted: bool) -> Wish:
    subject = _pick(rng, state, *(("pending",) if granted else ("shipped", "delivered")))
    status = str(state[subject.id]["status"])
    return Wish(
        subject=subject,
        act=Call(
            name="set_quantity",
            arguments={"order": subject.id, "quantity": rng.randint(4, 30)},
        ),
        asks=(
            "Please change the quantity of {it} to {quantity}.",
            "Make it {quantity} pieces for {it}.",
            "I need {quantity} instead on {it}.",
            "Set {it} to {quantity} pieces.",
        ),
        done=f"Order {subject.id} now has quantity {{quantity}}.",
        fact=subject.id,
        cannot=f"I cannot change order {subject.id}: it is {status}.",
        why=(status, "pending"),
        code="NOT_PENDING",
        vague=("Please change the quantity of {it}.", "I want more pieces on {it}."),
        question="What quantity do you want?",
        missing="quantity",
    )
