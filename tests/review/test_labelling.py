"""The job of labelling: what is fitted is what the command fits."""

import inspect

import numpy as np

from chary.jobs import label_table
from chary.review.labelling import Fixed, Labelling
from chary.review.settings import Settings
from chary.tables import Filling, read_table


def test_the_job_tells_the_table(animals):
    job = Labelling(read_table(animals[0]), "animal", Fixed())
    assert job.classes == ["cat", "dog"]
    assert sum(job.counts().values()) == job.n_labelled == 240 - job.population
    assert (job.question, job.hidden) == ("animal", ("animal",))


def test_every_setting_is_one_of_the_command(animals):
    told = Labelling(read_table(animals[0]), "animal", Fixed())._told(Settings({"size": "number"}))
    assert set(told) <= set(inspect.signature(label_table).parameters)
    assert told["numeric"] == ["size"]


def test_the_watch_compares_with_the_model_of_the_given_labels(bench):
    bench.draw({"k": 5})
    filling = Filling(bench.paths.audit)
    codes = np.zeros(240, dtype=np.intp)
    codes[filling.rows[2].number] = 1
    watch = bench.job.enough(filling, codes, np.array(["cat", "dog"]))
    assert watch.labels == ["cat", "cat", "dog", "cat", "cat"]
    assert watch.population == bench.job.population
