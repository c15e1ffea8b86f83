"""The scripts that change the ledger, each in one atomic step. Redis 7 or later.

All of them read the clock of Redis, so a worker or a client whose own clock jumps changes
nothing. A job is a hash; its `state` is queued, held (in a worker's chunk) or running, its
`token` tells one delivery from the next, and its `waiters` are the clients that want to know.
Scripts that free memory may run where Redis is full; `submit`, which needs memory, may not.
"""

from grader.queueing.room import IS_FULL, MAKE_ROOM

_COMMON = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local function count(name, by) redis.call('HINCRBY', 'grader:stats', name, by or 1) end
local function waiters(job)
  local all = {}
  for client in string.gmatch(redis.call('HGET', job, 'waiters') or '', '%S+') do
    all[#all + 1] = client
  end
  return all
end
local function is_wanted(job)
  if tonumber(redis.call('HGET', job, 'deadline') or '0') < now then return false end
  for _, client in ipairs(waiters(job)) do
    local alive_until = redis.call('ZSCORE', 'grader:clients', client)
    if alive_until and tonumber(alive_until) > now then return true end
  end
  return false
end
local function forget(key)
  local job = 'grader:job:' .. key
  local owner = redis.call('HGET', job, 'owner')
  if owner and owner ~= '' then redis.call('SREM', 'grader:held:' .. owner, key) end
  redis.call('DEL', job)
  redis.call('ZREM', 'grader:queued', key)
end
local function answer(key, kind, body, ttl)
  for _, client in ipairs(waiters('grader:job:' .. key)) do
    local alive_until = redis.call('ZSCORE', 'grader:clients', client)
    if alive_until and tonumber(alive_until) > now then
      local out = 'grader:out:' .. client
      redis.call('XADD', out, '*', 'key', key, 'kind', kind, 'body', body)
      redis.call('PEXPIRE', out, ttl)
    end
  end
end
local function requeue(key)
  local job = 'grader:job:' .. key
  redis.call('HSET', job, 'state', 'queued', 'owner', '', 'token', '', 'hinted', now)
  redis.call('ZADD', 'grader:queued', redis.call('HGET', job, 'created'), key)
  return {key, redis.call('HGET', job, 'image'), redis.call('HGET', job, 'priority')}
end
local function drop_oldest_verdict()
  local oldest = redis.call('ZRANGE', 'grader:verdicts:age', 0, 0)[1]
  if not oldest then return false end
  local size = redis.call('HSTRLEN', 'grader:verdicts', oldest)
  redis.call('HDEL', 'grader:verdicts', oldest)
  redis.call('ZREM', 'grader:verdicts:age', oldest)
  redis.call('DECRBY', 'grader:verdicts:bytes', size)
  return size
end
"""

_FREES = "#!lua flags=allow-oom\n" + _COMMON

SUBMIT = (
    "#!lua\n"
    + _COMMON
    + IS_FULL
    + """
-- ARGV: client, its lease in ms, ms to keep suites and jobs, ms to trust verdicts; then per
-- job: key, suite, image, priority, ms to the deadline, settings, code.
-- Returns per job {'hit', report}, {'new'}, {'joined'} or {'no suite'}. A client that submits
-- once more what still waits gets 'new' again: its hint may not have been sent.
if is_full() then return FULL end
local client, keep, trust = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('ZADD', 'grader:clients', now + tonumber(ARGV[2]), client)
local results = {}
for i = 5, #ARGV, 7 do
  local key, suite, deadline = ARGV[i], ARGV[i + 1], now + tonumber(ARGV[i + 4])
  local job = 'grader:job:' .. key
  local stored = redis.call('ZSCORE', 'grader:verdicts:age', key)
  if stored and tonumber(stored) > now - trust then
    results[#results + 1] = {'hit', redis.call('HGET', 'grader:verdicts', key)}
    count('submitted') count('cache_hits')
  elseif redis.call('EXISTS', job) == 1 then
    local known = redis.call('HGET', job, 'waiters')
    local result = 'joined'
    if not string.find(' ' .. known .. ' ', ' ' .. client .. ' ', 1, true) then
      redis.call('HSET', job, 'waiters', known .. ' ' .. client)
      count('submitted') count('joined')
    elseif redis.call('HGET', job, 'state') == 'queued' then
      result = 'new'
    end
    if tonumber(redis.call('HGET', job, 'deadline')) < deadline then
      redis.call('HSET', job, 'deadline', deadline)
      redis.call('PEXPIREAT', job, deadline + keep)
    end
    redis.call('PEXPIRE', 'grader:suite:' .. suite, keep + tonumber(ARGV[i + 4]))
    results[#results + 1] = {result}
  elseif redis.call('PEXPIRE', 'grader:suite:' .. suite, keep + tonumber(ARGV[i + 4])) == 0 then
    results[#results + 1] = {'no suite'}
  else
    redis.call('HSET', job, 'state', 'queued', 'suite', suite, 'image', ARGV[i + 2],
      'priority', ARGV[i + 3], 'deadline', deadline, 'settings', ARGV[i + 5],
      'code', ARGV[i + 6], 'waiters', client, 'created', now, 'hinted', now,
      'owner', '', 'token', '', 'suspect', 0, 'deaths', 0)
    redis.call('PEXPIREAT', job, deadline + keep)
    redis.call('ZADD', 'grader:queued', now, key)
    count('submitted')
    results[#results + 1] = {'new'}
  end
end
return results
"""
)

STORE_SUITE = (
    "#!lua\n"
    + IS_FULL
    + """
-- ARGV: digest, suite, ms to keep it.
if is_full() then return FULL end
return redis.call('SET', 'grader:suite:' .. ARGV[1], ARGV[2], 'PX', ARGV[3])
"""
)

TAKE = (
    _FREES
    + """
-- ARGV: worker, its lease in ms, token, keys. Returns {key, suite, suspect} of those it now holds.
local worker, token = ARGV[1], ARGV[3]
redis.call('ZADD', 'grader:workers', now + tonumber(ARGV[2]), worker)
local taken = {}
for i = 4, #ARGV do
  local key = ARGV[i]
  local job = 'grader:job:' .. key
  local found = redis.call('HMGET', job, 'state', 'suite', 'suspect', 'hinted', 'token')
  if found[1] == 'queued' or (found[1] == 'held' and found[5] == token) then
    if is_wanted(job) then
      redis.call('HSET', job, 'state', 'held', 'owner', worker, 'token', token)
      redis.call('ZREM', 'grader:queued', key)
      redis.call('SADD', 'grader:held:' .. worker, key)
      redis.call('SET', 'grader:wait', now - tonumber(found[4]), 'PX', 600000)
      taken[#taken + 1] = {key, found[2], found[3]}
    else
      forget(key)
      count('expired')
    end
  end
end
return taken
"""
)

START = (
    _FREES
    + """
-- ARGV: worker, token, key, 1 to get the suite too, ms to keep answers.
-- Returns {code, settings, suite or ''}; nothing where the job is not this delivery's any more.
local key = ARGV[3]
local job = 'grader:job:' .. key
local found = redis.call('HMGET', job, 'owner', 'token', 'code', 'settings', 'suite')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then return {} end
if not is_wanted(job) then
  forget(key)
  count('expired')
  return {}
end
local suite = ''
if ARGV[4] == '1' then
  suite = redis.call('GET', 'grader:suite:' .. found[5])
  if not suite then
    answer(key, 'again', '', ARGV[5])
    forget(key)
    return {}
  end
end
redis.call('HSET', job, 'state', 'running')
return {found[3], found[4], suite}
"""
)

FINISH = (
    _FREES
    + """
-- ARGV: worker, token, key, report, error or '', ms to keep answers, bytes of verdicts to keep
-- (0: this one is not to be kept), ms to trust verdicts. Returns 1; 0 where it came too late.
local key, report = ARGV[3], ARGV[4]
local found = redis.call('HMGET', 'grader:job:' .. key, 'owner', 'token')
if found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
  count('stale')
  return 0
end
answer(key, 'report', report, ARGV[6])
forget(key)
count('graded')
if ARGV[5] ~= '' then
  count('internal_errors')
  redis.call('LPUSH', 'grader:errors', string.format('%.0f', now) .. ' ' .. ARGV[5])
  redis.call('LTRIM', 'grader:errors', 0, 19)
  redis.call('PEXPIRE', 'grader:errors', 86400000)
end
local room, trust = tonumber(ARGV[7]), tonumber(ARGV[8])
if room >= #report and redis.call('HSETNX', 'grader:verdicts', key, report) == 1 then
  redis.call('INCRBY', 'grader:verdicts:bytes', #report)
  redis.call('ZADD', 'grader:verdicts:age', now, key)
  while tonumber(redis.call('GET', 'grader:verdicts:bytes')) > room do
    if not drop_oldest_verdict() then break end
  end
  for _, name in ipairs({'grader:verdicts', 'grader:verdicts:age', 'grader:verdicts:bytes'}) do
    redis.call('PEXPIRE', name, trust)
  end
end
return 1
"""
)

GIVE_BACK = (
    _FREES
    + """
-- ARGV: worker, token, keys. Returns {key, image, priority} of those that are to be hinted again.
local back = {}
for i = 3, #ARGV do
  local key = ARGV[i]
  local found = redis.call('HMGET', 'grader:job:' .. key, 'owner', 'token')
  if found[1] == ARGV[1] and found[2] == ARGV[2] then
    redis.call('SREM', 'grader:held:' .. ARGV[1], key)
    back[#back + 1] = requeue(key)
  end
end
return back
"""
)

BEAT = (
    _FREES
    + """
-- ARGV: worker, its lease in ms, its description, then pairs of a token and a running key.
-- Returns the keys that are no longer that delivery's: cancelled, or given to another worker.
redis.call('ZADD', 'grader:workers', now + tonumber(ARGV[2]), ARGV[1])
redis.call('SET', 'grader:worker:' .. ARGV[1], ARGV[3], 'PX', ARGV[2])
local lost = {}
for i = 4, #ARGV, 2 do
  local found = redis.call('HMGET', 'grader:job:' .. ARGV[i + 1], 'owner', 'token')
  if found[1] ~= ARGV[1] or found[2] ~= ARGV[i] then lost[#lost + 1] = ARGV[i + 1] end
end
return lost
"""
)

LEAVE = (
    _FREES
    + """
-- ARGV: worker. It has ended in order; what it still held goes back without blame.
local back = {}
for _, key in ipairs(redis.call('SMEMBERS', 'grader:held:' .. ARGV[1])) do
  if redis.call('HGET', 'grader:job:' .. key, 'owner') == ARGV[1] then
    back[#back + 1] = requeue(key)
  end
end
redis.call('DEL', 'grader:held:' .. ARGV[1], 'grader:worker:' .. ARGV[1])
redis.call('ZREM', 'grader:workers', ARGV[1])
return back
"""
)

CANCEL = (
    _FREES
    + """
-- ARGV: client, keys. A job that nobody else waits for is forgotten; its worker sees that.
for i = 2, #ARGV do
  local job = 'grader:job:' .. ARGV[i]
  local left = {}
  for _, client in ipairs(waiters(job)) do
    if client ~= ARGV[1] then left[#left + 1] = client end
  end
  if #left > 0 then
    redis.call('HSET', job, 'waiters', table.concat(left, ' '))
  elseif redis.call('EXISTS', job) == 1 then
    forget(ARGV[i])
    count('cancelled')
  end
end
"""
)

CHECK = (
    _FREES
    + """
-- ARGV: client, its lease in ms, ms to keep answers, keys that it waits for.
-- Returns those that are nowhere; none where answers wait to be read, which may be theirs.
redis.call('ZADD', 'grader:clients', now + tonumber(ARGV[2]), ARGV[1])
local out = 'grader:out:' .. ARGV[1]
redis.call('PEXPIRE', out, ARGV[3])
if redis.call('XLEN', out) > 0 then return {} end
local lost = {}
for i = 4, #ARGV do
  if redis.call('EXISTS', 'grader:job:' .. ARGV[i]) == 0 then lost[#lost + 1] = ARGV[i] end
end
return lost
"""
)

REAP = (
    _FREES
    + IS_FULL
    + MAKE_ROOM
    + """
-- ARGV: ms between two reaps, worker lease in ms, client lease in ms, deaths that are enough,
-- ms after which a job is hinted again where its queue is empty, ms to keep answers, verdicts to
-- drop at most, seconds after which a suite is unused; then per image its name, the number of its
-- lists, and those.
-- Returns {key, image, priority} of jobs that are to be hinted again.
local last = tonumber(redis.call('GET', 'grader:reaped') or '0')
if now - last < tonumber(ARGV[1]) then return {} end
redis.call('SET', 'grader:reaped', now)
redis.call('PEXPIRE', 'grader:reaped', 3600000)
if now - last > math.max(tonumber(ARGV[2]) * 0.75, 2000) then
  -- Redis was away, or nobody was there to look: silence says nothing about anybody.
  for name, lease in pairs({['grader:workers'] = ARGV[2], ['grader:clients'] = ARGV[3]}) do
    for _, member in ipairs(redis.call('ZRANGE', name, 0, -1)) do
      redis.call('ZADD', name, 'GT', now + tonumber(lease), member)
    end
  end
end
local hints = {}
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', 'grader:workers', '-inf', now)) do
  local running = {}
  for _, key in ipairs(redis.call('SMEMBERS', 'grader:held:' .. worker)) do
    local found = redis.call('HMGET', 'grader:job:' .. key, 'owner', 'state')
    if found[1] == worker and found[2] == 'running' then
      running[#running + 1] = key
    elseif found[1] == worker then
      hints[#hints + 1] = requeue(key)
    end
  end
  for _, key in ipairs(running) do
    local job = 'grader:job:' .. key
    redis.call('HSET', job, 'suspect', 1)
    -- Only a job that ran alone has certainly to do with it; the others are run alone next.
    if #running == 1 and redis.call('HINCRBY', job, 'deaths', 1) >= tonumber(ARGV[4]) then
      answer(key, 'killed', '', ARGV[6])
      forget(key)
      count('killed')
    else
      hints[#hints + 1] = requeue(key)
      count('redelivered')
    end
  end
  redis.call('DEL', 'grader:held:' .. worker, 'grader:worker:' .. worker)
  redis.call('ZREM', 'grader:workers', worker)
  count('workers_lost')
end
for _, client in ipairs(redis.call('ZRANGEBYSCORE', 'grader:clients', '-inf', now)) do
  redis.call('DEL', 'grader:out:' .. client)
  redis.call('ZREM', 'grader:clients', client)
end
make_room(tonumber(ARGV[7]), tonumber(ARGV[8]))
local waiting, i = {}, 9
while i < #ARGV do
  local name, lists = ARGV[i], tonumber(ARGV[i + 1])
  waiting[name] = 0
  for j = i + 2, i + 1 + lists do waiting[name] = waiting[name] + redis.call('LLEN', ARGV[j]) end
  i = i + 2 + lists
end
local wait = tonumber(redis.call('GET', 'grader:wait') or '0')
for _, key in ipairs(redis.call('ZRANGE', 'grader:queued', 0, 255)) do
  local job = 'grader:job:' .. key
  local found = redis.call('HMGET', job, 'hinted', 'image')
  if not found[1] then
    redis.call('ZREM', 'grader:queued', key)
  elseif not is_wanted(job) then
    forget(key)
    count('expired')
  else
    local since = now - tonumber(found[1])
    if (waiting[found[2]] == 0 and since > tonumber(ARGV[5])) or since > 60000 + 2 * wait then
      hints[#hints + 1] = requeue(key)
      count('hinted_again')
    end
  end
end
return hints
"""
)
