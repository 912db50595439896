"""Problem documents (RFC 9457), as far as a worker reads them."""

from gpu_jobs.contract.message import Message


class Problem(Message):
    """Why a call was refused."""

    code: str = ""
    """The site's short name of the problem; empty if it gave none."""
    missing: tuple[str, ...] = ()
    """Digests of artefacts, or keys of tasks, that the site lacks."""
