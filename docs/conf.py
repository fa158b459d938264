"""How Sphinx builds these pages: ``make docs``."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent / "src")]

# Kernels stay plain functions, with their signatures; nothing is compiled to be described.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

project = "driftbandits"
author = "The driftbandits authors"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docstrings",  # docs/extensions: every option of a class, inherited ones too; equations
    "command_help",  # docs/extensions: the help of a command
]
exclude_patterns = ["extensions"]

# Pages: Markdown, whose headings can be linked to as on GitHub.
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4

# Reference: `name` in a docstring is a link; own names that cannot be found fail the build.
default_role = "py:obj"
nitpicky = True
_INTERNAL = "|".join(
    [
        r"driftbandits\.logs\.(reading|fit|drift|sources|targets)\b.*",
        r"driftbandits\.agent\.open_decisions\b.*",
        r"driftbandits\.features",
    ]
)
nitpick_ignore_regex = [(r"py:.*", rf"(?!driftbandits).*|.*\.PolicyClass|{_INTERNAL}")]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {"Array": "Array"}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# The site works offline: nothing is fetched from elsewhere.
html_theme = "furo"
html_title = "driftbandits"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
