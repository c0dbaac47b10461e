# For type checkers only. They search this directory for the bare name ``planting`` that mutants import, and not the one
# above it, where ``json.py`` lies and would be taken for the module of the standard library.
from tests.mutants.planting import *  # noqa: F403
