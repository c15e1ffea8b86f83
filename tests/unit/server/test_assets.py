"""The files of the page: exactly those that exist are served."""

import re
from pathlib import Path

from grader.report.pages import assets


def test_every_file_of_the_page_is_served_with_its_type(repo_dir: Path) -> None:
    types = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
    types[".svg"] = "image/svg+xml"
    for file in (repo_dir / "grader/server/live/static").iterdir():
        assert assets("grader.server.live")[file.name] == (
            file.read_text("utf-8"),
            types[file.suffix],
        )


def test_scripts_import_only_files_that_are_there(repo_dir: Path) -> None:
    folder = repo_dir / "grader/server/live/static"
    for script in folder.glob("*.js"):
        names = re.findall(r' from "\./([^"]+)";', script.read_text("utf-8"))
        assert [name for name in names if not (folder / name).is_file()] == [], script
