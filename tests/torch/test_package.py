"""The package without PyTorch."""

import sys
from importlib import import_module

import pytest


def test_without_torch_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in [name for name in sys.modules if name.startswith("chary.torch")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("chary.torch", "chary.torch.heads"):
        with pytest.raises(
            ModuleNotFoundError, match=r"chary.torch needs PyTorch.*pip install 'chary\[torch\]'"
        ):
            import_module(name)
