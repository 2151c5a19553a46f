"""`python -m zh_elmo` is `zh-elmo`."""

from __future__ import annotations

import sys

from zh_elmo.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
