"""Pages as a browser shows them; for tests that are skipped where there is no Chromium."""

import os
import shutil
import subprocess

BROWSER = shutil.which('chromium') or shutil.which('chromium-browser') or shutil.which(
    'google-chrome')
if BROWSER is None and os.environ.get('SYSID_REQUIRE_BROWSER'):
    raise RuntimeError('no Chromium, without which pages are not looked at: '
                       'apt-get install chromium')


# What is no fault of a page: the browser's own drivers, a hint about speed, and Plotly's remark
# that margins of a narrow figure with long names did not settle, after which it is drawn as it is.
_REMARKS = ('GL Driver', 'willReadFrequently', 'WARN: Too many auto-margin redraws')


def opened(page, profile, *arguments):
    """The document after its figures are drawn, and what the console says of errors."""
    done = subprocess.run(
        [BROWSER, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
         '--enable-unsafe-swiftshader', '--enable-logging=stderr', f'--user-data-dir={profile}',
         '--disable-background-networking', '--disable-component-update', '--no-first-run',
         '--virtual-time-budget=200000', '--dump-dom', *arguments, f'{page.as_uri()}#all'],
        capture_output=True, text=True, timeout=540, check=True)
    # A request against the policy of the page is an error on the console, too.
    errors = [line for line in done.stderr.splitlines()
              if 'CONSOLE' in line and not any(remark in line for remark in _REMARKS)]
    return done.stdout, errors
