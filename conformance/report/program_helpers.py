"""What a printed program defines for itself: only what its calls need is put in front of them."""

from __future__ import annotations

from conformance.model.operations import FILLED_AT, Fill, Populate

SHOWN = '''
@contextlib.contextmanager
def shown(call):
    """Print the error of a call that is expected to raise, and go on."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        print(f"call {call}:", repr(error))
'''

SCRIBBLE = '''
def scribble(value):
    """Overwrite what the caller holds, all the way down."""
    if isinstance(value, list):
        for item in value:
            scribble(item)
        value.append({"type": "user/message", "seq": 10**6, "time": 0, "data": "scribbled"})
    elif isinstance(value, dict):
        for key, item in list(value.items()):
            if isinstance(item, dict | list):
                scribble(item)
            else:
                value[key] = "scribbled"
        value["scribbled"] = True
'''

CLIENTS = '''
class Clients:
    """Calls that are in flight at once; each prints what it came to."""

    def __init__(self):
        self.tasks, self.answers = [], {}

    def call(self, client, step, text, function):
        """A call that begins in the next turn of the loop."""
        task = asyncio.create_task(self.made(client, step, text, function))
        self.tasks.append(task)
        return task

    async def made(self, client, step, text, function):
        try:
            answer = await function()
        except (Exception, asyncio.CancelledError) as error:
            answer = error
        self.answers[client, step] = answer
        print(f"client {client}: {text} -> {answer!r}")

    def cancel(self, task, *moments):
        """Cancel a call, each time when so many seconds and turns of the loop have passed."""

        async def cancel():
            for seconds, turns in moments:
                if seconds:
                    await asyncio.sleep(seconds)
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()

        self.tasks.append(asyncio.create_task(cancel()))

    async def run(self, *clients):
        """Return when every call has ended, or was given up because it does not end."""
        clients = [asyncio.create_task(each) for each in clients]
        done, late = await asyncio.wait(clients, timeout=10)
        if self.tasks:
            late |= (await asyncio.wait(self.tasks, timeout=0 if late else 10))[1]
        if late:
            print("something has not ended after 10 s, and is cancelled")
            for task in late:
                task.cancel()
            await asyncio.wait(late, timeout=1)
        for client in done:
            client.result()
'''

FILLER = '''
def filler(seq, width=40):
    """An event that does not compress well, with so many characters of text."""
    text = hashlib.shake_128(str(seq).encode()).hexdigest(-(-width // 2))[:width]
    return {"type": "user/message", "seq": seq, "time": 1_700_000_000_000 + seq, "data": {"text": text}}
'''

COUNTERS = '''
class Counters:
    """What was used since the latest reading: bytes read and written (Linux counts them), and memory at its peak."""

    def __init__(self):
        tracemalloc.start()
        self.read()

    def read(self):
        current, peak = tracemalloc.get_traced_memory()
        used = f"{peak - getattr(self, 'memory', 0):,} bytes of memory at most"
        if Path("/proc/self/io").exists():
            counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
            moved = int(counts["rchar"]) + int(counts["wchar"])
            used = f"{moved - getattr(self, 'moved', 0):,} bytes read and written, {used}"
            self.moved = moved
        tracemalloc.reset_peak()
        self.memory = current
        return used
'''

CONFINE = '''
def confine(room):
    """From here on there is so much more memory than is used now."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
'''


def macro_lines(instance: str, handle: str, operation: Fill | Populate) -> list[str]:
    """The lines that do what a macro stands for, with ``FILLER``."""
    first, count = operation.first, operation.count
    if isinstance(operation, Fill):
        size, width = operation.size, operation.width
        return [
            f"for first in range({first}, {first + count * size}, {size}):",
            f"    await {handle}.append([filler(seq, {width}) for seq in range(first, first + {size})])",
        ]
    return [
        f"for number in range({first}, {first + count}):",
        f'    header = SessionHeader(id=f"crowd-{{number}}", created_at={FILLED_AT})',
        f"    async with await {instance}.create(header) as handle:",
        "        await handle.append([filler(0)])",
    ]


def overwritten_header(name: str, header: str, call: str) -> list[str]:
    """A ``create`` whose caller overwrites afterwards what its header holds; ``{}`` in the call is its place."""
    overwrite = f"scribble([*{name}.extra.values(), {name}.origin, {name}.agent_preset])"
    return [f"{name} = {header}", call.replace("{}", name, 1), overwrite]
