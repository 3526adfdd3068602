"""The job of judging: the labels under test are counted, and hidden from who labels."""

from chary.review import begin
from chary.tables import Filling


def test_the_job_tells_the_labels(rules):
    bench = begin([str(rules[0])], labels=["rule"], confidence="sure")
    job = bench.job
    assert (job.classes, job.hidden, job.population) == (["ham", "spam"], ("rule", "sure"), 200)
    assert sum(job.counts().values()) == job.n_labelled == 200
    bench.draw({"k": 5})
    filling = Filling(bench.paths.audit)
    labels = job.table.frame["rule"].to_list()
    assert job.enough(filling).labels == [labels[row.number] for row in filling.rows]
    assert job.frame(None).columns == ["text", "rule", "sure"]
