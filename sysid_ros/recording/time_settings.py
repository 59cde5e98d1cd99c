"""Where the stamps of a table come from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from sysid_ros.errors import ConfigurationError
from sysid_ros.settings import StrictSettings


class TimeSettings(StrictSettings):
    """Where the stamps come from: a constant rate, a column or an array.

    Attributes:
        rate: Samples per second of stamps that are a uniform clock, in [Hz].
        column: CSV column, by header name or index.
        array: NPZ array, or column of a Parquet file.
        nanoseconds: Column or array of the nanoseconds beside one of whole seconds, as messages of
            ROS have them.
        file: File of the column or array; the recording's ``file`` where left out.
        unit: ``s``, ``ms``, ``us`` or ``ns``.
    """

    rate: float | None = Field(default=None, gt=0)
    column: str | int | None = None
    array: str | None = None
    nanoseconds: str | int | None = None
    file: str | None = None
    unit: Literal['s', 'ms', 'us', 'ns'] = 's'

    @model_validator(mode='after')
    def _one_source(self) -> TimeSettings:
        given = [key for key in ('rate', 'column', 'array') if getattr(self, key) is not None]
        if len(given) != 1:
            raise ConfigurationError(
                'the time needs exactly one source', where='time',
                found=', '.join(given) or 'none', allowed='one of rate, column, array',
                fix='Write time: {column: t}, or time: {rate: 500} where rows have no stamps',
            )
        if self.nanoseconds is not None and (self.rate is not None or self.unit != 's'):
            raise ConfigurationError(
                'nanoseconds are added to a column or array of seconds', where='time.nanoseconds',
                found='a rate' if self.rate is not None else f'unit: {self.unit}',
                fix='Remove one of them')
        return self
