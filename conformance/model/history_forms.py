"""Histories as JSON: every event has a form from which it is read back equal."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from conformance.contract import SessionHeader
from conformance.model.history import (
    Cancelled,
    Completion,
    CrashView,
    DamageView,
    ErrorView,
    Event,
    FaultView,
    FloodView,
    HandleView,
    Hung,
    Invocation,
    LeftView,
    Odd,
    Outcome,
    Raised,
    Returned,
    Skipped,
    SnapshotView,
    Value,
    WarningsView,
)
from conformance.model.operations import header_form, operation_from_json
from conformance.model.tree import TreeView
from conformance.model.usage import Usage
from conformance.model.values import decode, encode_seen


def event_to_json(event: Event) -> dict[str, Any]:
    """One event of a history as JSON."""
    if isinstance(event, Invocation):
        form = {
            "event": "invoke",
            "call": event.call,
            "client": event.client,
            "at": event.at,
            "operation": event.operation.to_json(),
        }
    else:
        form = {"event": "complete", "call": event.call, "at": event.at, "outcome": outcome_to_json(event.outcome)}
        if event.faults:
            form["faults"] = [asdict(each) for each in event.faults]
        if event.client:
            form["client"] = event.client
    return {**form, "step": event.step} if event.step else form


def event_from_json(form: dict[str, Any]) -> Event:
    """The inverse of ``event_to_json``."""
    if form["event"] == "invoke":
        operation = operation_from_json(form["operation"])
        return Invocation(form["call"], operation, form["client"], form["at"], form.get("step", 0))
    faults = tuple(FaultView(**each) for each in form.get("faults", ()))
    outcome = outcome_from_json(form["outcome"])
    return Completion(form["call"], outcome, form["at"], faults, form.get("client", 0), form.get("step", 0))


def outcome_to_json(outcome: Outcome) -> dict[str, Any]:
    """One outcome as JSON."""
    match outcome:
        case Returned(value):
            return {"returned": _value_to_json(value)}
        case Raised(error):
            return {"raised": _error_to_json(error)}
        case Hung(detail):
            return {"hung": detail}
        case Skipped():
            return {"skipped": True}
        case Cancelled():
            return {"cancelled": True}


def outcome_from_json(form: dict[str, Any]) -> Outcome:
    """The inverse of ``outcome_to_json``."""
    if "returned" in form:
        return Returned(_value_from_json(form["returned"]))
    if "raised" in form:
        return Raised(_error_from_json(form["raised"]))
    if "hung" in form:
        return Hung(form["hung"])
    return Cancelled() if "cancelled" in form else Skipped()


def _error_to_json(error: ErrorView) -> dict[str, Any]:
    return asdict(error)


def _error_from_json(form: dict[str, Any]) -> ErrorView:
    members = tuple(_error_from_json(member) for member in form["members"])
    return ErrorView(**{**form, "members": members, "notes": tuple(form["notes"])})


def _header_value(value: Any) -> Any:
    if isinstance(value, SessionHeader):
        return {"header": header_form(value, encode_seen)}
    return {"odd": value if isinstance(value, str) else f"{value!r:.200}"}


def _header_back(form: dict[str, Any]) -> Any:
    if "header" in form:
        return SessionHeader(**{key: decode(item) for key, item in form["header"].items()})
    return form["odd"]


def _value_to_json(value: Value) -> Any:
    match value:
        case HandleView(id, header, access, inherited):
            return {
                "handle": {
                    "id": encode_seen(id),
                    "header": _header_value(header),
                    "access": encode_seen(access),
                    "inherited": encode_seen(inherited),
                }
            }
        case SnapshotView():
            return {
                "snapshot": {
                    "header": _header_value(value.header),
                    "revision": value.revision,
                    "event_count": encode_seen(value.event_count),
                    "size_bytes": encode_seen(value.size_bytes),
                    "artifact_size": value.artifact_size,
                }
            }
        case Odd(text):
            return {"odd": text}
        case TreeView():
            return {"tree": value.to_json()}
        case Usage():
            return {"usage": value.to_json()}
        case CrashView(lost_calls, lines):
            return {"crash": {"lost_calls": list(lost_calls), "lines": [encode_seen(line) for line in lines]}}
        case LeftView():
            return {"left": {key: list(names) for key, names in asdict(value).items()}}
        case FloodView():
            return {"flood": asdict(value)}
        case WarningsView(messages):
            return {"warnings": [encode_seen(message) for message in messages]}
        case DamageView():
            return {"damage": {**asdict(value), "path": encode_seen(value.path)}}
        case list():
            if value and isinstance(value[0], SnapshotView | Odd):
                return {"snapshots": [_value_to_json(item) for item in value]}
            return {"list": encode_seen(value)}
        case None:
            return None


def _value_from_json(form: Any) -> Value:
    if form is None:
        return None
    if "handle" in form:
        found = form["handle"]
        return HandleView(
            decode(found["id"]),
            _header_back(found["header"]),
            decode(found["access"]),
            decode(found["inherited"]),
        )
    if "snapshot" in form:
        found = form["snapshot"]
        return SnapshotView(
            _header_back(found["header"]),
            found["revision"],
            decode(found["event_count"]),
            decode(found["size_bytes"]),
            found["artifact_size"],
        )
    if "odd" in form:
        return Odd(form["odd"])
    if "tree" in form:
        return TreeView.from_json(form["tree"])
    if "usage" in form:
        return Usage.from_json(form["usage"])
    if "crash" in form:
        found = form["crash"]
        return CrashView(tuple(found["lost_calls"]), tuple(decode(line) for line in found["lines"]))
    if "left" in form:
        return LeftView(**{key: tuple(names) for key, names in form["left"].items()})
    if "flood" in form:
        return FloodView(**form["flood"])
    if "warnings" in form:
        return WarningsView(tuple(decode(message) for message in form["warnings"]))
    if "damage" in form:
        found = {**form["damage"], "path": decode(form["damage"]["path"])}
        return DamageView(**{**found, "edges": tuple((call, size) for call, size in found["edges"])})
    if "snapshots" in form:
        return [_value_from_json(item) for item in form["snapshots"]]
    values: list[Any] = decode(form["list"])
    return values
