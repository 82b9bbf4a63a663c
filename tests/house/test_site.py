# SPDX-License-Identifier: Apache-2.0
# timeout: 60
"""The site of `make docs`: builds without a warning; each link and anchor leads somewhere; each page stands in the navigation; pictures are small, shown and described."""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree

SOURCE = pathlib.Path(os.environ["ARTEL_SOURCE"])
SITE = pathlib.Path("docs/site").resolve()
CODE = re.compile(r"^```.*?^```$", re.S | re.M)
PICTURE = re.compile(r"!\[([^\]\n]*)\]\(([^)\s]+)\)")
LINK = re.compile(r"\]\(([^)\s#:]*)#([^)\s]+)\)")


class Page(html.parser.HTMLParser):
    """What a page links to and where it can be entered; links in its navigation apart."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.nav, self.loaded, self.depth = [], [], [], [], 0
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.depth += tag == "nav"
        if values.get("id"):
            self.anchors.append(values["id"])
        if tag == "a" and values.get("href"):
            (self.nav if self.depth else self.links).append(values["href"])
        if tag in ("script", "img") and values.get("src") or tag == "link" and values.get("rel") != "canonical":
            self.loaded.append(values.get("src") or values["href"])

    def handle_endtag(self, tag):
        self.depth -= tag == "nav"


def target(path, link):
    """The file and the anchor that a link of a page names; no file: it leads out of the site."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc:
        return None, ""
    return (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path, urllib.parse.unquote(parts.fragment)


def faults():
    pages = {path: Page(path) for path in sorted(SITE.rglob("*.html")) if path.name not in ("404.html", "search.html")}
    entered = {target(SITE / "index.html", link)[0] for link in pages[SITE / "index.html"].nav}
    for path, page in pages.items():
        name = path.relative_to(SITE)
        twice = {anchor for anchor in page.anchors if page.anchors.count(anchor) > 1 and not anchor.startswith("rtd-")}
        if twice:
            yield f"{name} has anchors twice: {' '.join(sorted(twice))}"
        if path not in entered:
            yield f"{name} is not in the navigation: mkdocs.yml"
        for link in page.links + page.nav + page.loaded:
            file, anchor = target(path, link)
            if file is None and link in page.loaded:
                yield f"{name} loads {link} from the network"
            elif file is not None and not file.is_file():
                yield f"{name} links to {link}, which does not exist"
            elif anchor and link not in page.nav and file in pages and anchor not in pages[file].anchors:
                yield f"{name} links to {link}, where there is no such anchor"


def anchors(path):
    """Those that hosts of git give to headings, and those that stand in the text."""
    text = CODE.sub("", path.read_text())
    headings = re.findall(r"^#+ +(.*?) *$", text, re.M)
    return set(re.findall(r'<a id="([^"]+)">', text)) | {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults_of_sources():
    for path in sorted(SOURCE.glob("docs/*.md")):
        for file, anchor in LINK.findall(CODE.sub("", path.read_text())):
            if anchor not in anchors((path.parent / file) if file else path):
                yield f"docs/{path.name} links to {file}#{anchor}, where there is no such heading"


def faults_of_pictures():
    """Each picture of docs/pictures is a whole SVG of at most 8 KB, without parts from elsewhere, that some page shows and describes; each one that is shown is there."""
    shown = {}
    for page in sorted(SOURCE.glob("docs/*.md")):
        for text, file in PICTURE.findall(CODE.sub("", page.read_text())):
            shown[(page.parent / file).resolve()] = text
            if not (page.parent / file).is_file():
                yield f"docs/{page.name} shows {file}, which does not exist"
            if len(text) < 40:
                yield f"docs/{page.name} does not say what {file} shows"
    for path in sorted(SOURCE.glob("docs/pictures/*")):
        text = path.read_text()
        root = xml.etree.ElementTree.fromstring(text)
        names = {part.tag.rpartition("}")[2] for part in root.iter()}
        if path.suffix != ".svg" or len(text) > 8192 or not {"title", "desc"} <= names or "viewBox" not in root.attrib:
            yield f"docs/pictures/{path.name} is no SVG of at most 8 KB with a title, a description and a viewBox"
        if names & {"script", "image", "foreignObject"} or "href" in text or "@import" in text:
            yield f"docs/pictures/{path.name} has parts from elsewhere"
        if path.resolve() not in shown:
            yield f"no page shows docs/pictures/{path.name}"
        if not (SITE / "pictures" / path.name).is_file():
            yield f"the site lacks pictures/{path.name}"


def main():
    if not shutil.which("mkdocs"):
        print("skipped: mkdocs is missing; install it with: scripts/install-deps docs")
        sys.exit(77)
    subprocess.run([SOURCE / "scripts" / "build-docs", "docs", "--strict"], check=True)
    found = list(faults()) + list(faults_of_sources()) + list(faults_of_pictures())
    for fault in found:
        print(fault)
    sys.exit(1 if found else 0)


main()
