"""Errors that are meant for a user: one sentence that says what is wrong and what to do next."""


class M4Error(Exception):
    """A mistake or a missing thing that the user can mend. The command line prints it and exits with status 2."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: in a notebook too the sentence is enough; `%debug` has the frames."""
        return [f"{type(self).__name__}: {self}"]


class InfrastructureError(M4Error):
    """Docker, the network, a disk or a provider failed; never to be counted as an agent's failure."""
