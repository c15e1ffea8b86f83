<?php
class StandInForTests extends Exception implements ArrayAccess, Countable, IteratorAggregate
{
    public function __construct(...$all) {}

    public function __call($name, $all) { return $this; }

    public static function __callStatic($name, $all) { return new StandInForTests(); }

    public function __get($name) { return $this; }

    public function __set($name, $value) {}

    public function __invoke(...$all) { return $this; }

    public function __toString(): string { return ''; }

    public function offsetExists($key): bool { return false; }

    public function offsetGet($key): mixed { return $this; }

    public function offsetSet($key, $value): void {}

    public function offsetUnset($key): void {}

    public function count(): int { return 0; }

    public function getIterator(): Iterator { return new ArrayIterator([]); }
}
