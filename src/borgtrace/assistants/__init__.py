"""What an assistant (a language model) may ask of a store, over the Model Context Protocol.

Every answer says what it is about: which trace, how much of it, in which units, computed from what. An assistant that
repeats an answer can then repeat its limits, too.
"""

from borgtrace.assistants.server import make_server as make_server
from borgtrace.assistants.server import serve as serve
