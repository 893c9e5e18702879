"""Settings of Sphinx for the pages that build.py prepares. Nothing is loaded from another site."""

project = "FabricSim"
author = "The FabricSim developers"
# The pages carry no year: two builds of one commit are equal.
copyright = author
extensions = ["myst_parser"]
root_doc = "index"
# Single backticks in docstrings mark names.
default_role = "literal"
# Every heading of the Markdown pages is an anchor, with the name that code hosts give it.
myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
# Pages begin with a heading of any level, and the glossary's terms are rows of tables.
suppress_warnings = ["myst.header"]
toc_object_entries_show_parents = "hide"
python_display_short_literal_types = True
python_maximum_signature_line_length = 88
html_theme = "furo"
html_title = "FabricSim"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
# A light style that is readable on white, a dark one that is readable on black.
pygments_style = "tango"
pygments_dark_style = "github-dark"
