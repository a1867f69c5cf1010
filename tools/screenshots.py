"""
Take pictures of the top of a report at the widths of a desktop and of a phone.

    tools/screenshots.py RESULT/report.html -o docs/images --name report

It needs a browser, which it looks for as chromium or google-chrome. Browsers have a least width,
above that of phones: the page is shown in a frame of the width asked for, and the rest cut off.
"""

import argparse
from pathlib import Path
import shutil
import subprocess
import tempfile

from matplotlib.image import imread, imsave
import numpy as np

# Width of the page -> height that is shown [px], and in how many columns side by side.
_SIZES = {1280: (2000, 1), 390: (1300, 3)}
# Shades of each colour: fewer make smaller files.
_SHADES = 15
# Between columns, and the least width of a window [px].
_GAP, _LEAST = 20, 600
_BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
_OPTIONS = ('--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars')


def main():
    """Write NAME_WIDTH.png for each width."""
    asked = argparse.ArgumentParser(description=__doc__.strip().partition('\n')[0])
    asked.add_argument('page', type=Path)
    asked.add_argument('-o', '--output', type=Path, required=True, help='folder')
    asked.add_argument('--name', default='report')
    chosen = asked.parse_args()
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit(f'none of {", ".join(_BROWSERS)} is installed')
    for width, (height, columns) in _SIZES.items():
        path = chosen.output / f'{chosen.name}_{width}.png'
        picture = taken(browser, chosen.page.resolve(), width, height * columns)
        parts = [picture[height * k : height * (k + 1)] for k in range(columns)]
        between = np.full((height, _GAP, 3), 0.8)
        shown = np.concatenate([x for part in parts for x in (between, part)][1:], 1)
        shown = np.round(shown * _SHADES) / _SHADES
        imsave(path, shown, pil_kwargs={'optimize': True})
        print(f'written: {path}')


def taken(browser, page, width, height):
    """Return the top of a page as a picture [height, width, 3]."""
    with tempfile.TemporaryDirectory() as folder:
        frame, shot = Path(folder, 'frame.html'), Path(folder, 'shot.png')
        frame.write_text(
            f'<body style="margin:0;overflow:hidden"><iframe src="{page.as_uri()}" style="'
            f'border:0;width:{width}px;height:{height}px"></iframe>'
        )
        window = f'--window-size={max(width, _LEAST)},{height}'
        options = [*_OPTIONS, f'--user-data-dir={folder}/profile', f'--screenshot={shot}', window]
        subprocess.run([browser, *options, frame.as_uri()], check=True, capture_output=True)
        return imread(shot)[:height, :width, :3]


if __name__ == '__main__':
    main()
