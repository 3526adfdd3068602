"""Every word that can be typed is explained, and the same word means the same everywhere."""

import pytest
import typer

from chary.cli import app


def commands(command, path=()):
    """Every command by the words that call it."""
    children = getattr(command, "commands", None)
    if children is None:
        return {" ".join(path): command}
    return {
        words: found for name, child in children.items() for words, found in commands(child, (*path, name)).items()
    }


COMMANDS = commands(typer.main.get_command(app))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_has_help(name):
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        assert parameter.help, parameter.name


def test_an_option_is_explained_alike_wherever_it_appears():
    told = {}
    for name in ("label", "diagnose", "predict", "audit draw"):
        for parameter in COMMANDS[name].params:
            if parameter.name not in ("seed", "file"):  # another draw; one table, or an output for each
                told.setdefault(parameter.name, set()).add(parameter.help)
    assert {name: texts for name, texts in told.items() if len(texts) > 1} == {}
