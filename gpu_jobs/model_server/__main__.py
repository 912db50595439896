"""`python -m gpu_jobs.model_server CONFINEMENT`, started by `process`."""

import sys

from gpu_jobs.model_server.server import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
