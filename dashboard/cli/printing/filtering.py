"""`--filter`: the language of the screens, on the lists of the command line."""

import click

from dashboard.cli.printing.output import WRONG_USAGE, fail
from dashboard.views.words.filters import Filter, FilterError, filter_of


class _Written(click.ParamType[Filter]):
    name = "filter"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        if isinstance(value, Filter):
            return value
        try:
            return filter_of(str(value))
        except FilterError as error:
            fail("usage", f"--filter: {error}", "", WRONG_USAGE)


filtering = click.option(
    "--filter",
    "wanted",
    type=_Written(),
    default="",
    metavar="TERMS",
    help='A filter, such as: scout "two words" status:busy -tool:search >5s /regex/',
)
"""Gives a subcommand the argument `wanted`, a `Filter`; an empty one leaves nothing out."""


def checked(wanted: Filter) -> None:
    """End the subcommand where its filter has turned out to take too long."""
    if wanted.fault:
        fail("usage", f"--filter: {wanted.fault}", "", WRONG_USAGE)
