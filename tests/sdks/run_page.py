"""The blocks of another library's code in a page of docs/migrate, in order and in one namespace:
run in `.venv-sdks` with the path of the page. Prints each example whose output is not the one that
the page shows, and the numbers of failures and examples as JSON on the last line.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from pathlib import Path

PAGE = Path(sys.argv[1])
BLOCK = re.compile(r"^```py sdks\n(.*?)^```", re.DOTALL | re.MULTILINE)

names = {"__name__": "__page__"}
text = PAGE.read_text("utf-8")
runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
for block in BLOCK.finditer(text):
    line = text.count("\n", 0, block.start(1))
    test = doctest.DocTestParser().get_doctest(block[1], names, PAGE.name, str(PAGE), line)
    assert test.examples, f"line {line}: no example with its output"
    runner.run(test, out=sys.stdout.write, clear_globs=False)
    names.update(test.globs)
print(json.dumps([runner.failures, runner.tries]))
