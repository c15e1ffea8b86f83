"""Source that the original harnesses put before a submission's code."""

IMPORTS = """\
from bisect import bisect, bisect_left, bisect_right, insort
from collections import *
from copy import deepcopy
from functools import *
from heapq import *
from itertools import *
from math import atan2, ceil, comb, factorial, floor, gcd, inf, isqrt, lcm
from math import log, log2, log10, pi, prod, sqrt
from operator import and_, iand, itemgetter, mul, or_, sub, xor
from os.path import commonprefix
from random import randint, randrange, shuffle
from re import search as re_search
from string import ascii_lowercase, ascii_uppercase
from sys import maxsize
from time import time
from typing import *
import bisect, collections, copy, datetime, functools, heapq, io, itertools, math
import operator, os, random, re, string, sys


"""
NODES = """\
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right


def list_node(values):
    first = None
    for value in reversed(values):
        first = ListNode(value, first)
    return first


def is_same_list(one, other):
    while one and other and one.val == other.val:
        one, other = one.next, other.next
    return one is None and other is None


def tree_node(values):
    nodes = [None if value is None else TreeNode(value) for value in values]
    children = iter(nodes[1:])
    for node in nodes:
        if node is not None:
            node.left, node.right = next(children, None), next(children, None)
    return nodes[0] if nodes else None


def is_same_tree(one, other):
    waiting = [(one, other)]
    while waiting:
        one, other = waiting.pop()
        if one is None and other is None:
            continue
        if one is None or other is None or one.val != other.val:
            return False
        waiting += [(one.left, other.left), (one.right, other.right)]
    return True


"""
LEETCODE = IMPORTS + NODES
"""What answers to LeetCode's problems use without importing it, and what tests make nodes with."""
