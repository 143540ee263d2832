"""A worker that runs on several machines: one of them leads and works, the others wait to take over.

    SKEPTRON_ENDPOINT=http://10.0.0.1:7470,http://10.0.0.2:7470 python3 leader_worker.py
"""
import socket
import time

from skeptron import Skeptron, SkeptronError


def work(term):  # One step. Whatever it writes to should refuse terms that are smaller than the last.
    print(f"working in term {term}", flush=True)
    time.sleep(0.5)


client = Skeptron(ttl=10)
while True:
    try:
        with client.campaign("worker", value=socket.gethostname()) as hold:  # Waits until it leads.
            while True:
                hold.check()  # Raises Lost if another machine may lead by now.
                work(hold.fence)
    except SkeptronError as error:
        print(f"not leading: {error}", flush=True)
        time.sleep(1)
