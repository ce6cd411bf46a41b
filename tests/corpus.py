"""Purpose: `make corpus`: the golden acceptance-length table and the recipe table over the shared recipe corpus.

Reads ../shared/inferencex and writes nothing. `--repository DIR` reads a whole clone instead of the August part: its
launch scripts and all its recipes are then there, and the acceptance table is complete.
"""

from __future__ import annotations

import argparse
import sys
from datetime import date
from pathlib import Path

from app.checkout.revisions import Unreadable, directory_tree, git_tree
from app.target.tree import Layout, Tree
from tests import corpus_acceptance as acceptance
from tests import corpus_rows as rows
from tests.corpus_points import CORPUS, august_tree, october_tree, submissions

DAY = date(2026, 10, 22)


def trees(repository: str, revision: str) -> list[Tree]:
    """August and October of the shared corpus, or one clone. Raises Unreadable."""
    if repository:
        return [git_tree(repository, revision) if revision else directory_tree(repository)]
    if not CORPUS.is_dir():
        raise Unreadable("The folder ../shared/inferencex is not there. Put the corpus there or name --repository.")
    return [august_tree(), october_tree()]


def report(tree: Tree, summary: bool) -> list[str]:
    """Both tables of one tree, counts last."""
    found = submissions(tree)
    masters = acceptance.master_table(tree) if tree.layout is Layout.AUGUST else []
    unnamed = acceptance.recipe_table(tree, found)
    judged = rows.judged(tree, found, DAY)
    lines = [f"== {tree.layout.value}: golden acceptance lengths, rows of the masters", acceptance.counts(masters)]
    lines += [] if summary else acceptance.shown(masters)
    lines += ["", f"== {tree.layout.value}: recipes that no master row names", acceptance.counts(unnamed)]
    lines += [] if summary else acceptance.shown(unnamed)
    lines += ["", f"== {tree.layout.value}: recipes as if submitted today ({len(found)} files)", *rows.counts(judged)]
    lines += [] if summary else ["", *rows.shown(judged)]
    return [*lines, ""]


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 where the corpus cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repository", default="", help="a clone to read instead of the shared corpus")
    parser.add_argument("--revision", default="", help="a revision of that clone, instead of its files as they stand")
    parser.add_argument("--summary", action="store_true", help="the counts only")
    parser.add_argument("--output", default="", help="write to this file instead of standard output")
    given = parser.parse_args(arguments)
    try:
        lines = [line for tree in trees(given.repository, given.revision) for line in report(tree, given.summary)]
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    text = "\n".join(lines)
    if given.output:
        Path(given.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
