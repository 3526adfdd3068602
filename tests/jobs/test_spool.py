"""What is put on the disk comes back, in order, and no file is left."""

import numpy as np
import pytest

from chary.jobs.spool import Spool


def test_rows_come_back_in_order_as_often_as_asked(tmp_path):
    spool, rows = Spool(tmp_path, 3), np.arange(30.0).reshape(10, 3)
    for part in (rows[:4], rows[4:4], rows[4:]):
        spool.append(part)
    for _ in range(2):
        np.testing.assert_array_equal(np.concatenate(list(spool.blocks(3))), rows)
    np.testing.assert_array_equal(spool.read(8, 5), rows[8:])
    assert spool.read(10, 5).shape == (0, 3)
    spool.append(rows[:1])  # also after it was read
    np.testing.assert_array_equal(spool.read(10, 1), rows[:1])
    assert list(tmp_path.iterdir()) == []
    spool.close()


def test_types_are_kept_and_other_widths_refused(tmp_path):
    spool = Spool(tmp_path, 2, np.uint16)
    spool.append(np.array([[65535, 1]]))
    assert spool.read(0, 1).tolist() == [[65535, 1]]
    with pytest.raises(ValueError, match="2 wide"):
        spool.append(np.zeros((1, 3)))
    spool.close()
