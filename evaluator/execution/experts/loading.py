"""One lock for all that makes networks, and the precision in which float32 networks compute."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

_LOCK = RLock()


@contextmanager
def loading() -> Iterator[None]:
    """Make or load a network within this, wherever in the process.

    While `transformers` loads a model it replaces `PreTrainedModel.tie_weights`, the initialisers of `torch.nn.init`
    and torch's default dtype, for the whole process. Two loads at a time put back each other's replacements: from then
    on no model with tied weights can be loaded, and networks that another thread makes meanwhile get another dtype.

    Networks in float32 compute in float32 afterwards: torch lets cuDNN round their inputs to 10 bits (TF32) unless
    told otherwise.
    """
    with _LOCK:
        try:
            yield
        finally:
            torch = sys.modules.get("torch")
            if torch is not None:
                torch.backends.cuda.matmul.allow_tf32 = False
                torch.backends.cudnn.allow_tf32 = False
