#!/usr/bin/env python3
"""An operation that is a program: syscost run --operation 'py=program:python3 operation.py'"""
import os

turns = open(int(os.environ["SYSCOST_TURNS"]))
answers = open(int(os.environ["SYSCOST_ANSWERS"]), "w", buffering=1)  # a line at a time
text = b"a line of text " * 64

print("ready", file=answers)
for turn in turns:
    iterations = int(turn)
    for _ in range(iterations):
        words = text.split()
    print(iterations, iterations * len(text), file=answers)
    if iterations and len(words) != 256:
        raise SystemExit("the text has 256 words")
