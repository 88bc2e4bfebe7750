import threading

from tests.threads import running


def test_threads_that_run_are_named_and_those_that_ended_are_not():
    go_on = threading.Event()
    waiting = threading.Thread(target=go_on.wait, args=(20,), name="waiting")
    ended = threading.Thread(target=lambda: None, name="ended")
    waiting.start()
    ended.start()
    assert running([waiting, ended], within=0.01) == ["waiting"]
    go_on.set()
    assert running([waiting, ended], within=5) == []
