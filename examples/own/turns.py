#!/usr/bin/env python3
"""A way to send that is a program: syscost run --mechanism 'py=program:python3 turns.py',send"""
import os
import socket

out = socket.socket(fileno=0)  # standard input, as inetd has it
message = os.pread(int(os.environ["SYSCOST_MESSAGE"]), 1 << 30, 0)
turns = open(int(os.environ["SYSCOST_TURNS"]))
answers = open(int(os.environ["SYSCOST_ANSWERS"]), "w", buffering=1)  # a line at a time

print("ready", file=answers)
for turn in turns:
    messages = int(turn)
    for _ in range(messages):
        out.sendall(message)
    print(messages, messages * len(message), file=answers)
