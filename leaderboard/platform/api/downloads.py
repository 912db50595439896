"""Forms in which a list can be downloaded as one file: `?format=` or the header `Accept` asks for one."""

from collections.abc import Mapping
from types import MappingProxyType

from rest_framework.renderers import JSONRenderer

from leaderboard.platform.http import parquet


class _Download(JSONRenderer):
    """The view writes the file itself. What DRF renders are problems, which are JSON as everywhere."""


class _Csv(_Download):
    media_type = "text/csv"
    format = "csv"


class _Parquet(_Download):
    media_type = parquet.MEDIA_TYPE
    format = "parquet"


DOWNLOADS: Mapping[str, type[JSONRenderer]] = MappingProxyType({kind.format: kind for kind in (_Csv, _Parquet)})
"""By the value of `format`, which is also the ending of the file's name."""
