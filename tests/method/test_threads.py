"""One thread inside, as many as before outside."""

import pytest
from threadpoolctl import ThreadpoolController

from chary import _threads
from chary._threads import one_thread


@pytest.mark.parametrize("api", ["blas", "openmp"])
def test_there_is_one_thread_inside_and_the_others_come_back(api):
    import sklearn.ensemble  # noqa: F401 - brings OpenMP

    _threads._controller.cache_clear()  # another test may have brought one more library since
    controller = ThreadpoolController().select(user_api=api)

    def threads():
        return {pool.num_threads for pool in controller.lib_controllers}

    with controller.limit(limits=2):
        before = threads()
        with one_thread(api):
            assert threads() == {1}
        assert threads() == before


def test_the_last_of_several_puts_back_what_was_before_the_first():
    controller = ThreadpoolController().select(user_api="blas")
    with controller.limit(limits=2):
        first, second = one_thread("blas"), one_thread("blas")
        with second:
            first.__enter__()
        assert {pool.num_threads for pool in controller.lib_controllers} == {1}
        first.__exit__(None, None, None)
        assert {pool.num_threads for pool in controller.lib_controllers} == {2}
