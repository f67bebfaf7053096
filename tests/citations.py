"""Whether what a comment or a page cites exists: sections of the documents in docs/spec, rulings, and paths of the repository.

A citation is a document and what follows it, `networking.md 5.3`, `vm-domains.md 4.2, 4.3 and 8.7`, or `ruling 37`. A path is what begins
with a folder of the top level. Used by tests/tidy (rule `citation`)."""
import re
from pathlib import Path

SPECIFICATION = "docs/spec"
_HEADING = re.compile(r"^#{1,6} +(?:Appendix +)?((?:[A-Z]\.?)?\d*(?:\.\d+)*[a-z]?)(?: / (\d+(?:\.\d+)*))?(?:[.:)]|(?= ))", re.MULTILINE)
# Rows of tables and points of lists that have a number: steps (S8), hazards (H54), cases (AC45, D15, 39).
_ROW = re.compile(r"^ *(?:\| *|- |)\**((?:[A-Z]{1,3}-?)?\d+[a-z]?)\b", re.MULTILINE)
_NUMBER = r"(?:[A-Z]{1,2}\.?)?\d+(?:\.\d+)*[a-z]?"
_AFTER = re.compile(rf"\s*(?:§\s*|section\s+|sections\s+|appendix\s+)?({_NUMBER})")
_MORE = re.compile(rf"\s*(?:,|and|or|to|–|-)\s*({_NUMBER})(?![\w.]*\.(?:md|py|cpp|hpp))")
_RULING = re.compile(r"\brulings?\s+(\d{1,3})((?:\s*(?:,|and|to|–)\s*\d{1,3})*)")
_PATH = re.compile(r"(?<![\w./<{$*-])((?:src|include|tests|fuzz|docs|conf|unit-files|cmake)/[\w./+-]*[\w+])(?![\w*<{$%\[])")


class Specification:
    """The documents, with the numbers of their sections; the numbers of rulings that a table of the index has."""

    def __init__(self, root):
        self.folder = Path(root) / SPECIFICATION
        self.sections = {}
        for path in sorted(self.folder.glob("*.md")):
            text = path.read_text()
            numbers = [number for both in _HEADING.findall(text) for number in both] + _ROW.findall(text)
            self.sections[path.name] = {number.rstrip(".") for number in numbers if number}
        names = "|".join(re.escape(name) for name in self.sections if name != "README.md")
        self.cited = re.compile(rf"(?<![\w/-])(?:docs/spec/)?({names or '(?!)'})\b[`*)\]]{{0,3}}")
        index = self.folder / "README.md"
        self.rulings = {int(number) for number in re.findall(r"^(?:\| *|)(\d{1,3})(?: *\||\. )", index.read_text(), re.MULTILINE)} \
            if index.exists() else set()

    def is_there(self):
        return bool(self.sections)

    def missing(self, line):
        """What `line` cites and does not exist, as texts."""
        found = []
        for match in self.cited.finditer(line) if ".md" in line else ():
            found += self._sections_after(match.group(1), line, match.end())
        for match in _RULING.finditer(line) if "ruling" in line else ():
            numbers = [int(match.group(1)), *map(int, re.findall(r"\d+", match.group(2)))]
            found += [f"ruling {number}: {SPECIFICATION}/README.md has none" for number in numbers if number not in self.rulings]
        return found

    def _sections_after(self, document, line, at):
        known = self.sections[document]
        match = _AFTER.match(line, at)
        while match:
            number = match.group(1).rstrip(".")
            is_row_of_appendix = number[0] in known and number[1:] in known  # A6: row 6 of appendix A
            if number not in known and not is_row_of_appendix and not any(one.startswith(number + ".") for one in known):
                return [f"{document} {number}: there is no such section"]
            match = _MORE.match(line, match.end())
        return []


def missing_paths(root, line):
    """Paths of the repository in `line` that are not there: as they are written, or without the ending."""
    gone = []
    if "/" not in line:
        return gone
    for match in _PATH.finditer(line):
        path = match.group(1).rstrip(".")
        if not (Path(root) / path).exists() and not any((Path(root) / path).parent.glob(Path(path).name + "*")):
            gone.append(f"{path}: no such file")
    return gone
