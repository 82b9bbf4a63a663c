# SPDX-License-Identifier: Apache-2.0
# timeout: 900
# labels: long
"""The site of `make docs` as Chromium shows it, on a desk and on a telephone: each page has its heading and its text, each picture is drawn, each link inside the
site is answered, nothing is cut off at the right, no script fails, and nothing is asked of another host."""
import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import threading

SOURCE = pathlib.Path(os.environ["ARTEL_SOURCE"])
SITE = pathlib.Path("docs/site").resolve()
WIDTHS = (1280, 400)
# Loads page after page into a frame of its own size, and writes down what is wrong with each.
DRIVER = """<!doctype html><meta charset="utf-8"><body><script>
const pages = %s, widths = %s, found = [], answered = {};
async function answers(address) {
    if (!(address in answered)) answered[address] = fetch(address, {method: "HEAD"}).then(a => a.ok, () => false);
    return answered[address];
}
async function look(page, width) {
    const frame = document.createElement("iframe"), say = what => found.push(page + " at " + width + ": " + what);
    frame.style.cssText = "border: 0; height: 900px; width: " + width + "px";
    frame.src = page;
    const loaded = new Promise(done => { frame.onload = done; });
    document.body.append(frame);
    frame.contentWindow.addEventListener("error", e => say("a script fails: " + e.message));
    await loaded;
    const d = frame.contentDocument, main = d.querySelector("[role=main]") || d.body;
    if (!main.querySelector("h1") || main.querySelector("h1").getBoundingClientRect().height < 10) say("no heading is seen");
    if (main.innerText.trim().length < 20) say("there is no text");
    for (const image of main.querySelectorAll("img")) {
        await image.decode().catch(() => {});
        if (!image.naturalWidth || image.getBoundingClientRect().width < 20) say("not drawn: " + image.src);
        if (image.getBoundingClientRect().right > width + 1) say("cut off: " + image.src);
    }
    if (d.documentElement.scrollWidth > width + 1) say("it is " + d.documentElement.scrollWidth + " wide");
    for (const link of d.querySelectorAll("a[href]")) {
        const url = new URL(link.href);
        if (url.origin === location.origin && !await answers(url.origin + url.pathname)) say("no answer: " + link.href);
    }
    for (const entry of frame.contentWindow.performance.getEntriesByType("resource"))
        if (new URL(entry.name).origin !== location.origin) say("asks another host: " + entry.name);
    frame.remove();
}
(async () => {
    for (const page of pages) for (const width of widths) await look(page, width);
    await fetch("/found", {method: "POST", body: JSON.stringify(found)});
})();
</script>"""


class Server(http.server.SimpleHTTPRequestHandler):
    """The site, and what the driver has found."""

    found, told = None, threading.Event()

    def do_POST(self):
        Server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        Server.told.set()

    def log_message(self, *_):
        pass


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium or not shutil.which("mkdocs"):
        print("skipped: Chromium or mkdocs is missing; install them with: apt install chromium; scripts/install-deps docs")
        return 77
    subprocess.run([SOURCE / "scripts" / "build-docs", "docs", "--strict"], check=True)
    pages = sys.argv[1:] or sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if path.name not in ("404.html", "search.html"))
    (SITE / "driver.html").write_text(DRIVER % (json.dumps(pages), json.dumps(WIDTHS)))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/driver.html"
    with open("chromium.log", "w") as log:
        browser = subprocess.Popen([chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={os.getcwd()}/profile",
                                    "--window-size=1300,1000", "--remote-debugging-port=0", address], stdout=log, stderr=log)
    Server.told.wait(800)
    browser.kill()
    browser.wait()
    if Server.found is None:
        print("Chromium did not come to the end:", pathlib.Path("chromium.log").read_text()[-2000:])
        return 1
    print(f"{len(pages)} pages at {len(WIDTHS)} widths, {len(Server.found)} faults")
    for line in Server.found:
        print(line)
    return bool(Server.found)


sys.exit(main())
