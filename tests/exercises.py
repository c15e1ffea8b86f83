"""Exercises in the layout of Exercism's tracks, in other languages than Python."""

import json
import re
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

_LUA_TESTS = """local sums = require('sums')

describe('sums', function()
  -- 42 is the answer
  it('two numbers make 42', function()
    local wanted = 42
    assert.are.equal(wanted, sums.sum({ 40, 2 }))
  end)

  it('texts', function()
    local wanted = {
      total = 'ab;c',
      parts = { 'ab', ';c' },
    }
    assert.same(wanted, sums.sum({ 'ab', ';c' }, { parts = true }))
  end)

  it('an empty list has no sum', function()
    assert.has_error(function() sums.sum({}) end, 'no numbers at all')
    assert.has.errors(function() sums.sum() end)
  end)
end)

describe('counter', function()
  local counter

  before_each(function()
    counter = sums.Counter()
  end)

  it('counts up', function()
    counter:add(3)
    counter:add(4)
    assert.are.equal(7, counter:total())
    assert.is_false(counter:is_empty())
  end)

  it('begins anew', function()
    assert.is_true(counter:is_empty())
    assert.is_nil(counter:mean())
  end)
end)
"""

_RIGHT = """export class EmptyError extends Error {}

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
_LUA_RIGHT = """local sums = {}

function sums.sum(all, how)
  if not all or #all == 0 then error('no numbers at all') end
  local total = type(all[1]) == 'number' and 0 or ''
  for _, each in ipairs(all) do
    if type(each) == 'number' then total = total + each else total = total .. each end
  end
  return how and { parts = all, total = total } or total
end

function sums.Counter()
  local all = {}
  return {
    add = function(_, n) table.insert(all, n) end,
    total = function() return sums.sum(all) end,
    mean = function() return #all > 0 and sums.sum(all) / #all or nil end,
    is_empty = function() return #all == 0 end,
  }
end

return sums
"""
_RUBY_TESTS = """require 'minitest/autorun'
require_relative 'sums'

class SumsTest < Minitest::Test
  def setup
    @counter = Counter.new
  end

  def test_two_numbers_make_42
    # skip
    wanted = 42 # the answer
    assert_equal wanted, Sums.sum([40, 2]), 'two numbers make 42'
  end

  def test_texts
    skip
    wanted = {
      total: 'ab;c',
      parts: %w[ab ;c]
    }
    assert_equal wanted, Sums.sum(%w[ab ;c], parts: true)
  end

  def test_an_empty_list_has_no_sum
    error = assert_raises(ArgumentError) { Sums.sum([]) }
    assert_equal 'no numbers at all', error.message
    assert_raises(EmptyError) do
      Counter.new.mean
    end
  end

  def test_counts_up
    counter = Counter.new
    counter.add(3)
    counter.add(4)
    assert_equal(7.0, counter.total)
    refute counter.empty?
  end

  def test_begins_anew
    counter = Counter.new
    assert counter.empty?
  end
end
"""
_RUBY_RIGHT = """class EmptyError < StandardError; end

module Sums
  def self.sum(all, parts: false)
    raise ArgumentError, 'no numbers at all' if all.empty?

    total = all.reduce { |a, b| a + b }
    parts ? { parts: all, total: total } : total
  end
end

class Counter
  def initialize
    @all = []
  end

  def add(number)
    @all << number
  end

  def total = Sums.sum(@all)

  def empty? = @all.empty?

  def mean
    raise EmptyError if empty?

    total / @all.size
  end
end
"""
_PHP_TESTS = """<?php

declare(strict_types=1);

use PHPUnit\\Framework\\TestCase;
use PHPUnit\\Framework\\Attributes\\TestDox;

class SumsTest extends TestCase
{
    public static function setUpBeforeClass(): void
    {
        require_once 'sums.php';
    }

    #[TestDox('two numbers make 42')]
    public function testTwoNumbersMake42(): void
    {
        $wanted = 42; // the answer
        $this->assertEquals($wanted, sum([40, 2]), 'it is 42');
    }

    public function testTexts(): void
    {
        $wanted = [
            'total' => 'ab;c',
            'parts' => ['ab', ';c'],
        ];
        $this->assertEquals($wanted, sum(['ab', ';c'], true));
    }

    public function testAnEmptyListHasNoSum(): void
    {
        $this->expectException(InvalidArgumentException::class);
        $this->expectExceptionMessage('numbers');
        sum([]);
    }

    public function testCountsUp(): void
    {
        $counter = new Counter();
        $counter->add(3)->add(4);
        $this->assertSame(7, $counter->total());
        self::assertFalse($counter->isEmpty());
    }

    public function testBeginsAnew(): void
    {
        $counter = new Counter();
        $this->assertTrue($counter->isEmpty());
        $this->assertNull($counter->last);
        $this->expectException(EmptyError::class);
        $counter->mean();
    }
}
"""
_PHP_RIGHT = """<?php

class EmptyError extends Exception {}

function sum(array $all, bool $parts = false)
{
    if (!$all) {
        throw new InvalidArgumentException('no numbers at all');
    }
    $total = array_reduce($all, fn($a, $b) => $a === null ? $b : (is_int($a) ? $a + $b : $a . $b));
    return $parts ? ['parts' => $all, 'total' => $total] : (string) $total;
}

class Counter
{
    public $last = null;
    private array $all = [];

    public function add(int $number): static
    {
        $this->all[] = $this->last = $number;
        return $this;
    }

    public function total(): int
    {
        return (int) sum($this->all);
    }

    public function isEmpty(): bool
    {
        return !$this->all;
    }

    public function mean(): float
    {
        return $this->isEmpty() ? throw new EmptyError() : $this->total() / count($this->all);
    }
}
"""
_BASH_TESTS = """#!/usr/bin/env bats
load bats-extra

lines_in() {
    printf '%s\\n' "$@"
}

@test 'two numbers make 42' {
    # [[ $BATS_RUN_SKIPPED == "true" ]] || skip
    wanted=42  # the answer
    run bash sums.sh 40 2
    assert_success
    assert_output "$wanted"
}

@test "texts" {
    [[ $BATS_RUN_SKIPPED == "true" ]] || skip
    local texts=("ab" ';c')
    wanted="$(lines_in "total: ab;c" ab)"
    run bash sums.sh --parts "${texts[@]}"
    assert_success
    assert_output --partial "$wanted"
    assert_line "total: ab;c"
    assert_equal "${#lines[@]}" "3"
}

@test "an empty list has no sum" {
    [[ $BATS_RUN_SKIPPED == "true" ]] || skip
    run bash sums.sh
    assert_failure
    assert_output 'no numbers at all'
}

@test "a sum is a number again" {
    [[ $BATS_RUN_SKIPPED == "true" ]] || skip
    wanted=$(cat <<END
7
END
)
    run bash sums.sh 3 0
    before=$output
    run bash sums.sh "$before" \\
        4
    assert_output "$wanted"
}
"""
_BASH_RIGHT = """#!/usr/bin/env bash
if [[ $1 == --parts ]]; then
    shift
    printf 'total: '
    printf '%s' "$@"
    printf '\\n%s' "$@"
    exit
fi
if (($# == 0)); then
    echo 'no numbers at all' >&2
    exit 1
fi
total=0
for each in "$@"; do ((total = total + each)); done
echo "$total"
"""
_RUST_TESTS = """use sums::*;
use std::collections::HashMap;

#[test]
fn two_numbers_make_42() {
    // 42 is the answer
    let wanted = 42;
    assert_eq!(sum(&[40, 2]), Ok(wanted), "it is {}", wanted);
}

#[test]
#[ignore]
fn texts() {
    let mut wanted = HashMap::new();
    wanted.insert("ab;c".to_string(), 4);
    wanted.insert("{".into(), 1);
    assert_eq!(lengths(&["ab;c", "{"]), wanted);
    assert!(lengths(&[]).is_empty());
}

#[test]
#[ignore]
fn an_empty_list_has_no_sum() {
    assert_eq!(Err(Error::Empty { text: "no numbers at all".to_string() }), sum(&[]));
    assert!(!sum(&[]).is_ok());
}

#[test]
#[ignore]
fn counts_up() {
    let mut counter = Counter::new();
    counter.add(3);
    counter.add(4);
    let wanted: Vec<u8> = vec![3, 4];
    assert_eq!(
        counter.numbers(),
        wanted,
    );
    assert_eq!(7, counter.total());
    assert!(counter.mean() == Some(3.5));
}

#[test]
#[ignore]
#[should_panic(expected = "no numbers")]
fn begins_anew() {
    Counter::new().total();
}

#[test]
#[ignore]
#[should_panic]
fn panics() {
    let counter = Counter::new();
    let _ = counter.total();
}
"""
_RUST_RIGHT = """use std::collections::HashMap;

#[derive(Debug, PartialEq)]
pub enum Error {
    Empty { text: String },
}

pub fn sum(all: &[i64]) -> Result<i64, crate::Error> {
    if all.is_empty() {
        return Err(Error::Empty { text: "no numbers at all".to_string() });
    }
    Ok(all.iter().fold(0, |a, b| a + b))
}

pub fn lengths(all: &[&str]) -> HashMap<String, usize> {
    all.iter().map(|each| (each.to_string(), each.len())).collect()
}

pub struct Counter {
    all: Vec<u8>,
}

impl Counter {
    pub fn new() -> Self {
        Counter { all: vec![] }
    }

    pub fn add(&mut self, n: u8) {
        self.all.push(n);
    }

    pub fn numbers(&self) -> &[u8] {
        &self.all
    }

    pub fn total(&self) -> i64 {
        let all: Vec<i64> = self.all.iter().map(|&n| n as i64).collect();
        sum(&all).expect("no numbers")
    }

    pub fn mean(&self) -> Option<f64> {
        Some(self.total() as f64 / self.all.len() as f64)
    }
}
"""
_JAVA_TESTS = """import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

public class SumsTest {
    private Sums counter;

    @BeforeEach
    public void setUp() {
        counter = new Sums();
    }

    @Test
    @DisplayName("two numbers (make) 42")
    public void twoNumbersMake42() {
        int wanted = 42; // the answer
        assertThat(Sums.sum(40, 2)).isEqualTo(wanted);
    }

    @Disabled("Remove to run test")
    @Test
    public void texts() {
        List<String> wanted = new ArrayList<>();
        wanted.add("ab;c");
        wanted.add("{");
        assertThat(Sums.texts("ab;c", "{")).isEqualTo(wanted);
        assertThat(Sums.texts("a", ")"))
            .containsExactly("a", ")");
        assertThat(Sums.texts()).isEmpty();
        assertThat(Sums.lengths("ab;c")).isEqualTo(Map.of("ab;c", 4));
    }

    @Disabled("Remove to run test")
    @Test
    public void anEmptyListHasNoSum() {
        assertThatExceptionOfType(IllegalArgumentException.class)
            .isThrownBy(() -> Sums.sum())
            .withMessage("no numbers at all");
        assertThatThrownBy(() -> counter.mean()).isInstanceOf(Sums.Empty.class);
    }

    @Disabled("Remove to run test")
    @Test
    public void countsUp() {
        counter.add(3);
        counter.add(4);
        assertThat(counter.total()).isEqualTo(7);
        assertThat(counter.mean()).isEqualTo(3.5);
        assertThat(counter.kind()).isEqualTo(Sums.Kind.SMALL);
        assertThat(counter.isEmpty()).isFalse();
    }

    @Disabled("Remove to run test")
    @Test
    public void beginsAnew() {
        assertThat(counter.isEmpty()).isTrue();
        assertThat(counter.last()).isNull();
    }
}
"""
_JAVA_RIGHT = """import java.util.*;

class Sums {
    public enum Kind { SMALL, LARGE }

    public static class Empty extends RuntimeException {}

    private final List<Integer> all = new ArrayList<>();

    public static int sum(int... numbers) {
        if (numbers.length == 0) throw new IllegalArgumentException("no numbers at all");
        return Arrays.stream(numbers).reduce(0, (a, b) -> a + b);
    }

    public static List<String> texts(String... texts) {
        return new LinkedList<>(Arrays.asList(texts));
    }

    public static Map<String, Integer> lengths(String... texts) {
        Map<String, Integer> lengths = new TreeMap<>();
        for (String each : texts) lengths.put(each, each.length());
        return lengths;
    }

    public void add(int number) {
        all.add(number);
    }

    public long total() {
        return sum(all.stream().mapToInt(each -> each).toArray());
    }

    public double mean() {
        if (all.isEmpty()) throw new Empty();
        return (double) total() / all.size();
    }

    public Kind kind() {
        return total() < 100 ? Kind.SMALL : Kind.LARGE;
    }

    public boolean isEmpty() {
        return all.isEmpty();
    }

    public Integer last() {
        return all.isEmpty() ? null : all.get(all.size() - 1);
    }
}
"""
_GO_TESTS = """package sums

import (
	"reflect"
	"testing"
)

type testCase struct {
	title   string
	numbers []int
	wanted  int // 42 is the answer
	fails   bool
}

var testCases = []testCase{
	{title: "two numbers make 42", numbers: []int{40, 2}, wanted: 42},
	{title: "an empty list has no sum at all", numbers: nil, fails: true},
}

func TestSum(t *testing.T) {
	for _, tc := range testCases {
		t.Run(tc.title, func(t *testing.T) {
			got, err := Sum(tc.numbers)
			switch {
			case tc.fails:
				if err == nil {
					t.Fatalf("Sum(%v) = %d, wanted no sum", tc.numbers, got)
				}
			case err != nil:
				t.Fatalf("Sum(%v) returned %v, wanted %d", tc.numbers, err, tc.wanted)
			case got != tc.wanted:
				t.Errorf("Sum(%v) = %d, wanted %d", tc.numbers, got, tc.wanted)
			}
		})
	}
}

func TestTexts(t *testing.T) {
	wanted := map[string]int{"ab": 2, ";c": 2}
	if got := Lengths([]string{"ab", ";c"}); !reflect.DeepEqual(got, wanted) {
		t.Errorf("Lengths() = %v, wanted %v", got, wanted)
	}
}

func TestCounter(t *testing.T) {
	counter := NewCounter()
	counter.Add(3)
	counter.Add(4)
	if got := counter.Total(); got != 7 {
		t.Errorf("Total() = %d", got)
	}
}

func TestMean(t *testing.T) {
	counter := NewCounter()
	counter.Add(3)
	counter.Add(4)
	if mean := counter.Mean(); mean != 3.5 || counter.IsEmpty() {
		t.Fatal("a counter that counts must have a mean")
	}
}

func BenchmarkSum(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Sum([]int{42})
	}
}
"""
_GO_RIGHT = """package sums

import "errors"

func Sum(all []int) (int, error) {
	if len(all) == 0 {
		return 0, errors.New("no numbers at all")
	}
	total := 0
	for _, each := range all {
		total = total + each
	}
	return total, nil
}

func Lengths(all []string) map[string]int {
	lengths := map[string]int{}
	for _, each := range all {
		lengths[each] = len(each)
	}
	return lengths
}

type Counter struct {
	all []int
}

func NewCounter() *Counter { return &Counter{} }

func (c *Counter) Add(number int) { c.all = append(c.all, number) }

func (c *Counter) Total() int {
	total, _ := Sum(c.all)
	return total
}

func (c *Counter) Mean() float64 { return float64(c.Total()) / float64(len(c.all)) }

func (c *Counter) IsEmpty() bool { return len(c.all) == 0 }
"""
_CPP_TESTS = """#include "sums.h"
#ifdef EXERCISM_TEST_SUITE
#include <catch2/catch.hpp>
#else
#include "test/catch.hpp"
#endif

#include <stdexcept>

using namespace std;

TEST_CASE("two numbers (make 42)", "[42]") {
    unsigned int wanted{42};  // the answer
    REQUIRE(wanted == sums::sum({40, 2}));
}

#if defined(EXERCISM_RUN_ALL_TESTS)
namespace {
const double accuracy = 0.1;
}

TEST_CASE("texts") {
    vector<string> wanted{"ab;c", "{"};
    vector<string> actual{sums::texts("ab;c{")};
    CHECK(actual == wanted);
    string const whole =
        "ab;"
        "c";
    REQUIRE(sums::texts("ab;c{").front() == whole);
    REQUIRE(sums::texts("").empty());
}

TEST_CASE("an empty list has no sum") {
    REQUIRE_THROWS_AS(sums::sum({}), invalid_argument);
    REQUIRE_THROWS(sums::counter<int>(-1).total());
    CHECK_NOTHROW(sums::sum({1}));
}

TEST_CASE("counter") {
    sums::counter<int> counter(2);
    SECTION("counts up") {
        REQUIRE_NOTHROW(counter.add(3));
        counter.add(4);
        REQUIRE(counter.total() == 7);
        REQUIRE_THAT(counter.mean(), Catch::Matchers::WithinAbs(3.5, accuracy));
    }
    SECTION("begins anew") {
        REQUIRE_FALSE(counter.is_full());
        REQUIRE(!counter.is_full());
        counter.add(1);
        REQUIRE(1 == counter.total());
    }
}
#endif
"""
_CPP_RIGHT = """// file: sums.cpp
#include "sums.h"
#include <stdexcept>

namespace sums {

int sum(const std::vector<int>& all) {
    if (all.empty()) throw std::invalid_argument("no numbers at all");
    int a = 0;
    for (int b : all) a = a + b;
    return a;
}

std::vector<std::string> texts(const std::string& text) {
    if (text.empty()) return {};
    return {text.substr(0, text.size() - 1), text.substr(text.size() - 1)};
}

}  // namespace sums
// file: sums.h
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace sums {

int sum(const std::vector<int>& all);
std::vector<std::string> texts(const std::string& text);

template <class T>
class counter {
   public:
    explicit counter(int size) : size(size) {
        if (size < 0) throw std::domain_error("size");
    }
    void add(T number) { all.push_back(number); }
    T total() const { return all.empty() ? 0 : sum(all); }
    float mean() const { return float(total()) / all.size(); }
    bool is_full() const { return all.size() == std::size_t(size); }

   private:
    int size;
    std::vector<T> all;
};

}  // namespace sums
"""
_PERL_TESTS = """#!/usr/bin/env perl
use Test2::V0;
use JSON::PP;
use FindBin qw<$Bin>;
use lib "$Bin/../lib";
use experimental qw<signatures>;

use sums qw<sum joined>;

imported_ok qw<sum joined> or bail_out;

my $wanted = 42;    # the answer
is( # begin: two numbers make 42
    sum( [ 40, 2 ] ),
    $wanted,
    "two numbers make 42",
); # end

is [ split /,/, joined(<<'TEXTS') // '' ], array { item "total: ab"; item ";c"; end; }, "texts";
ab
;c
TEXTS

subtest an_empty_list_has_no_sum => sub {
    like( dies { sum( [] ) }, qr/no numbers at all./, "no sum" );
    ok( lives { sum( [1] ) }, "a sum" );
};

{
    my $counter = sums->new( all => [] );
    is( $counter->empty, T, "empty" );
    $counter->add(3)->add(4);
    is( $counter->total, number(7.0), "total: 7" );
    is( $counter->empty, DF, "not empty" );
}

my @cases = do { local $/; @{ JSON::PP->new->decode(<DATA>) }; };
for my $case (@cases) {
    is( sum( $case->{given}{numbers} ), $case->{wanted}, $case->{title} );
}

done_testing;

__DATA__
[
  {"title": "the sum is 3.5", "given": {"numbers": [1, 2.5]}, "wanted": 3.5},
  {"title": "no sum of 7", "given": {"numbers": [-1]}, "wanted": -1}
]
"""
_PERL_RIGHT = """package sums;

use strict;
use warnings;
use Exporter qw<import>;
use List::Util qw<reduce>;
our @EXPORT_OK = qw<sum joined>;

sub sum {
    my ($all) = @_;
    die 'no numbers at all' if !@$all;
    return reduce { $a + $b } @$all;
}

sub joined {
    my ($text) = @_;
    return 'total: ' . join ',', split /\\n/, $text;
}

sub new { my ( $class, %self ) = @_; return bless \\%self, $class }
sub add { my ( $self, $number ) = @_; push @{ $self->{all} }, $number; return $self }
sub total { my ($self) = @_; return sum( $self->{all} ) }
sub empty { my ($self) = @_; return @{ $self->{all} } ? 0 : 1 }

1;
"""
_C_TESTS = """#include "test-framework/unity.h"
#include "sums.h"
#include <stdlib.h>

static counter_t *counter;

void setUp(void)
{
   counter = counter_create();
}

void tearDown(void)
{
   free(counter);
}

static void test_two_numbers_make_42(void)
{
   const int numbers[] = { 40, 2 };
   const int wanted = 42;   // the answer
   TEST_ASSERT_EQUAL_INT(wanted, sum(numbers, 2));
}

static void test_texts(void)
{
   TEST_IGNORE();   // delete this line to run test
   const char *wanted = "ab;c\\"{";
   TEST_ASSERT_EQUAL_STRING(wanted, text("ab;c"));
   TEST_ASSERT_NULL(text(""));
   TEST_ASSERT_NOT_NULL(text("a"));
}

static void test_an_empty_list_has_no_sum(void)
{
   TEST_IGNORE_MESSAGE("no sum (at all)");
   TEST_ASSERT_EQUAL(-1, sum(NULL, 0));
   TEST_ASSERT_EQUAL_STRING("no numbers at all", error());
}

static void test_counts_up(void)
{
   TEST_IGNORE();
   counter_add(counter, 3);
   TEST_ASSERT_EQUAL_UINT8_MESSAGE(4, counter_add(counter, 1), "it is 4");
   TEST_ASSERT_EQUAL_size_t(2, counter_count(counter));
   TEST_ASSERT_FALSE(counter_is_empty(counter));
}

static void test_begins_anew(void)
{
   TEST_IGNORE();
   TEST_ASSERT_TRUE(counter_is_empty(counter));
   TEST_ASSERT(!counter_count(counter));
}

int main(void)
{
   UNITY_BEGIN();
   RUN_TEST(test_two_numbers_make_42);
   RUN_TEST(test_texts);
   RUN_TEST(test_an_empty_list_has_no_sum);
   RUN_TEST(test_counts_up);
   RUN_TEST(
      test_begins_anew);
   return UNITY_END();
}
"""
_C_RIGHT = """// file: sums.c
#include "sums.h"
#include <stdlib.h>
#include <string.h>

int sum(const int *all, size_t count)
{
   int a = count ? 0 : -1;
   for (size_t i = 0; i < count; i++) {
      int b = all[i];
      a = a + b;
   }
   return a;
}

const char *text(const char *start)
{
   if (!*start)
      return NULL;
   char *whole = malloc(strlen(start) + 3);
   return strcat(strcpy(whole, start), "\\"{");
}

const char *error(void)
{
   return "no numbers at all";
}

counter_t *counter_create(void)
{
   return calloc(1, sizeof(counter_t));
}

unsigned int counter_add(counter_t *counter, unsigned int number)
{
   unsigned int a = counter->total, b = number;
   counter->count++;
   return counter->total = a + b;
}

size_t counter_count(const counter_t *counter)
{
   return counter->count;
}

bool counter_is_empty(const counter_t *counter)
{
   return !counter->count;
}
// file: sums.h
#ifndef SUMS_H
#define SUMS_H
#include <stdbool.h>
#include <stddef.h>

typedef struct {
   unsigned int total;
   size_t count;
} counter_t;

int sum(const int *all, size_t count);
const char *text(const char *start);
const char *error(void);
counter_t *counter_create(void);
unsigned int counter_add(counter_t *counter, unsigned int number);
size_t counter_count(const counter_t *counter);
bool counter_is_empty(const counter_t *counter);

#endif
"""
RIGHT = {
    "javascript": _RIGHT,
    "typescript": _RIGHT,
    "lua": _LUA_RIGHT,
    "ruby": _RUBY_RIGHT,
    "php": _PHP_RIGHT,
    "bash": _BASH_RIGHT,
    "go": _GO_RIGHT,
    "perl": _PERL_RIGHT,
    "rust": _RUST_RIGHT,
    "java": _JAVA_RIGHT,
    "cpp": _CPP_RIGHT,
    "c": _C_RIGHT,
}
"""An answer in each language."""
CASES = {
    "javascript": 10,
    "typescript": 10,
    "lua": 8,
    "ruby": 8,
    "php": 9,
    "bash": 6,
    "go": 5,
    "perl": 9,
    "rust": 10,
    "java": 13,
    "cpp": 13,
    "c": 11,
}
"""How many assertions the tests have."""
SOURCES = {"cpp": ".cpp", "c": ".c"}
"""How the name of the solution's other file ends, if it has a header."""
ENDINGS = {
    "javascript": ".js",
    "typescript": ".ts",
    "lua": ".lua",
    "ruby": ".rb",
    "php": ".php",
    "bash": ".sh",
    "go": ".go",
    "perl": ".pm",
    "rust": ".rs",
    "java": ".java",
    "cpp": ".h",
    "c": ".h",
}
_TESTS_OF = {
    "lua": _LUA_TESTS,
    "ruby": _RUBY_TESTS,
    "php": _PHP_TESTS,
    "bash": _BASH_TESTS,
    "go": _GO_TESTS,
    "perl": _PERL_TESTS,
    "rust": _RUST_TESTS,
    "java": _JAVA_TESTS,
    "cpp": _CPP_TESTS,
    "c": _C_TESTS,
}


def exercise(language: str, **files: str) -> dict[str, Any]:
    """Return the row of an exercise.

    Args:
        language: Its language.
        files: More files, or other ones, by path.
    """
    ending = ENDINGS[language]
    tests = _TESTS_OF.get(language, _TESTS)
    named = tests.replace("{slug}", "sums").replace("{ending}", ending if ending == ".ts" else "")
    examples = {f".meta/proof.ci{ending}": RIGHT[language]}
    if language in SOURCES:
        _, source, header = re.split(r"// file: .*\n", RIGHT[language])
        examples = {f".meta/example{SOURCES[language]}": source, f".meta/example{ending}": header}
    solutions = [f"sums.{path.rpartition('.')[2]}" for path in examples]
    config = {
        "files": {
            "solution": solutions,
            "test": [f"sums.spec{ending}"],
            "example": list(examples),
        }
    }
    return {
        "track": language,
        "slug": "sums",
        "files": {
            ".meta/config.json": json.dumps(config),
            **examples,
            **dict.fromkeys(solutions, ""),
            f"sums.spec{ending}": named,
            **files,
        },
    }
