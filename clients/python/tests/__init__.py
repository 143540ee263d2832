"""Tests of the Python client: `python3 -m unittest discover -t . -s tests` in `clients/python`."""
