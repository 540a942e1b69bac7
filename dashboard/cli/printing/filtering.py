"""`--filter`: the language of the screens, on the lists of the command line."""

import click

from dashboard.cli.printing.output import fail
from dashboard.views.words.filters import Filter, FilterError, parse_filter


class _FilterType(click.ParamType[Filter]):
    name = "filter"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Filter:
        if isinstance(value, Filter):
            return value
        try:
            return parse_filter(str(value))
        except FilterError as error:
            fail("usage", f"--filter: {error}")


filter_option = click.option(
    "--filter",
    "row_filter",
    type=_FilterType(),
    default="",
    metavar="TERMS",
    help='A filter, such as: scout "two words" status:busy -tool:search >5s /regex/',
)
"""Gives a subcommand the argument `row_filter`, a `Filter`; an empty one leaves nothing out."""


def check_filter(row_filter: Filter) -> None:
    """End the subcommand where its filter has turned out to take too long."""
    if row_filter.fault:
        fail("usage", f"--filter: {row_filter.fault}")
