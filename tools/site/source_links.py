"""A hook of MkDocs: links to what is no document.

The documents link to source files beside them. The site has none of these: such a link leads to the repository if mkdocs.yml
names one (repo_url), and is plain text otherwise.
"""

import posixpath
import re

LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^\s()#]+)(#[^\s()]*)?\)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    """MkDocs calls it with each page's text."""
    folder = posixpath.dirname(page.file.src_uri)

    def outside(link: re.Match) -> str:
        words, target = link[1], link[2]
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            return link[0]
        path = posixpath.normpath(posixpath.join("docs", folder, target))
        if path == "docs" or path.startswith("docs/"):
            return link[0]
        return f"[{words}]({config.repo_url.rstrip('/')}/blob/main/{path})" if config.repo_url else words

    return LINK.sub(outside, markdown)
