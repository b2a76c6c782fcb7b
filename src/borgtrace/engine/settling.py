"""What keeps the next task of a Python process of Spark cheap."""

import gc
import sys
from zipimport import zipimporter


def settle() -> None:
    """Spare this process work that Spark has it do before each task.

    Between two tasks Spark collects garbage, which looks at all that was ever imported (30 ms), and forgets what is
    known of places of modules: Python then reads the directory of Spark's own zip file again (110 ms).
    """
    # Once: what later tasks leave behind is still collected.
    if not gc.get_freeze_count():
        gc.freeze()
    for place, finder in list(sys.path_importer_cache.items()):
        # The directory itself stays known to `zipimport`, should a module be looked for.
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[place]
