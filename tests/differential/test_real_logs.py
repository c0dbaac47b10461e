"""Real-shaped logs through both JSONL backends: stored in batches of several sizes and read back equal.

The logs lie beside the repository, not in it; where they are absent the tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from conformance.contract import Backend, SessionEvent, SessionHeader
from reference_backend import jsonl, jsonl_raw

FOLDER = Path(__file__).parents[3] / "shared" / "real_logs"
LOGS = sorted(FOLDER.glob("*.v0.jsonl"))

DELTAS = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A root in memory where there is such a place: thousands of synced appends are not what is tested here."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def expanded(row: dict[str, Any]) -> Iterator[SessionEvent]:
    """The events of one stored row: itself, or each member of a packed run of deltas."""
    kind = DELTAS.get(row["type"])
    if kind is None:
        yield row
        return
    data = row["data"]
    members = data["args"] if kind == "tool-call-delta" else data["texts"]
    assert 3 <= len(members) <= 1000
    assert len(data["dt"]) == len(members) - 1
    times = accumulate(data["dt"], initial=row["time0"])
    for number, (member, time) in enumerate(zip(members, times, strict=True)):
        chunk = {"type": kind, "index": data["index"]}
        if kind == "tool-call-delta":
            chunk |= {"id": data["id"]} | ({"name": data["name"]} if "name" in data else {})
            chunk["argumentsDelta"] = member
        else:
            chunk["text"] = member
        yield {
            "type": "assistant/chunk",
            "seq": row["seq0"] + number,
            "time": time,
            "data": {"turn": data["turn"], "step": data["step"], "chunk": chunk},
        }


def load(path: Path) -> tuple[SessionHeader, int | None, list[SessionEvent]]:
    """A log as header, inherited count and events."""
    first, *rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    inherited = first.get("seedLength")
    header = SessionHeader(
        first["id"],
        first["createdAt"],
        cwd=first.get("cwd"),
        parent_session=first.get("parentSession"),
        is_seeded=inherited is not None,
        origin=first.get("origin"),
        delegation_depth=first["delegationDepth"],
        agent_preset=first.get("agentPreset"),
    )
    events = [event for row in rows for event in expanded(row)]
    assert [event["seq"] for event in events] == list(range(len(events)))
    return header, inherited, events


async def stored_and_read(backend: Backend, root: Path, path: Path, size: int) -> None:
    """Append in batches of ``size`` (0: all at once), flush, close; a fresh instance reads the same."""
    header, inherited, events = load(path)
    service = backend.open(root)
    handle = await service.create(header, inherited)
    for first in range(0, len(events), size or max(len(events), 1)):
        await handle.append(events[first : first + (size or len(events))])
    await handle.flush()
    await service.close()
    fresh = backend.open(root)
    reader = await fresh.open(header.id, "read")
    found = await reader.read()
    assert found == events
    assert [json.dumps(event) for event in found] == [json.dumps(event) for event in events]
    assert (reader.header, reader.inherited_event_count) == (header, inherited)
    assert (await fresh.stat(header.id)).event_count == len(events)
    await fresh.close()


@pytest.mark.skipif(not LOGS, reason="the folder of real logs (../shared/real_logs) is not there")
@pytest.mark.parametrize("size", [1, 7, 0], ids=["batches-of-1", "batches-of-7", "all-at-once"])
@pytest.mark.parametrize("backend", [jsonl, jsonl_raw], ids=lambda backend: backend.name)
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name.removesuffix(".v0.jsonl"))
def test_a_real_log_comes_back_equal(backend: Backend, path: Path, size: int, root: Path) -> None:
    """SEQ-01, JSON-01: every event of every real log is read back as it was appended."""
    asyncio.run(stored_and_read(backend, root, path, size))


@pytest.mark.skipif(not LOGS, reason="the folder of real logs (../shared/real_logs) is not there")
def test_the_real_logs_are_the_ones_meant() -> None:
    """Packed rows of several kinds and one log without an event are among them."""
    counts = {path.name: len(load(path)[2]) for path in LOGS}
    assert len(counts) == 14
    assert list(counts.values()).count(0) == 1
    kinds = {json.loads(line)["type"] for path in LOGS for line in path.read_text("utf-8").splitlines()}
    assert kinds & DELTAS.keys()
