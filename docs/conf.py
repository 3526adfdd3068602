"""How Sphinx builds ``build/site`` from the pages of ``docs/``, docstrings and ``examples/``.

``make docs`` builds it, without a network. Pages are Markdown that a forge shows, too: what a forge
and a site want differently is turned over in ``_ext/forge_links.py``.
"""

import os
import sys
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import chary

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    # Small scripts: more threads wait for each other, and cost more.
    os.environ.setdefault(threads, "1")

project = "chary"
author = "the authors of chary"
version = release = chary.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "forge_links",
    "stored_results",
    "cli_reference",
    "json_reference",
    "look_inside",
    "mathtext_svg",
]
root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_ext", "_static", "_templates", "figures", "look", "schemas"]
templates_path = ["_templates"]
highlight_language = "none"
nitpicky = True
toc_object_entries_show_parents = "hide"

# Markdown: the anchors of headings are those of a forge.
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "attrs_block", "html_image", "deflist"]

# The API: types stand in the docstrings, in words; signatures stay short.
autosummary_generate = True
autosummary_imported_members = False
# A function and the record that it makes differ in one capital letter: not enough for the files of
# some systems.
autosummary_filename_map = {f"chary.{name}": f"chary.{name}-record" for name in ("audit.Score",)}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
# All checks of numpydoc but those that ask for more words than there is to say:
numpydoc_validation_checks = {
    "all",
    "EX01",  # an example: every estimator has one (a test says so), a small record needs none
    "SA01",  # "See Also": likewise
    "SA04",  # its entries need no description where the name tells
    "ES01",  # an extended summary: a short function has said it all in one line
    "GL01",  # the text starts on the line of the quotes, as everywhere in this project
    "GL02",  # and may end there
    "GL03",
    "SS05",  # "Tells ..." or "Tell ...": either is English
    "SS06",  # a summary of two lines is a summary
    "PR01",  # parameters: tests/common/test_documented.py is stricter, and reads fields, too
    "PR02",  # **settings stand for parameters that are listed by name
    "PR06",  # "str", "bool": as scikit-learn writes them
    "PR07",  # a type can say it all: "random_state : int"
    "PR08",  # a description may begin with the value it describes: "balanced": ...
    "PR09",  # and end with a list
    "PR10",
    "RT01",  # what a function returns is told in its first line
    "RT02",
    "RT03",
    "RT04",
    "RT05",
    "YD01",
}
# Aliases of types, members of the classes of others, and what a docstring gets from the library
# below it.
nitpick_ignore_regex = [("py:.*", r"(sklearn|numpy|np|polars|pl|pandas|torch|dask|pyarrow)\..*")]
# Fields of records are words beside a name, no docstrings (tests/common/test_documented.py looks
# after them).
MODULES = {
    line.split()[-1]
    for page in sorted((Path(__file__).parent / "api").glob("*.rst"))
    for line in page.read_text().splitlines()
    if line.startswith(".. currentmodule::")
}
RECORDS = {
    name
    for module in MODULES
    for name, found in vars(import_module(module)).items()
    if isinstance(found, type) and (issubclass(found, tuple) or is_dataclass(found))
}
numpydoc_validation_exclude = {r"\.__", r"\.[A-Z]+$", rf"\.({'|'.join(sorted(RECORDS))})\.[a-z_]+$"}

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"^(?!plot_)",  # scripts without a picture
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib",),
    "min_reported_time": 1e9,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/used",
    "doc_module": ("chary",),
    "reference_url": {"chary": None},
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "chary"
html_static_path = ["_static"]
html_extra_path = ["look", "schemas"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "chary"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "use_edit_page_button": False,
}
html_sidebars = {"index": [], "look-inside": []}
copyright = "the authors of chary, MIT licence"
