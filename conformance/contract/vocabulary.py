"""The event types this build knows, and the rule for those it does not (FMT-02, FMT-03)."""

from __future__ import annotations

from typing import Any

KNOWN_EVENT_TYPES = frozenset(
    """
    agent-preset/selected agent/inbox/spliced approval/asked approval/decided approval/policy assistant/chunk
    assistant/message command/done command/run compaction/end compaction/prune compaction/start compaction/summary
    feedback/record goal/change hook/invoked hook/result llm/retry llm/retry-started permission/preset plan/mode
    request/context request/header sandbox/mode schedule/change session/end-seed session/entry session/title
    session/title-llm-request step/end step/start subagent/descriptor team/member team/message/delivered
    team/message/queued team/task todo/write tool-workflow/agent-end tool-workflow/agent-start tool-workflow/run-end
    tool-workflow/run-start tool/call tool/code-dispatch tool/code-dispatch-start tool/result turn/end turn/start
    user/message
    """.split()
)


def is_understood(event: dict[str, Any]) -> bool:
    """Whether this build may store and serve the event: a known type, or one marked ``ignorable: true``."""
    return event["type"] in KNOWN_EVENT_TYPES or event.get("ignorable") is True
