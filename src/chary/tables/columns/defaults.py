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
    # A value is frequent only if at least this share of the filled cells has it.
    frequent_share: float = 0.005
    # A value is frequent only if at least this many cells have it. In a column of less than ten
    # times as many cells, a tenth of the cells is enough, but never a single cell.
    frequent_cells: int = 5
    # At most this many values of a column are a category of their own. With 30, columns that name
    # one of 133 people, or a town, were of no use: up to 13 points of accuracy were lost.
    max_categories: int = 150

    # A column is an identifier only if it has at least this many filled cells: fewer may be
    # 1, 2, 3 ... by chance.
    identifier_cells: int = 20
    # Whole numbers with gaps, none of which repeats, are an identifier only if there are at least
    # this many of them.
    unrepeated_cells: int = 200
    # They are an identifier only if as many measured numbers of the same range would have at least
    # this many pairs of equal numbers on average. Measured numbers then have no equal pair once in
    # 20,000 times (exp(-10)).
    equal_pairs: int = 10
    # An identifier is used as present or missing if at least this share of the rows has it, and at
    # least this share lacks it.
    gap_share: float = 0.01
    # An identifier can name groups if each value has at least this many rows on average: smaller
    # groups teach nothing.
    group_rows: int = 2

    # A text column has at least this many topics. Thirty were chosen on twenty tables with up to 27
    # classes.
    min_topics: int = 30
    # A text column has at most this many topics. Many classes need many: on CLINC, with 150 classes
    # and 400 labels, accuracy was 36 % with 30 topics and 56 % with 200.
    max_topics: int = 200
    # Between these two bounds, a text column has this many topics for each class of the target.
    topics_per_class: float = 1.5
    # At most this many n-grams of a text column are used, the most frequent ones.
    max_ngrams: int = 2**14
    # The randomised decomposition makes this many power iterations.
    svd_iterations: int = 4

    # A text says something only if at least this share of its cells has two words or more.
    wordy_share: float = 0.5
    # A text says something only if at least this share of the words of its cells stands in more
    # than one cell.
    repeated_words_share: float = 0.2
    # A text that says nothing is still used if this share of its rows has a value that repeats.
    repeated_values_share: float = 0.2
    # Digits with at most this many different texts around them are numbers in an unknown form.
    # Read as free text, such digits misled learners.
    max_units: int = 3

    # A number that looks like a code, such as 99, may mean "missing" if it is in at least this many
    # times as many cells as any of the ten values next to it. Codes put into 149 columns of whole
    # numbers, 11.5 % of 1,000 cells each: 145 are found with 3, 146 with 2 and 139 with 5, and 104
    # by distance alone. None of them fires on the 624 columns of numbers of the 50 tables, nor on
    # 12,440 draws of 60 to 1,000 of their cells.
    spike_ratio: float = 3.0
    # ... and in at least this many cells. With 3 or 10, about as many are found.
    spike_cells: int = 5


COLUMN_DEFAULTS = ColumnDefaults()


@dataclass(frozen=True)
class Hints:
    """What is known of a column besides its cells."""

    dates: str = ""  # how dates are written if their cells leave it open: "day-first", ...
    n_classes: int = 0  # of the target
    defaults: ColumnDefaults = COLUMN_DEFAULTS


NO_HINTS = Hints()
