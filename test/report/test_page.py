"""The report: whole, self-contained, the same each time, and honest about what is missing."""

import base64
from dataclasses import replace
from html.parser import HTMLParser
import io
import re
import shutil
import subprocess
from xml.etree import ElementTree

from matplotlib.image import imread
import numpy as np
import pytest
from reported import alone, whole, with_two_answers
from simulated import CONFIG

from sim2real_estimator.cli import main
from sim2real_estimator.observability.verdicts import Verdict
from sim2real_estimator.posterior.file import save
from sim2real_estimator.posterior.report import report_text
from sim2real_estimator.posterior.report.figure_style import MEANINGS, VERDICTS
from sim2real_estimator.posterior.report.sections import SECTIONS
from sim2real_estimator.posterior.report.sections.consistency import consistency
from sim2real_estimator.posterior.report.sections.corner import corner
from sim2real_estimator.posterior.report.sections.event_list import events
from sim2real_estimator.posterior.report.sections.held_out_prediction import prediction
from sim2real_estimator.posterior.report.sections.identifiability import identifiability
from sim2real_estimator.posterior.report.sections.parameter_table import parameters
from sim2real_estimator.posterior.report.sections.recorded_inputs import inputs, latencies
from sim2real_estimator.posterior.report.words import number, span, with_sd

VOID = {'meta', 'link', 'img', 'br'}


@pytest.fixture(scope='module')
def bare(one_thread):
    return alone()


@pytest.fixture(scope='module')
def found(bare):
    return whole(bare)


@pytest.fixture(scope='module')
def text(found):
    return report_text(found)


class Page(HTMLParser):
    """Takes note of tags, sources and links, and that all tags close."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.sources, self.links, self.anchors = [], [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag not in VOID:
            self.open.append(tag)
        self.sources += [attributes[name] for name in ('src', 'href') if name in attributes]
        self.anchors += [attributes['id']] if 'id' in attributes else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def image_of(content):
    """Return the grey values of a PNG."""
    return imread(io.BytesIO(content))[..., :3].mean(-1)


def test_it_needs_no_other_file_and_no_network(text):
    page = Page(text)
    assert page.sources
    assert all(source.startswith(('data:', '#')) for source in page.sources)
    assert not {'script', 'iframe', 'object'} & {tag for tag, _ in page.tags}
    assert 'url(' not in text and '@import' not in text


def test_every_link_leads_to_a_section(text):
    page = Page(text)
    links = [source[1:] for source in page.sources if source.startswith('#')]
    assert len(links) == len(SECTIONS) and set(links) <= set(page.anchors)


def test_every_figure_is_drawn_and_says_what_to_see(text):
    images = [attributes for tag, attributes in Page(text).tags if tag == 'img']
    assert len(images) >= 8
    for image in images:
        assert len(image['alt']) > 20
        drawn = base64.b64decode(image['src'].partition('base64,')[2])
        if image['src'].startswith('data:image/png'):
            assert image_of(drawn).std() > 0.02
        else:
            root = ElementTree.fromstring(drawn)
            assert root.tag.endswith('svg') and len(list(root.iter())) > 30
    captions = re.findall(r'<figcaption>(.*?)</figcaption>', text, re.S)
    assert len(captions) >= len(images) and all(each.endswith('.') for each in captions)


def test_the_same_result_is_the_same_page(found, text):
    later = replace(found.provenance, created='the-day-after')
    again = report_text(replace(found, provenance=later))
    assert again.replace('the-day-after', found.provenance.created) == text


def test_names_of_others_are_no_markup(text):
    assert 'swing &lt;1&gt;' in text and 'swing <1>' not in text


def test_every_parameter_is_there_with_unit_and_verdict(found):
    (table, *_) = parameters(found).blocks
    for row, each in zip(table.cells, found.findings.parameters):
        assert [cell.text for cell in row[:2]] == [each.name, found.units[each.name]]
        assert each.verdict_text in row[-2].text
        assert row[-1].parts


def test_every_verdict_has_a_look_and_a_meaning():
    assert {verdict.value for verdict in Verdict} == set(VERDICTS) == set(MEANINGS)


def test_predictions_are_compared(found):
    _, table, *_ = prediction(found).blocks
    (first, second) = table.rows
    trace = found.held_out.traces[0]
    assert first[0] == 'mocap: elbow position'
    assert float(first[2]) == pytest.approx(trace.rms('nominal'), rel=0.01)
    assert float(first[3].text) == pytest.approx(trace.rms('mean'), rel=0.01)
    assert float(first[3].text) < 0.2 * float(first[2])


def test_surprise_is_counted_within_the_band(found):
    caption = consistency(found).blocks[0].caption
    (inside,) = re.findall(r'here it was in (\d+) %', caption)
    assert 70 <= int(inside) <= 100
    loud = replace(found, course=replace(found.course, nis=9 * found.course.nis))
    assert 'here it was in 0 %' in consistency(loud).blocks[0].caption


def test_null_directions_are_named(found):
    items = [
        item for block in identifiability(found).blocks for item in getattr(block, 'items', ())
    ]
    assert set(found.findings.null_directions) <= set(items)


def test_separate_answers_are_told_apart(found):
    two = with_two_answers(found)
    assert '2 components' in corner(two).blocks[0].caption
    table = identifiability(two).blocks[-1]
    assert [row[0] for row in table.rows] == ['70 %', '30 %']


def test_delays_are_measured_and_estimated(found):
    (table,) = latencies(found).blocks
    assert table.rows[0][2] == '3.50 ± 0.20 ms'
    known = replace(found.findings.parameters[0], name='mocap.delay', mean=0.012, sd=0.0001)
    more = replace(found, findings=replace(found.findings, parameters=(known,)))
    assert latencies(more).blocks[0].rows[0][:3] == ('mocap.delay', 'estimated', '12.0 ± 0.10 ms')


def test_what_was_left_out_is_marked(found):
    blocks = inputs(found).blocks
    row = blocks[1].rows[0]
    assert row[1].text == '950 (95.0 %)' and not row[1].mark
    assert row[2].text == '50 (5.0 %)' and row[2].mark == 'warn'
    assert blocks[2].items == ('The pose is in millimetres?',)


def test_changes_are_told_with_before_and_after(found):
    first, change = events(found).blocks
    assert [row[0] for row in first.rows] == ['1.00 s', '9.00 s']
    assert change.rows == (('upper.mass', 'kg', '1.000', '1.250', '+25.0 %'),)


def test_a_posterior_alone_says_what_is_missing(bare):
    text = report_text(bare)
    missing = re.findall(r'class="missing">(.*?)</p>', text)
    assert len(missing) >= 4
    assert any('comes without recordings' in each for each in missing)
    assert any('no estimates over time' in each for each in missing)


def test_where_nothing_is_told_in_combination_there_is_no_table_of_it(bare):
    none = replace(bare.findings, null_directions=(), combinations=(), modes=())
    assert len(identifiability(replace(bare, findings=none)).blocks) == 2


@pytest.mark.parametrize(
    ('mean', 'sd', 'expected'),
    [
        (1.17113, 0.0951, '1.171 ± 0.095'),
        (-0.2, 0.0301, '-0.200 ± 0.030'),
        (1234.5, 100.0, '1234 ± 100'),
        (2.1234e-5, 3.2e-7, '(2.123 ± 0.032)e-5'),
        (0.0, 0.01, '0.000 ± 0.010'),
        (5.0, 0.0, '5.00'),
        (np.nan, 1.0, 'unknown'),
    ],
)
def test_numbers_have_the_digits_that_are_known(mean, sd, expected):
    assert with_sd(mean, sd) == expected


def test_intervals_and_numbers_are_readable():
    assert span(0.06214, 0.06231) == '0.06214 to 0.06231'
    assert span(1.03, 1.33) == '1.03 to 1.33'
    assert [number(x) for x in (0.0, 112.4, 0.001, 3e-7)] == ['0.00', '112', '0.00100', '3.00e-07']


def test_a_saved_posterior_gets_a_report(bare, tmp_path, capsys):
    shutil.copy(CONFIG.with_suffix('.urdf'), tmp_path)
    save(tmp_path / 'arm.npz', bare.posterior)
    ask = ['report', str(tmp_path / 'arm.npz'), '-o', str(tmp_path / 'arm.html')]
    assert main(ask) == 0
    assert 'double_pendulum' in (tmp_path / 'arm.html').read_text()
    assert main(ask) == 2
    assert 'arm.html: exists' in capsys.readouterr().err


@pytest.mark.skipif(shutil.which('chromium') is None, reason='needs chromium')
def test_a_browser_has_nothing_to_complain_of(text, tmp_path):
    (tmp_path / 'report.html').write_text(text)
    ask = ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--window-size=1280,800']
    ask += ['--enable-logging=stderr', f'--user-data-dir={tmp_path / "profile"}', '--dump-dom']
    shown = subprocess.run(
        [*ask, f'file://{tmp_path}/report.html'], capture_output=True, text=True, check=True
    )
    assert shown.stdout.count('<img') == text.count('<img')
    assert 'CONSOLE' not in shown.stderr
