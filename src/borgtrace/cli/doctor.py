"""``borgtrace doctor``: what borgtrace finds on this machine."""

from borgtrace.cli._options import Json


def doctor(as_json: Json = False) -> None:
    """Show versions, memory, disk and the optional programs, for a bug report or before a large job.

    Example: borgtrace doctor
    """
    from borgtrace.cli._machine_check import checks
    from borgtrace.cli._printing import print_json

    found = checks()
    if as_json:
        print_json({check.name: {"found": check.found, "needed_for": check.needed_for} for check in found}, indent=1)
        return
    width = max(len(check.name) for check in found)
    for check in found:
        print(f"{check.name:<{width}}  {check.found or f'not found; needed for {check.needed_for}'}")
