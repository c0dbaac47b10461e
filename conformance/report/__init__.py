"""What a run has to say: its events, and the writers that are folds over them.

``events`` is the closed list; ``summary`` folds them into verdicts, headline and exit code; ``text`` writes for people,
``lines`` for programs; ``cases`` keeps a failure; ``program_text`` prints one as a program that runs. Nothing here
runs a check, reaches a backend or decides which clauses apply.
"""
