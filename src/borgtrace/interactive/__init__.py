"""What `borgtrace.open` returns: a store with its questions, its page, and pictures of its tasks and machines.

The layers below know tables and arrays; this one puts what they can do within reach of a dot.
"""

from borgtrace.interactive.comparing import compare as compare
from borgtrace.interactive.store import Store as Store
from borgtrace.interactive.store import open as open
from borgtrace.interactive.trace import Trace as Trace
