"""A job that cron starts on several machines at once: while one does it, the others do not.

    */5 * * * *  SKEPTRON_ENDPOINT=http://10.0.0.1:7470,http://10.0.0.2:7470 python3 cron_job.py
"""
import sys
import time

from skeptron import Lost, Skeptron, SkeptronError


def steps():  # The job, in steps that each take less than a second.
    for step in range(3):
        time.sleep(0.1)
        yield step


try:
    hold = Skeptron().try_lock("report")
    if hold is None:
        sys.exit("another machine does it")
    with hold:
        for step in steps():
            hold.check()  # Raises Lost if another machine may be doing it by now.
            print(f"step {step}, fence {hold.fence}", flush=True)
except Lost as lost:
    sys.exit(f"given up in the middle: {lost}")
except SkeptronError as error:
    sys.exit(f"not started: {error}")
