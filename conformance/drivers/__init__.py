"""How a backend is reached: found by name, opened, and driven operation by operation.

This package knows asyncio and the registry. It does not judge answers, and it never imports the reference backend
except by the registry's dotted paths.
"""
