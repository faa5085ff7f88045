"""Exceptions: one class for each code of the command's JSON and exit status."""

from __future__ import annotations

from typing import ClassVar, Optional, Sequence


class Error(Exception):
    """What the caller or the world did wrong. The text holds the values that did not fit, and the notes.

    code: the word of the command's JSON. notes: what was being done, innermost first.
    file, tensor: where it happened, None where that is not known.
    """

    code: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        notes: Sequence[str] = (),
        file: Optional[str] = None,
        tensor: Optional[str] = None,
    ) -> None:
        super().__init__(message, notes, file, tensor)
        self.message = message
        self.notes = list(notes)
        self.file = file
        self.tensor = tensor

    def __str__(self) -> str:
        return "\n  ".join([self.message, *self.notes])


class InvalidError(Error, ValueError):
    """An argument or configuration that no run could accept."""

    code = "invalid"


class ShapeError(Error, ValueError):
    """Tensors that do not fit together."""

    code = "shape"


class CorruptError(Error):
    """Bytes that are not what their header or configuration says."""

    code = "corrupt"


class NotFoundError(Error, LookupError):
    """An absent file, tensor, format, dialect or model."""

    code = "not_found"


class UnsupportedError(Error):
    """Meaningful, but not on this build or device."""

    code = "unsupported"


class ResourceError(Error):
    """Memory, disk or a device exhausted or lost."""

    code = "resource"


class PeerError(Error):
    """Another rank failed first; its message is this one's."""

    code = "peer"


_CLASSES = {cls.code: cls for cls in Error.__subclasses__()}


def make(code: str, message: str, notes: Sequence[str], file: Optional[str], tensor: Optional[str]) -> Error:
    """The exception of a code: called by the compiled module."""
    return _CLASSES[code](message, notes, file, tensor)
