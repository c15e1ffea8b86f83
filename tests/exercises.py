"""Exercises in the layout of Exercism's tracks, in other languages than Python."""

import json
from typing import Any

_TESTS = """import { afterEach, beforeEach, describe, expect, test, xtest } from '@jest/globals';
import { Counter, EmptyError, sum } from './{slug}{ending}';

describe('sums', () => {
  // 42 is the answer
  test('two numbers make 42', () => {
    const wanted = 42;
    expect(sum([40, 2])).toBe(wanted);
  });

  xtest('texts', () => {
    const wanted = {
      total: 'ab;c',
      parts: ['ab', ';c'],
    };
    expect(
      sum(['ab', ';c'], { parts: true }),
    ).toEqual(wanted);
  });

  test('an empty list has no sum', () => {
    expect(() => sum([])).toThrow(new Error('no numbers at all'));
    expect(() => {
      sum(null);
    }).toThrow('numbers');
    expect(() => sum()).toThrow();
  });
});

describe('counter', () => {
  let counter;

  beforeEach(() => {
    counter = new Counter();
  });

  test('counts up', async () => {
    await counter.add(3).add(4);
    expect(counter.total).toEqual(7);
    expect(counter.mean()).toBeCloseTo(3.5, 3);
    expect(counter.isEmpty()).toBeFalsy();
  });

  test('begins anew', () => {
    expect(() => counter.mean()).toThrow(EmptyError);
    expect(new Counter().isEmpty()).toBeTruthy();
  });
});
"""

RIGHT = """export class EmptyError extends Error {}

export function sum(all, { parts } = {}) {
  if (!all?.length) throw new Error('no numbers at all');
  const total = all.reduce((a, b) => a + b);
  return parts ? { parts: all, total } : total;
}

export class Counter {
  all = [];

  add(n) {
    this.all.push(n);
    return this;
  }

  get total() {
    return sum(this.all);
  }

  mean() {
    if (this.isEmpty()) throw new EmptyError('empty');
    return this.total / this.all.length;
  }

  isEmpty() {
    return this.all.length === 0;
  }
}
"""
"""An answer in JavaScript and in TypeScript."""


def exercise(language: str, tests: str = _TESTS, **files: str) -> dict[str, Any]:
    """Return the row of an exercise in JavaScript or TypeScript.

    Args:
        language: Its name.
        tests: The file of tests, in which `{slug}` and `{ending}` are filled in.
        files: More files, or other ones, by path.
    """
    ending = {"javascript": ".js", "typescript": ".ts"}[language]
    named = tests.replace("{slug}", "sums").replace("{ending}", ending if ending == ".ts" else "")
    config = {
        "files": {
            "solution": [f"sums{ending}"],
            "test": [f"sums.spec{ending}"],
            "example": [f".meta/proof.ci{ending}"],
        }
    }
    return {
        "track": language,
        "slug": "sums",
        "files": {
            ".meta/config.json": json.dumps(config),
            f".meta/proof.ci{ending}": RIGHT,
            f"sums{ending}": "export function sum() {}\n",
            f"sums.spec{ending}": named,
            **files,
        },
    }
