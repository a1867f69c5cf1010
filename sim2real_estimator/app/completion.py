"""The command `sim2real-estimator completion`: a script that lets a shell complete the command."""

import argparse

_NAME = 'sim2real-estimator'
_SCRIPT = """# Completes sim2real-estimator; made by `sim2real-estimator completion {shell}`.
{first}_sim2real_estimator() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _sim2real_estimator {name}
"""
# zsh runs scripts of bash where it is told to.
_FIRST = {'bash': '', 'zsh': 'autoload -U +X bashcompinit && bashcompinit\n'}


def add_completion(commands):
    """Add the command; commands: of the parser, with all others in it."""
    completion = commands.add_parser(
        'completion',
        help='print what a shell completes the command by: eval "$(sim2real-estimator completion '
        'bash)"',
    )
    completion.add_argument('shell', choices=tuple(_FIRST), nargs='?', default='bash')
    completion.set_defaults(run=lambda chosen: _completion(chosen, commands))


def _completion(chosen, commands):
    """Print the script."""
    cases = [
        f'            {name}) words="{" ".join(_words(parser))}" ;;'
        for name, parser in commands.choices.items()
    ]
    script = _SCRIPT.format(
        shell=chosen.shell,
        first=_FIRST[chosen.shell],
        commands=' '.join(['--help', '--version', *commands.choices]),
        cases='\n'.join(cases),
        name=_NAME,
    )
    print(script, end='')
    return 0


def _words(parser):
    """Return options and choices of a parser, and those of its own subcommands."""
    words = []
    for action in parser._actions:
        words += [word for word in action.option_strings if word.startswith('--')]
        if isinstance(action, argparse._SubParsersAction):
            words += [word for each in action.choices.values() for word in _words(each)]
        words += action.choices or ()
    return list(dict.fromkeys(words))
