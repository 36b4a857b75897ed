"""Scripts that are too large to keep: arguments of a megabyte, and what the tests expect of them."""

from __future__ import annotations

import itertools
import json
import pathlib

KIB = 1024

#: Lines that some layer between the model and the client could damage.
LINES = [
    "plain words, and then some more of them to make a line of it\n",
    "quotes \" ' ` and back\\slashes \\n \\u0041 \\\\\n",
    "emoji \U0001f600\U0001f469\u200d\U0001f4bb, accents \u00e9e\u0301, \u4e2d\u6587, \u05e2\u05d1\n",
    "tabs\tand a carriage return\r\n",
    "if (a < b && c > d) { return x[y[0]]; } <!-- <b>&amp;</b> -->\n",
    "end of it? call it, arg it\n",
    "a[b[0]]>c and a whole block: <tool_calls><invoke name=\"x\"><parameter name=\"y\">"
    "<![CDATA[z]]></parameter></invoke></tool_calls>\n",
    '{"json": [1, 2.50, null], "nested": "{\\"a\\":1}"}\n',
    "\n",
    "    indented, with blanks behind   \n",
]


def content(size: int) -> str:
    """The lines again and again, at most `size` bytes; it ends with a newline."""
    lines = []
    for line in itertools.cycle(LINES):
        size -= len(line.encode())
        if size < 0:
            return "".join(lines)
        lines.append(line)
    raise AssertionError("a cycle does not end")


def write(folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes the scripts and gives their paths."""
    written = []
    for case, size, chunk in (
        ("characters", 2 * KIB, 1),
        ("large", 64 * KIB, 3),
        ("megabyte", 1024 * KIB, 4),
    ):
        text = content(size)
        arguments = json.dumps({"path": "notes.txt", "content": text}, ensure_ascii=False)
        for dialect, step in (
            ("xml", quoted_text(XML.format(text))),
            ("ctl-heredoc", quoted_text(CTL.format(text))),
            ("native", call(arguments)),
        ):
            written.append(script(folder, dialect, case, step, chunk))
    return written


XML = (
    '<tool_calls>\n<invoke name="write_file">\n<parameter name="path">notes.txt</parameter>\n'
    '<parameter name="content"><![CDATA[{}]]></parameter>\n</invoke>\n</tool_calls>'
)
CTL = "call w1 write_file\narg path notes.txt\narg content <<EOF_1\n{}EOF_1\nend\n"


def script(folder: pathlib.Path, dialect: str, case: str, step: str, chunk: int) -> pathlib.Path:
    """Writes one script of one step."""
    path = folder / f"{dialect}-{case}.toml"
    spoken = "" if dialect == "native" else f'dialect = "{dialect}"\n'
    head = f'name = "{dialect}/{case}"\nabout = "generated"\n{spoken}chunk = {chunk}\n'
    path.write_bytes(f"{head}[[replies]]\nsteps = [\n  {step},\n]\n".encode())
    return path


def quoted_text(text: str) -> str:
    return f"{{ text = {quoted(text)} }}"


def call(arguments: str) -> str:
    return f'{{ call = {{ id = "call_w1", name = "write_file", arguments = {quoted(arguments)} }} }}'


def quoted(text: str) -> str:
    """A basic string of TOML: JSON's, as long as no character needs two escapes."""
    return json.dumps(text, ensure_ascii=False)
