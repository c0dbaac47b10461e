"""The catalogue's data, one module for each group of areas, in the order of the contract.

Each module gives ``AREAS`` (area -> title) and ``CLAUSES`` (a tuple, in order). Nothing here decides anything.
"""
