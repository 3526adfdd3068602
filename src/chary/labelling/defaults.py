"""List the numbers chosen by experiment, with the results behind them.

The rules that use them are in ``chary.labelling.rules``; docs/explanation/defaults.md tells the
story. Stored results are named by file, below ``benchmarks/results`` unless another folder is
named; a figure without a file is from the commit that chose the number. "50 tables" are the real
tables of ``rivals.txt``. Most figures were measured while the members of the mixture were weighed
by their held-out log loss, which gained nothing and was dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

from chary.method.mixture import MIXTURE_DEFAULTS, MixtureDefaults
from chary.tables.columns import COLUMN_DEFAULTS, ColumnDefaults

# These rules can be switched off. They stand in the order in which they are asked.
RULES = (
    "leave_out_columns_empty_elsewhere",
    "leave_out_columns_beyond_labels",
    "leave_out_useless_texts",
    "boost_many_labels",
    "lean_to_commonest_class",
    "hand_over_to_network",
    "find_guess_column",
    "self_train_if_clearly_better",
)


@dataclass(frozen=True)
class Defaults:
    """Numbers chosen by experiment; a study can replace any of them.

    Examples
    --------
    >>> from dataclasses import replace
    >>> no_lean = replace(DEFAULTS, switched_off=frozenset({"lean_to_commonest_class"}))
    >>> no_lean.is_on("lean_to_commonest_class"), no_lean.is_on("boost_many_labels")
    (False, True)
    """

    # ------------------------------------------------ are the labels biased?

    # A difference between labelled and unlabelled rows is called a bias if its p-value is at most
    # this. A convention, not measured again since the diagnosis began.
    significance: float = 0.01
    # The bias is strong if labelled rows can be told from the others with at least this AUC. Not
    # measured again since the diagnosis began.
    strong_auc: float = 0.75
    # The p-value comes from this many permutations of the labels, and is therefore at least 0.001.
    # A convention.
    n_permutations: int = 999
    # One of the kernels that tell labelled rows from others uses this many principal components. No
    # stored result.
    kernel_components: int = 10
    # The limit of "near a label" is averaged over this many random draws. No stored result.
    coverage_draws: int = 10
    # At most this many labelled rows, and as many unlabelled rows, are compared; a bound of cost.
    compared_rows: int = 600

    # ------------------------------------------------ labels that may be slips

    # A label may be a slip for another one if it has at most this share of the other one's rows.
    # Draws of 200 cells from 209 columns of words of both collections of tables (44 of them
    # targets): with 0.5 three labels of three columns are asked about, one of them a slip indeed,
    # and none of a target; with 1 four, with 0.25 only the slip. By difflib's ratio of 0.75, which
    # answers of audits were compared by before, it is 158 labels of 34 columns, and by 0.8 105 of
    # 24.
    slip_share: float = 0.5

    # ------------------------------------------------ leave_out_columns_empty_elsewhere

    # A column is left out only if at most this share of its cells in unlabelled rows is filled.
    # Given a column with a reason in nine of ten labelled rows of the rarest class, leaving it out
    # gained 5.2 ± 1.5 points of accuracy and 9.6 ± 1.5 of balanced accuracy on 28 draws. If 1 % of
    # the other rows, all of that class, have a reason, it gained 4.5 ± 1.7 and 6.8 ± 1.8; with 2 %
    # 3.0 ± 1.5 and 3.3 ± 1.8; with 5 % 0.2 ± 1.4 and -4.5 ± 2.6. Six shares were tried.
    empty_share: float = 0.01
    # A column is left out only if its cells in labelled rows are filled at least this many times as
    # often. No other value was tried; on 438 draws of the 50 tables the rule acts in two, and both
    # gain (0.5 and 6.2 points).
    times_as_filled: float = 10.0

    # ------------------------------------------------ leave_out_columns_beyond_labels

    # A column is suspect if a tree on it alone puts at least this share of the other rows into
    # leaves without a label. With this and the next two numbers columns are left out in 14 of 438
    # draws of the 50 tables, and accuracy rises by 6.3 ± 3.4 points, from -4.3 to 27.7
    # (studies/results/defaults/report.md). Other values have no stored result.
    beyond_share: float = 0.8
    # Suspect columns are left out if the predicted class shares then come nearer to those of the
    # labels by at least this (total variation).
    nearer_shares: float = 0.03
    # Suspect columns stay if the log loss of held-out labels without them is above this many times
    # the loss with them: a column that decides the labels is never left out. Other values have no
    # stored result.
    max_loss_ratio: float = 2.0
    # A leaf of the tree on one column has at least as many rows as hold this many labels on
    # average. No stored result.
    labels_per_leaf: int = 5
    # The tree and the class shares are computed on at most this many rows without a label; a bound
    # of cost.
    coverage_rows: int = 2_000
    # The mixture that predicts these class shares has this many randomised trees. With 30, the gain
    # in distance on the table of the notebook tutorial was 0.015 to 0.111 over five seeds; with
    # 100, 0.048 to 0.068.
    share_trees: int = 100

    # ------------------------------------------------ leave_out_useless_texts

    # Texts are left out if the log loss of held-out labels without them is below this share of the
    # loss with them. On 70 draws with texts beside other columns: +0.77 points over keeping texts,
    # worst draw -2.3. With a share of 1.0, which is any lower loss: +0.73 points, worst draw -14.9.
    # Three shares and four limits for the standard error of the difference were tried. In 438 draws
    # of the 50 tables texts are left out of 23: 2.5 ± 1.9 points, from -4.4 to 9.9
    # (studies/results/defaults/report.md).
    text_loss_ratio: float = 0.9
    # The quick model that gives these losses has this many trees. No stored result.
    quick_trees: int = 40
    # The quick model is given at most this many unlabelled rows besides the labelled ones; a bound
    # of cost.
    quick_rows: int = 500

    # ------------------------------------------------ boost_many_labels

    # With more labels than this, boosting learns alone: the mixture costs more, the more labels
    # there are, and gains less. Not measured again since boosting joined the mixture.
    max_mixture_labels: int = 20_000

    # ------------------------------------------------ lean_to_commonest_class

    # If a model is worse than always naming the commonest class, this many times the logarithm of
    # the class shares is added to its scores. Before, the amount was fitted to held-out labels (5
    # or 10 in each of the 41 of 310 draws that lean). With 2 their mean accuracy is the same (-0.02
    # points), and four of the eight draws furthest below the median rival come within 3 points of
    # it. Also tried: caps of 0.5, 1, 1.5 and 3, half, the square root, and no lean.
    lean: float = 2.0
    # It leans only if chance would make it look so much worse less often than this (McNemar's exact
    # test, one-sided). Of 438 draws of the 50 tables, 15 are below 0.1: a lean gains 3.4 points in
    # them (worst -0.8). Six are between that and 0.2: it loses 0.9 (worst -6.2). On other
    # unlabelled rows of the same draws it would have gained 1.4 in six between the two; so 0.1 is
    # the safer limit, not the better one. Of 41 draws of another run in which the model looked
    # worse at all, it gained 3.9 ± 0.6 in the 13 below 0.1, and lost 0.5 (worst -24.7) in those
    # above 0.2.
    lean_p: float = 0.1

    # ------------------------------------------------ hand_over_to_network

    # Labels are too easy if the mixture predicts held-out ones with a log loss (nats) below this.
    # On forty draws of the demo's table the paper's method is 17 points ahead of the mixture in the
    # 11 in which the rule acts, and as good in the others; 0.05 chooses the same draws, and 0.15
    # one more. On the paper's sets with biased labels it is 24 points ahead in the nine of 39 draws
    # in which the rule acts, and 4 behind in the others (too_easy.txt).
    too_easy_loss: float = 0.1
    # The mixture can have collapsed only if at least this share of rows would have to change class
    # for its predictions to have the class shares of the labels, and as many to have those of
    # predictions for held-out labels. Set together with the next number.
    collapse_distance: float = 0.4
    # The mixture has collapsed if, besides, the entropy of its class shares is at most this share
    # of the entropy of each of those two. On the paper's 13 data sets with biased labels: 77.3 %
    # with both conditions, 72.4 by the mixture alone, 75.0 by the network alone
    # (studies/results/tables-paper/report.md). Both numbers were set by looking at these sets and
    # at biased draws of real tables.
    collapse_entropy: float = 0.9
    # The class shares of at most this many unlabelled rows are compared; a bound of cost.
    collapse_rows: int = 20_000
    # The network learns only if its class shares are nearer to those of the labels than the
    # mixture's by at least this (total variation). Without this condition the rule lost 0.7 ± 0.5
    # points on fresh draws of the paper's 13 sets with biased labels; with it, it gained 0.5 ± 0.2.
    # With 0.1 it acts on the same draws of the demo's table.
    network_nearer_shares: float = 0.05
    # The network learns from its own labels in this many rounds; other learners have none, because
    # on real tables they gain nothing from their own labels
    # (studies/results/real-tables/report.md). Each round goes on from the weights of the round
    # before. The labels are those of five rounds, and T-similarity is still honest: its mean was
    # 84.5 where 80.7 % were right, and 97.9 after a third round.
    network_rounds: int = 2
    # In round t the network accepts t times this share of the rows left then (``Curriculum``).
    # Over five rounds from fresh weights 74.7 % with biased labels, 71.2 without self-training
    # (studies/results/table-ssb/report.md).
    network_step: float = 0.4

    # ------------------------------------------------ find_guess_column

    # A column guesses the label if it fulfils the next four conditions.
    # In labelled rows, at least this share of its cells is filled.
    min_filled_share: float = 0.5
    # Of the filled cells, at least this share is a class of the target; not all, because few labels
    # may lack a class.
    min_class_share: float = 0.8
    # Cohen's kappa of guesses and labels is at least this (measured with the next number).
    min_kappa: float = 0.4
    # Chance gives such an agreement with a probability below this in any of the columns tested. Two
    # balanced classes, 30 labels and a column that is right in 78 % give a kappa of 0.56 and a
    # probability of 0.003. Of 423 draws of 30 to 300 labels from the 50 tables, two have a column
    # by chance so much like the target; with a kappa of 0.3 and whatever label is frequent, twelve
    # have.
    max_chance: float = 0.05
    # The model's labels replace the column's if it has at least this many more held-out rows right.
    # With 30 labels or audited rows and a column that is right in 78 %, a draw fell 9 points below
    # the column with 1 and 3, none with 5; 7 costs up to 1.3 points of what 100 labels gain
    # (guesses.txt).
    clear_gain: int = 5

    # ------------------------------------------------ self_train_if_clearly_better

    # With an audit, one round of self-training is used if a paired test on the audited rows has a
    # p-value below this. A convention; no stored result.
    self_training_p: float = 0.05

    # ------------------------------------------------ given labels worth a second look

    # A label is listed if a model that has not seen it gives another class a probability this much
    # above that of the given class. With 10 % of labels swapped 11.2 labels a table are listed, of
    # which 63 % are swapped; with 0.8 it is 13.4 and 61 %, with 0.9 9.4 and 64 % (second_look.txt).
    suspect_margin: float = 0.85
    # At most this many labels are listed: what a person looks through in one go.
    max_suspects: int = 20
    # With fewer held-out labels than this none is listed, because the probabilities mean little. No
    # stored result.
    min_held_out: int = 100

    # ------------------------------------------------ rows to check

    # This many rows are listed: what a person checks in one go.
    n_rows_to_check: int = 50
    # The candidates are this many times as many rows, those of highest doubt. No stored result.
    check_candidates: int = 20
    # At most this many unlabelled rows are considered; a bound of cost.
    check_rows: int = 20_000
    # Distances are measured to at most this many labelled rows; a bound of cost.
    check_reference_rows: int = 600

    # ------------------------------------------------ columns and cells that decide labels

    # Only this many columns, the most important ones, explain single rows. With 20, the first
    # column that a row names is the same as with all columns in 99.6 % of rows (explain.txt).
    explaining_columns: int = 20
    # Each explained row is compared with this many background rows. With 8, the first column that a
    # row names is the same as with 96 in 90 % of rows; with 4, in 85 % (explain.txt).
    background_rows: int = 8
    # Beside the column of largest effect, a column is named if its effect is at least this share of
    # the largest. No stored result.
    decisive_share: float = 0.25
    # Beside the word of largest effect, a word of a text is named if its effect is at least this
    # share of the largest. No stored result.
    decisive_word_share: float = 0.5
    # At most this many words of a text, the longest ones, are left out one by one; a bound of cost.
    words_left_out: int = 40
    # The importance of columns is measured on at most this many rows; a bound of cost. No stored
    # result.
    importance_rows: int = 2_000
    # For the importance, at most about this many rows with a shuffled column are predicted, so that
    # many columns have few rows each; a bound of cost. No stored result.
    importance_predictions: int = 2**13
    # However many columns there are, each is shuffled among at least this many rows. No stored
    # result.
    min_shuffled_rows: int = 16

    # ------------------------------------------------ new rows beside those learned from

    # New rows differ in a column if the share of rows with an event, such as a missing cell, has
    # grown by at least this. A convention; no stored result.
    min_share_gained: float = 0.1
    # The growth must also be significant: if nothing has changed, some column differs in at most
    # this share of files. A convention; no stored result.
    drift_significance: float = 0.01
    # The range of a number leaves out this share of the rows at either end, so that a single
    # mistyped number does not widen it. No stored result.
    range_tail: float = 0.005

    # ------------------------------------------------ bounds of cost

    # Of a table that is read in parts, at most this many unlabelled rows are learned from.
    sample_rows: int = 100_000
    # At most this many unlabelled rows take part in fits and rounds of self-training; for the
    # network all do.
    fit_rows: int = 50_000
    # Learners other than the network accept at most about this many rows in a round, if rounds are
    # asked for.
    accepted_rows: int = 10_000
    # While labels are held out, at most this many unlabelled rows stay in training of the network,
    # which learns from them.
    network_held_out_rows: int = 20_000
    # While labels are held out, at most this many unlabelled rows stay in training of other
    # learners, which only take their scale from them.
    held_out_rows: int = 2_000

    # ------------------------------------------------ of other rooms, and rules

    # These numbers decide how columns are read.
    columns: ColumnDefaults = COLUMN_DEFAULTS
    # These numbers decide what the mixture is made of.
    mixture: MixtureDefaults = MIXTURE_DEFAULTS
    # The rules of these names are not used, for ablations.
    switched_off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.switched_off - set(RULES))
        if unknown:
            raise ValueError(f"There is no rule {unknown[0]!r}; the rules are {', '.join(RULES)}.")

    def is_on(self, rule: str) -> bool:
        """Tell whether a rule is used."""
        return rule not in self.switched_off


DEFAULTS = Defaults()
