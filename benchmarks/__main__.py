"""Install the peers where they are not, and go on in their environment."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.environments import Environments
from benchmarks.options import ROOT, parse

options = parse()
if options.list or options.report:  # nothing is run, so no peer is needed
    from benchmarks.run import main

    raise SystemExit(main())
python = Environments(None if options.no_env else options.env).python("peers")
raise SystemExit(subprocess.run([str(python), "-m", "benchmarks.run", *sys.argv[1:]], cwd=ROOT).returncode)
