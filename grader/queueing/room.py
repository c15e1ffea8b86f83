"""Steps of the ledger's scripts: room in a Redis that has a limit, before it is full.

A full Redis refuses Celery's bookkeeping too, and then no worker can take what fills it. So new
submissions are refused while there is still room for that. And rather than to refuse them until
finished verdicts and suites are too old to keep, both are dropped: verdicts can be found again by
grading, and suites are sent again by whoever submits with them.
"""

IS_FULL = """
local function memory()
  local told = redis.call('INFO', 'memory')
  local function bytes(name) return tonumber(string.match(told, '\\n' .. name .. ':(%d+)')) or 0 end
  return bytes('used_memory') - bytes('mem_not_counted_for_evict'), bytes('maxmemory')
end
local function is_full()
  local used, most = memory()
  return most > 0 and used > 0.9 * most
end
local FULL = {err = 'OOM nine tenths of the memory of Redis are taken'}
"""
"""Defines `is_full()`, and the error `FULL` for what needs memory then."""

MAKE_ROOM = """
local function drop_suites(bytes, unused_s)
  local found, cursor = {}, '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', 'grader:suite:*', 'COUNT', 1000)
    cursor = page[1]
    for _, suite in ipairs(page[2]) do
      local idle = redis.call('OBJECT', 'IDLETIME', suite)
      if idle >= unused_s then found[#found + 1] = {idle, suite} end
    end
  until cursor == '0'
  table.sort(found, function(a, b) return a[1] > b[1] end)
  for _, each in ipairs(found) do
    if bytes <= 0 then return end
    bytes = bytes - redis.call('STRLEN', each[2])
    redis.call('DEL', each[2])
  end
end
local function make_room(most_verdicts, unused_s)
  local used, most = memory()
  if most == 0 or used < 0.8 * most then return end
  local bytes = used - 0.7 * most
  for _ = 1, most_verdicts do
    local size = drop_oldest_verdict()
    if not size then
      drop_suites(bytes, unused_s)
      return
    end
    bytes = bytes - size
    if bytes <= 0 then return end
  end
end
"""
"""Defines `make_room(MOST VERDICTS, UNUSED)`, after `IS_FULL` and `drop_oldest_verdict`.

Of verdicts it drops so many at most, for nobody else is served meanwhile; then of suites those
that were not touched for so many seconds.
"""
