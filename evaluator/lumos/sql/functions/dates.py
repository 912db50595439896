"""MySQL's functions of dates, for SQLite. Dates are text; functions of other texts are NULL.

The current time is fixed to the time of the dump, so that results are deterministic.
"""

import calendar
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta

from evaluator.lumos.sql.outcome import Cell

NOW = "2023-04-28 07:04:13"
_DATE = re.compile(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.\d*)?)?)?\s*")
_UNITS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_FORMATS: Mapping[str, Callable[[datetime], str]] = {
    "Y": lambda moment: f"{moment.year:04}",
    "y": lambda moment: f"{moment.year % 100:02}",
    "m": lambda moment: f"{moment.month:02}",
    "c": lambda moment: str(moment.month),
    "M": lambda moment: calendar.month_name[moment.month],
    "b": lambda moment: calendar.month_abbr[moment.month],
    "d": lambda moment: f"{moment.day:02}",
    "e": lambda moment: str(moment.day),
    "j": lambda moment: f"{moment.timetuple().tm_yday:03}",
    "W": lambda moment: calendar.day_name[moment.weekday()],
    "a": lambda moment: calendar.day_abbr[moment.weekday()],
    "w": lambda moment: str(moment.isoweekday() % 7),
    "H": lambda moment: f"{moment.hour:02}",
    "k": lambda moment: str(moment.hour),
    "h": lambda moment: f"{(moment.hour - 1) % 12 + 1:02}",
    "I": lambda moment: f"{(moment.hour - 1) % 12 + 1:02}",
    "l": lambda moment: str((moment.hour - 1) % 12 + 1),
    "i": lambda moment: f"{moment.minute:02}",
    "s": lambda moment: f"{moment.second:02}",
    "S": lambda moment: f"{moment.second:02}",
    "f": lambda moment: "000000",  # noqa: ARG005
    "p": lambda moment: "AM" if moment.hour < 12 else "PM",
    "T": lambda moment: moment.strftime("%H:%M:%S"),
    "r": lambda moment: moment.strftime("%I:%M:%S %p"),
}


def moment_of(value: Cell) -> datetime | None:
    """The date and time in a value; None for other values."""
    match = _DATE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def standard(text: str, *, with_time: bool) -> str | None:
    """A date in the databases' format: `2018-3-9` is `2018-03-09`, or `2018-03-09 00:00:00` with time."""
    moment = moment_of(text)
    return None if moment is None else _text(moment, with_time=with_time)


def date_format(value: Cell, pattern: Cell) -> Cell:
    """DATE_FORMAT."""
    moment = moment_of(value)
    if moment is None or not isinstance(pattern, str):
        return None

    def formatted(match: re.Match[str]) -> str:
        write = _FORMATS.get(match[1])
        return match[1] if write is None else write(moment)

    return re.sub("%(.)", formatted, pattern, flags=re.DOTALL)


def shifted(value: Cell, number: Cell, unit: Cell) -> Cell:
    """A date plus a number of units; without time unless the date has one, or the unit is at most an hour."""
    moment = moment_of(value)
    if moment is None or not isinstance(value, str) or not isinstance(number, int | float | str):
        return None
    try:
        count, name = round(float(number)), str(unit).upper()
        with_time = len(value.strip()) > 10 or name in ("SECOND", "MINUTE", "HOUR")
        if name in _MONTHS:
            year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[name], 12)
            last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 1
            later = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
            return _text(later, with_time=with_time)
        return _text(moment + timedelta(seconds=count * _UNITS[name]), with_time=with_time)
    except (ValueError, OverflowError, KeyError):
        return None


def difference(unit: Cell, first: Cell, second: Cell) -> Cell:
    """TIMESTAMPDIFF: whole units from the first to the second."""
    start, end, name = moment_of(first), moment_of(second), str(unit).upper()
    if start is None or end is None:
        return None
    if name in _UNITS:
        return int((end - start).total_seconds() / _UNITS[name])
    if name not in _MONTHS:
        return None
    sign = 1 if end >= start else -1
    early, late = (start, end) if sign > 0 else (end, start)
    months = (late.year - early.year) * 12 + late.month - early.month
    months -= (late.day, late.time()) < (early.day, early.time())
    return sign * (months // _MONTHS[name])


def days_between(first: Cell, second: Cell) -> Cell:
    """DATEDIFF: days from the second to the first."""
    end, start = moment_of(first), moment_of(second)
    return None if start is None or end is None else (end.date() - start.date()).days


def _text(moment: datetime, *, with_time: bool) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S" if with_time else "%Y-%m-%d").rjust(19 if with_time else 10, "0")


def _as_number(value: Cell) -> Cell:
    """A date in numeric context, as in MySQL: 20180319, or 20180319153929 with time."""
    moment = moment_of(value)
    if moment is None or not isinstance(value, str):
        return None
    return int(moment.strftime("%Y%m%d%H%M%S" if len(value.strip()) > 10 else "%Y%m%d"))


def _part(read: Callable[[datetime], Cell]) -> Callable[[Cell], Cell]:
    """A function of one date."""

    def of(value: Cell) -> Cell:
        moment = moment_of(value)
        return None if moment is None else read(moment)

    return of


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Cell]]] = {
    "YEAR": (1, _part(lambda moment: moment.year)),
    "QUARTER": (1, _part(lambda moment: (moment.month + 2) // 3)),
    "MONTH": (1, _part(lambda moment: moment.month)),
    "MONTHNAME": (1, _part(lambda moment: calendar.month_name[moment.month])),
    "WEEKOFYEAR": (1, _part(lambda moment: moment.isocalendar().week)),
    "DAY": (1, _part(lambda moment: moment.day)),
    "DAYOFMONTH": (1, _part(lambda moment: moment.day)),
    "DAYOFYEAR": (1, _part(lambda moment: moment.timetuple().tm_yday)),
    "DAYOFWEEK": (1, _part(lambda moment: moment.isoweekday() % 7 + 1)),
    "WEEKDAY": (1, _part(lambda moment: moment.weekday())),
    "DAYNAME": (1, _part(lambda moment: calendar.day_name[moment.weekday()])),
    "HOUR": (1, _part(lambda moment: moment.hour)),
    "MINUTE": (1, _part(lambda moment: moment.minute)),
    "SECOND": (1, _part(lambda moment: moment.second)),
    "DATE": (1, _part(lambda moment: _text(moment, with_time=False))),
    "TIME": (1, _part(lambda moment: moment.strftime("%H:%M:%S"))),
    "TIMESTAMP": (1, _part(lambda moment: _text(moment, with_time=True))),
    "LAST_DAY": (
        1,
        _part(lambda moment: str(date(moment.year, moment.month, calendar.monthrange(moment.year, moment.month)[1]))),
    ),
    "TO_DAYS": (1, _part(lambda moment: moment.toordinal() + 365)),
    "UNIX_TIMESTAMP": (1, _part(lambda moment: int(moment.timestamp()))),
    "DATE_FORMAT": (2, date_format),
    "DATEDIFF": (2, days_between),
    "TIMESTAMPDIFF": (3, difference),
    "MY_DATE_NUMBER": (1, _as_number),
    "MY_SHIFTED": (3, shifted),
    "MY_NOW": (0, lambda: NOW),
    "MY_TODAY": (0, lambda: NOW[:10]),
    "MY_TIME": (0, lambda: NOW[11:]),
}
"""Number of arguments and implementation, by name."""
