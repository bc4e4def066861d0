"""Every code block that a reader may copy from the README or the docs is run here."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from ppm.protect.check import check_project
from ppm.spec.load import FOLDERS, parse

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [page for page in (README, *sorted((ROOT / "docs").glob("*.md"))) if page.exists()]
LANGUAGES = {"python", "text", "output", "console", "yaml", "sh"}
END_OF_BLOCK = "-- end of a block of the page --"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: Path
    language: str
    text: str
    first: int
    """Line number of the first line inside the fence."""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.first}"

    @property
    def closing(self) -> int:
        """Line number of the closing fence."""
        return self.first + len(self.text.splitlines())


def blocks_of(page: Path) -> list[Block]:
    return [
        Block(page, token.info.strip(), token.content, token.map[0] + 2)
        for token in MarkdownIt().parse(page.read_text("utf-8"))
        if token.type == "fence" and token.map
    ]


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks(*languages: str, pages: list[Path] = PAGES) -> list[object]:
    """The blocks in these languages, as parameters whose ids are file:line."""
    found = [block for block in BLOCKS if block.language in languages and block.page in pages]
    return [pytest.param(block, id=block.place) for block in found]


def shown_output(program: Block) -> Block | None:
    """The `text` or `output` block that follows a program with only blank lines between."""
    lines = program.page.read_text("utf-8").splitlines()
    after = [b for b in BLOCKS if b.page == program.page and b.first > program.closing]
    match after:
        case [Block(language="text" | "output", first=first) as block, *_]:
            between = lines[program.closing : first - 2]
            return None if any(map(str.strip, between)) else block
        case _:
            return None


def as_program(page: Path) -> str:
    """The page's Python blocks as one program, each line at its line number in the page."""
    lines = [""] * (len(page.read_text("utf-8").splitlines()) + 1)
    for block in blocks_of(page):
        if block.language == "python":
            lines[block.first - 1 : block.closing - 1] = block.text.splitlines()
            lines[block.closing - 1] = f"print({END_OF_BLOCK!r}, flush=True)"
    return "\n".join(lines)


def commands_of(console: str) -> list[tuple[str, str]]:
    r"""A console block as commands and the output shown for each.

    >>> commands_of("$ ppm check\nfine\n$ ppm schema\n")
    [('ppm check', 'fine\n'), ('ppm schema', '')]
    """
    head, *rest = re.split(r"^\$ ", console, flags=re.MULTILINE)
    assert not head.strip(), "a console block starts with `$ `"
    return [(command.strip(), output) for command, _, output in (r.partition("\n") for r in rest)]


def without_trailing_space(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.rstrip().splitlines())


def load_yaml_block(block: Block) -> None:
    """Load a document; its first line is a comment that names its file, and so its kind."""
    file = block.text.partition("\n")[0].removeprefix("# ")
    folder = file.partition("/")[0]
    assert folder in FOLDERS, (
        f"{block.place}: the first line must name a file, as in # patterns/a.yaml"
    )
    parse(block.text, FOLDERS[folder], file=file)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the shipped project, so that examples may write files."""
    place = tmp_path_factory.mktemp("readme") / ROOT.name
    ignored = shutil.ignore_patterns(".*", "__pycache__", "ppm", "tests", "build", "dist")
    return Path(shutil.copytree(ROOT, place, ignore=ignored))


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """What a reader's terminal would be: this environment active, 100 columns, no colours."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    terminal = {"COLUMNS": "100", "NO_COLOR": "1", "PATH": path, "PYSPARK_PYTHON": sys.executable}
    colours = {"FORCE_COLOR", "CLICOLOR_FORCE", "PY_COLORS"}
    return {name: v for name, v in os.environ.items() if name not in colours} | terminal


def test_there_is_a_readme() -> None:
    assert README.exists()


def test_the_readme_holds_only_blocks_that_are_run() -> None:
    others = [
        f"{block.place}: {block.language or 'a fence without a language'}"
        for block in BLOCKS
        if block.page == README and block.language not in LANGUAGES
    ]
    assert not others, f"{others} are not among {sorted(LANGUAGES)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_print_what_is_shown(
    page: Path, tmp_path: Path, workplace: Path, environment: dict[str, str]
) -> None:
    programs = [block for block in BLOCKS if block.page == page and block.language == "python"]
    if not programs:
        return
    script = tmp_path / f"{page.name}.py"
    script.write_text(as_program(page), "utf-8")
    result = subprocess.run(
        [sys.executable, str(script)],
        cwd=workplace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    printed = result.stdout.split(f"{END_OF_BLOCK}\n")
    for program, output in zip(programs, printed, strict=False):
        shown = shown_output(program)
        if shown:
            assert output == shown.text, f"{shown.place} is not what the program prints"


@pytest.mark.parametrize("block", blocks("output", pages=[README]))
def test_output_follows_its_program(block: Block) -> None:
    programs = [one for one in BLOCKS if one.language == "python"]
    assert block in map(shown_output, programs), f"{block.place} follows no program"


@pytest.mark.parametrize("block", blocks("console"))
def test_commands_print_what_is_shown(
    block: Block, workplace: Path, environment: dict[str, str]
) -> None:
    for command, shown in commands_of(block.text):
        program, *arguments = shlex.split(command)
        assert program in ("ppm", "python"), f"{block.place}: `{command}` is not ppm or python"
        result = subprocess.run(
            [str(Path(sys.executable).with_name(program)), *arguments],
            cwd=workplace,
            env=environment,
            stdout=subprocess.PIPE,
            # A program of one's own has Spark's start-up lines on its standard error.
            stderr=subprocess.STDOUT if program == "ppm" else subprocess.DEVNULL,
            text=True,
            check=False,
        )
        want, got = without_trailing_space(shown), without_trailing_space(result.stdout)
        is_equal = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
        assert is_equal, f"{block.place}: `{command}` prints\n{got}"


@pytest.mark.parametrize("block", blocks("yaml", pages=[README]))
def test_documents_load(block: Block) -> None:
    load_yaml_block(block)


def test_the_documents_of_the_readme_are_one_project(tmp_path: Path) -> None:
    for block in BLOCKS:
        if block.page == README and block.language == "yaml":
            path = tmp_path / block.text.partition("\n")[0].removeprefix("# ")
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text, "utf-8")
    assert check_project(tmp_path).faults == ()


@pytest.mark.parametrize("block", blocks("sh"))
def test_shell_commands_name_targets_that_exist(block: Block) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for line in block.text.splitlines():
        match shlex.split(line, comments=True):
            case [] | ["cd", _] | ["git", "clone", *_] | ["pip", "install", *_] | ["make"]:
                pass
            case ["make", *targets]:
                missing = [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)]
                assert not missing, f"{block.place}: make has no {', '.join(missing)}"
            case _:
                pytest.fail(f"{block.place}: `{line}` is not make, pip install, git clone or cd")
