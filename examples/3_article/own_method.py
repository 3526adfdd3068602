"""The paper's biased-label table on Digits with a method of one's own beside the paper's: about a minute.

python examples/3_article/own_method.py
"""

from dataclasses import replace

from sklearn.semi_supervised import LabelSpreading

from chary import SelfTrainingClassifier, TopK
from studies import STUDIES, Method, Store, results_of, run, to_markdown


def spreading(task, n_neighbors):
    """Not self-training at all: anything with predict will do."""
    return LabelSpreading(kernel="knn", n_neighbors=n_neighbors).fit(task.X, task.y)


def top_k(task, k):
    """Another policy around the paper's model, from the shared first fit."""
    model = SelfTrainingClassifier(task.estimator(), policy=TopK(k), confidence="t_similarity")
    return model.fit(task.X, task.y, initial=task.initial)


table = STUDIES["table-ssb"]
mine = {"label spreading": Method(spreading, {"n_neighbors": 7}), "top 50": Method(top_k, {"k": 50})}
study = replace(table, methods={**table.methods, **mine})

if __name__ == "__main__":
    cells, store = study.cells(["digits"], n_seeds=3), Store("studies/cells")
    run(study, cells, store, jobs=2)
    print(to_markdown(study, results_of(cells, store)))
