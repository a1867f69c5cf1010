from pathlib import Path

from sim2real_estimator.records import Status

PAGE = (Path(__file__).resolve().parent.parent / 'docs' / 'samples.md').read_text()


def test_the_page_explains_every_status_as_outcome_or_remark():
    outcomes, remarks = PAGE.split('There are further remarks')
    for status in Status:
        assert f'| {status.value} |' in (outcomes if status.is_outcome else remarks)
