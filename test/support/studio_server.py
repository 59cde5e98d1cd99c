"""The page's server as a process of its own, and a browser that looks at it."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from support.browser import BROWSER

TOKEN = 'a-token-of-these-tests'
# WebGL is drawn by the processor, as machines of tests have no other.
_ARGUMENTS = ('--no-sandbox', '--disable-dev-shm-usage', '--enable-unsafe-swiftshader',
              '--disable-background-networking', '--no-first-run')
# What is no fault of a page: the browser's own drivers and hints.
_REMARKS = ('GL Driver', 'GPU stall', 'willReadFrequently', 'Automatic fallback to software WebGL',
            'WARN: Too many auto-margin redraws')


class Server:
    """A server of a folder.

    Args:
        folder: The folder.
        port: Where it listens; 0 for any.
    """

    def __init__(self, folder, port=0):
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'sysid_ros.cli.main', 'studio', str(folder), '--no-browser',
             '--port', str(port)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=os.environ | {'SYSID_STUDIO_TOKEN': TOKEN})
        printed = []
        while not (found := re.search(r'Open (http://[^/]*)/', ''.join(printed))):
            line = self._process.stdout.readline()
            assert line, ''.join(printed)
            printed.append(line)
        self.origin = found[1]
        self.port = int(self.origin.rpartition(':')[2])

    @property
    def address(self):
        """What was printed."""
        return f'{self.origin}/?token={TOKEN}'

    @property
    def process(self):
        """Number of its process."""
        return self._process.pid

    def end(self, number=signal.SIGINT):
        """End it; its exit code."""
        self._process.send_signal(number)
        return self._process.wait(timeout=60)


@contextmanager
def served(folder):
    """A server of a folder, until the end of ``with``."""
    server = Server(folder)
    try:
        yield server
    finally:
        if server._process.poll() is None:
            server.end()


@contextmanager
def browser():
    """Chromium, by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=BROWSER, args=list(_ARGUMENTS))
        try:
            yield chromium
        finally:
            chromium.close()


class Look:
    """A page of a browser, and what went wrong on it.

    Args:
        browser: The browser.
        address: What is opened.
        sizes: Of the window in pixels.
    """

    def __init__(self, browser, address, sizes=(1280, 900)):
        width, height = sizes
        self.context = browser.new_context(viewport={'width': width, 'height': height})
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)
        self.errors, self.requests = [], []
        self.page.on('console', self._hear)
        self.page.on('pageerror', lambda error: self.errors.append(str(error)))
        self.page.on('request', lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def _hear(self, message):
        if message.type in ('error', 'warning') and not any(
                remark in message.text for remark in _REMARKS):
            self.errors.append(message.text)

    def step(self, name):
        """Go to a step by its link."""
        self.page.get_by_role('navigation').get_by_role('link', name=name).click()
        self.page.get_by_role('heading', level=2, name=name).wait_for()

    def shot(self, path):
        """Keep a picture of the whole page."""
        self.page.screenshot(path=path, full_page=True)


def wait_until(condition, seconds=120.0):
    """Wait for something that is no element of a page."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
