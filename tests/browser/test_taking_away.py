"""What a reader takes away: citation, badge, results, archive of a run, previews of links, files of plots."""

import re
import tarfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import WIDE, Looker
from tests.browser.site import Site

pytestmark = [pytest.mark.full, pytest.mark.browser]


@pytest.fixture
def looker(lookers: tuple[Looker, Looker]) -> Looker:
    return lookers[0]


def opened(looker: Looker, address: str) -> Page:
    assert not looker.open(address, session=None, width=WIDE)
    return looker.page


def test_an_evaluation_is_cited_shared_and_downloaded(looker: Looker, site: Site, tmp_path):
    page = opened(looker, f"/evaluations/{site.things['completed']}/")
    page.get_by_role("link", name="Cite, share, download").click()
    expect(page.locator("#share-bibtex")).to_contain_text("@misc")
    badge = page.get_by_role("img", name="Badge with score and rank")
    expect(badge).to_be_visible()
    assert badge.evaluate("image => image.decode().then(() => image.naturalWidth)") > 50
    starts = {"CSV": b"task,", "JSON": b"{", "Parquet": b"PAR1"}
    for name, start in starts.items():
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name, exact=True).click(modifiers=["Alt"])
        waiting.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().lstrip(b"\xef\xbb\xbf").startswith(start), name


def test_the_whole_run_is_one_archive_with_digests(looker: Looker, site: Site, tmp_path):
    page = opened(looker, f"/evaluations/{site.things['completed']}/")
    page.get_by_role("link", name="Cite, share, download").click()
    address = page.get_by_role("link", name="archive (tar, BagIt)").get_attribute("href")
    answer = page.request.get(f"{looker.origin}{address}")
    (tmp_path / "run.tar").write_bytes(answer.body())
    with tarfile.open(tmp_path / "run.tar") as archive:
        names = archive.getnames()
    assert any(name.endswith("bagit.txt") for name in names)
    assert any(name.endswith("manifest-sha256.txt") for name in names)


def test_links_to_boards_and_evaluations_have_previews(looker: Looker, site: Site):
    for address in ("/boards/openagi/", f"/evaluations/{site.things['completed']}/"):
        page = opened(looker, address)
        told = {
            one.get_attribute("property"): one.get_attribute("content")
            for one in page.locator("meta[property^='og:']").all()
        }
        assert told["og:title"]
        assert told["og:description"]
        picture = page.request.get(re.sub(r"^https?://[^/]+", looker.origin, str(told["og:image"])))
        assert picture.body().startswith(b"\x89PNG")


def test_every_plot_has_marks_with_names_a_table_and_files(looker: Looker):
    page = opened(looker, "/boards/openagi/plots/")
    titles = page.locator(".plot-card > h2").all_inner_texts()
    assert titles
    for plot, title in zip(page.locator(".plot-card:has(> h2)").all(), titles, strict=True):
        expect(plot.locator("svg a").first).to_be_attached()
        plot.get_by_text("Data table").click()
        expect(plot.get_by_role("region", name=f"{title}: table")).to_be_visible()
        for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
            with page.expect_download() as waiting:
                plot.get_by_role("link", name=kind, exact=True).click()
            assert start in waiting.value.path().read_bytes()[:200], (title, kind)
