# Written by `python -m tests.faces`.
from wire.bulk.ordering import read as read
from wire.bulk.plan import Plan as Plan
from wire.bulk.progress import Progress as Progress
from wire.bulk.results import Result as Result
from wire.bulk.row_files import from_file as from_file
from wire.bulk.running import Run as Run
from wire.bulk.start import run as run
