"""Numbers of the column kinds that were chosen by experiment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ColumnDefaults:
    """Numbers chosen by experiment; a study can replace any of them."""

    # A column holds numbers, dates or times if at least this share of its filled cells reads so;
    # its other cells count as missing.
    readable_share: float = 0.98

    # A column is categorical if its frequent values cover at least this share of its filled cells.
    covered_share: float = 0.5
    # A value is frequent if at least this share of the filled cells has it, and at least this
    # many cells (fewer in columns of less than ten times as many cells, but never less than 2).
    frequent_share: float = 0.005
    frequent_cells: int = 5
    # Most values that are a category of their own. With 30, the number of one of 133 people, or a
    # town, said nothing: up to 13 points of accuracy lost.
    max_categories: int = 150

    # Fewest cells that can show that a column is an identifier: fewer may count by coincidence.
    identifier_cells: int = 20
    # Fewest whole numbers that name rows because none of them repeats.
    unrepeated_cells: int = 200
    # Pairs of equal numbers to be expected if the numbers were measured. That there is none then
    # happens once in 20,000 times (exp(-10)).
    equal_pairs: int = 10
    # Smallest share of the rows that have an identifier, and that lack it, for its gaps to be used.
    gap_share: float = 0.01
    # Fewest rows per value of an identifier that names groups: smaller groups teach nothing.
    group_rows: int = 2

    # Topics of a text, this many for each class within these bounds. Thirty were chosen on twenty
    # tables with up to 27 classes. To tell more classes apart takes more: of 150 intents of CLINC,
    # with 400 labels, 36 % were right with 30 topics and 56 % with 200.
    min_topics: int = 30
    max_topics: int = 200
    topics_per_class: float = 1.5
    # Most n-grams of a text column that are used, the most frequent ones.
    max_ngrams: int = 2**14
    # Power iterations of the randomised decomposition.
    svd_iterations: int = 4

    # A text says something if at least this share of its cells has two words or more ...
    wordy_share: float = 0.5
    # ... and at least this share of these words stands in more than one cell.
    repeated_words_share: float = 0.2
    # A text that says nothing is still used if this share of its rows has a value that repeats.
    repeated_values_share: float = 0.2
    # Digits with at most this many different texts around them are numbers in an unknown form.
    # Read as free text, such digits misled learners.
    max_units: int = 3


COLUMN_DEFAULTS = ColumnDefaults()


@dataclass(frozen=True)
class Hints:
    """What is known of a column besides its cells."""

    dates: str = ""  # how dates are written if their cells leave it open: "day-first", ...
    n_classes: int = 0  # of the target
    defaults: ColumnDefaults = COLUMN_DEFAULTS


NO_HINTS = Hints()
