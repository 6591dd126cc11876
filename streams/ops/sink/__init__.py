"""A sink: it copies turns and events from the log into a database file, each exactly once."""

from streams.ops.sink.database import Database, FileFailed, FileRefused
from streams.ops.sink.run import LogTruncated, Progress, Sink

__all__ = ["Database", "FileFailed", "FileRefused", "LogTruncated", "Progress", "Sink"]
