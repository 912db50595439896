"""Others on the machine read nothing of the data folder, whatever its files had for rights before."""

import os
import stat
import subprocess
import sys
from pathlib import Path

from evaluator.core.private_files import private_folder

PROGRAM = """
import sys
from pathlib import Path
from evaluator.core.private_files import keep_private
for data in map(Path, sys.argv[1:]):
    keep_private(data)
    (data / "new").mkdir(parents=True)
    (data / "new" / "file").write_text("x")
"""


def rights(path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def kept_private(*folders) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, *map(str, folders)], check=True)


def test_what_was_open_is_closed_what_is_new_is_private_and_links_stay_as_they_are(tmp_path):
    data = tmp_path / "data"
    (data / "store" / "public").mkdir(parents=True)
    (data / "note").write_text("x")
    (data / "program").write_text("x")
    for path, mode in ((data, 0o755), (data / "store", 0o777), (data / "note", 0o644), (data / "program", 0o755)):
        path.chmod(mode)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere").chmod(0o755)
    (data / "link").symlink_to(tmp_path / "elsewhere")
    (data / "broken").symlink_to(tmp_path / "nowhere")
    kept_private(data, tmp_path / "missing")
    assert rights(data) == (0o711 if os.geteuid() == 0 else 0o700)
    assert [rights(data / name) for name in ("store", "note", "program")] == [0o700, 0o600, 0o700]
    assert [rights(data / name) for name in ("new", "new/file")] == [0o700, 0o600]
    assert rights(tmp_path / "missing") == 0o700
    assert rights(tmp_path / "elsewhere") == 0o755


def test_folders_of_other_users_stay_as_they_are(tmp_path):
    folder = Path("/usr")
    if os.geteuid() == 0:
        folder = tmp_path / "data" / "postgres"
        folder.mkdir(parents=True)
        folder.chmod(0o755)
        os.chown(folder, 12345, 12345)
        kept_private(tmp_path / "data")
    assert rights(private_folder(folder)) == 0o755


def test_a_private_folder_is_made_or_closed(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o2775)
    assert rights(private_folder(tmp_path / "open")) == 0o2700
    assert rights(private_folder(tmp_path / "a" / "b")) == 0o700
