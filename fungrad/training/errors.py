"""The error of files that cannot be read."""

from fungrad import FungradError


class CheckpointError(FungradError, ValueError):
    """A file is no checkpoint, is damaged, or holds something else; nothing has been read of it.

    Examples
    --------
    >>> import tempfile
    >>> from fungrad import training
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     try:
    ...         training.load(file.name)
    ...     except training.CheckpointError as error:
    ...         print(str(error).removeprefix(file.name))
     does not end as a checkpoint of fungrad does: it is another kind of file, or writing or copying it was interrupted
    More: python -m fungrad explain CheckpointError
    """
