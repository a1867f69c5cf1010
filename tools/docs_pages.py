"""
What `make docs` adds to the pages of docs/: a hook of mkdocs, named in mkdocs.yml.

Documents of the root become pages too. Links are written for readers of the repository; those
that lead out of docs/ are changed to pages of the site, or to plain text where the site has none.
"""

from pathlib import Path
import re

ROOT = Path(__file__).resolve().parent.parent
FROM_ROOT = ('README.md', 'CONTRIBUTING.md', 'SECURITY.md')
# [text](target#anchor), not of a picture; and that of a picture.
_LINK = re.compile(r'(?<!!)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)')
_PICTURE = re.compile(r'(!\[[^\]]*\]\()docs/')


def on_files(files, config):
    """Add the documents of the root."""
    from mkdocs.structure.files import File  # Here, so that tests of the links need no mkdocs.

    for name in FROM_ROOT:
        files.append(File.generated(config, name, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Return the text of a page with links that the site can follow."""
    name = page.file.src_path
    return with_links_of_site(markdown, ROOT if name in FROM_ROOT else ROOT / 'docs')


def with_links_of_site(markdown, folder):
    """Return the text with links that lead from the page's folder to pages of the site."""

    def replaced(match):
        text, target, anchor = match.group(1), match.group(2), match.group(3) or ''
        if '://' in target:
            return match.group()
        path = (folder / target).resolve()
        if path.parent == ROOT / 'docs' or path.parent == ROOT and path.name in FROM_ROOT:
            return f'[{text}]({path.name}{anchor})'
        # What does not exist stays a link, of which mkdocs complains.
        return text if path.exists() else match.group()

    return _PICTURE.sub(r'\1', _LINK.sub(replaced, markdown))
