"""A group with a subcommand that may be left out."""

import click


class DefaultCommandGroup(click.Group):
    """A group that takes its first subcommand where no other one is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of the first subcommand in front of its words and options."""
        at = 0
        while at < len(args) and args[at].partition("=")[0] in ("--json", "--debug", "--db"):
            at += 2 if args[at] == "--db" else 1
        if not ({*args[at : at + 1]} & {*self.commands, *ctx.help_option_names}):
            args = [*args[:at], next(iter(self.commands)), *args[at:]]
        return super().parse_args(ctx, args)
