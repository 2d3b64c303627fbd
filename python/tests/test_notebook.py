# SPDX-License-Identifier: MIT
"""Notebooks: what they show, the cell magic, and the tutorial, which is run. With --write it is written anew."""

import os
import sys
import unittest

import saltus
from common import HEATER, JUMPER, SOURCE

TUTORIAL = SOURCE / "docs" / "tutorial.ipynb"


def execute():
    import nbformat
    from nbconvert.preprocessors import ExecutePreprocessor

    book = nbformat.read(TUTORIAL, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    ExecutePreprocessor(timeout=120, kernel_name="python3").preprocess(book, {"metadata": {"path": str(SOURCE)}})
    for cell in book.cells:  # when it was run is nobody's business
        cell.metadata.pop("execution", None)
    return book


def texts(book):
    """Texts that cells show, without pictures."""
    shown = []
    for cell in book.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if output.output_type == "stream":
                shown.append(output.text)
            elif output.output_type == "error":
                shown.append("\n".join(output.traceback))
            elif not any(key.startswith("image/") for key in data):
                shown.append(data.get("text/plain"))
    return shown


class Display(unittest.TestCase):
    def test_html(self):
        m = saltus.load(HEATER)
        page = m._repr_html_()
        self.assertIn("<svg", page)
        self.assertIn("input", page)
        r = m.run(until=6)
        self.assertIn("<svg", r._repr_html_())
        self.assertIn("hot", r.events._repr_html_())
        self.assertIn("<p>", m.run(until=1, out=[])._repr_html_())
        many = saltus.load(JUMPER).run(until=50).events._repr_html_()
        self.assertIn("more", many)

    def test_errors_are_shown_with_carets(self):
        try:
            saltus.load("x' = ;")
        except saltus.ModelError as e:
            self.assertIn("^", "\n".join(e._render_traceback_()))

    def test_magic_and_completion(self):
        from IPython.core.interactiveshell import InteractiveShell

        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "saltus")
        shell.run_cell_magic("lisma", "ball", JUMPER)
        self.assertIsInstance(shell.user_ns["ball"], saltus.Model)
        shell.run_cell_magic("lisma", "b until=2.5 method=dp54", JUMPER)
        self.assertEqual(shell.user_ns["b_result"].last("n"), 2)
        with self.assertRaises(saltus.ModelError):
            shell.run_cell_magic("lisma", "", "x' = ;")
        shell.run_cell_magic("lisma", "c until=2 samples=4 out=n,y", JUMPER)
        self.assertEqual(shell.user_ns["c_result"].names, ["time", "n", "y"])
        for line in ("a-b", "if", "a until", "a nothing=3"):
            with self.assertRaises((ValueError, TypeError)):
                shell.run_cell_magic("lisma", line, JUMPER)
        text = "%%lisma ball\nheight' = 1;\nstate low [hei"
        self.assertEqual([c.text for c in shell.Completer.completions(text, len(text))], ["height"])
        text = "%%lisma\nsta"
        self.assertIn("state", [c.text for c in shell.Completer.completions(text, len(text))])
        shell.run_line_magic("unload_ext", "saltus")


class Tutorial(unittest.TestCase):
    def test_the_tutorial_shows_what_it_shows(self):
        if "LD_PRELOAD" in os.environ:
            self.skipTest("without a sanitizer")
        import nbformat

        self.assertEqual(texts(execute()), texts(nbformat.read(TUTORIAL, as_version=4)))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        import nbformat

        nbformat.write(execute(), TUTORIAL)
    else:
        unittest.main()
