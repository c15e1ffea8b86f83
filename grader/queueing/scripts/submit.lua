#!lua
-- Enter jobs for a client.
-- Arguments: client; weights: that of each waiter; jobs: each with key, waiter, suite, image,
-- timeout_ms, settings. ARGV[1 + i] is the code of job i.
-- Returns two lists. The first has {'hit', report}, {'new'}, {'joined'} or {'no suite'} for each
-- job. A client that submits a queued job of its own again gets 'new' again, because its hint may
-- not have been sent. The second has the hints to send: {image, number}.
if is_full() then return FULL end
redis.call('ZADD', KEY.CLIENTS, now + args.client_lease_ms, args.client)

-- The editions of the workers that serve, or else served last.
local editions = {}
local latest = redis.call('ZRANGE', KEY.EDITIONS, -1, -1, 'WITHSCORES')[2]
if latest then
  editions = redis.call('ZRANGEBYSCORE', KEY.EDITIONS, latest - args.worker_lease_ms, '+inf')
end

local function kept_verdict(key)
  for _, edition in ipairs(editions) do
    local verdict = verdict_name(edition, key)
    local graded_at = redis.call('ZSCORE', KEY.VERDICTS_AGE, verdict)
    if graded_at and tonumber(graded_at) > now - args.cache_ttl_ms then
      return redis.call('HGET', KEY.VERDICTS, verdict)
    end
  end
end

local longest_ms = 0
for _, new in ipairs(args.jobs) do longest_ms = math.max(longest_ms, new.timeout_ms) end

local kept = {}
-- Keep what the jobs need for as long as the jobs; false if it is not there.
local function keep(name)
  if kept[name] == nil then
    local left_ms = redis.call('PTTL', name)
    kept[name] = left_ms ~= -2
    redis.call('PEXPIRE', name, math.max(left_ms, args.keep_ms + longest_ms))
  end
  return kept[name]
end

local run_ms = {}
local function enter_lane(key, image, waiter, deadline)
  local lane = lane_of(image, waiter)
  redis.call('ZADD', lane, deadline, key)
  if not run_ms[lane] then
    local share = KEY.SHARE .. image .. ':' .. waiter
    redis.call('HSET', share, 'weight', args.weights[waiter])
    redis.call('HSETNX', KEY.VIRTUAL, image, 0)
    open_lane(image, waiter)
    for _, name in ipairs({lane, share, KEY.LANES .. image}) do keep(name) end
    run_ms[lane] = tonumber(redis.call('HGET', share, 'mean_ms') or FIRST_RUN_MS)
  end
  want(image, 1, run_ms[lane])
end

local submitted, hits, joined = 0, 0, 0

-- Keep a suite for as long as the jobs; false if it is not there.
local function renew_suite(digest)
  local name = KEY.SUITE .. digest
  if kept[name] == nil then keep_suite(digest, args.keep_ms + longest_ms) end
  return keep(name)
end

local results = {}
for i, new in ipairs(args.jobs) do
  local key, deadline = new.key, now + new.timeout_ms
  local job = KEY.JOB .. key
  local verdict = kept_verdict(key)
  local waiters, state, last =
    unpack(redis.call('HMGET', job, 'waiters', 'state', 'deadline'))
  if verdict then
    results[i] = {'hit', verdict}
    submitted, hits = submitted + 1, hits + 1
  elseif state then
    local result = state == STATE.QUEUED and 'new' or 'joined'
    if not string.find(' ' .. waiters .. ' ', ' ' .. new.waiter .. ' ', 1, true) then
      redis.call('HSET', job, 'waiters', waiters .. ' ' .. new.waiter)
      submitted, joined = submitted + 1, joined + 1
      result = 'joined'
    end
    if tonumber(last) < deadline then
      redis.call('HSET', job, 'deadline', deadline)
      redis.call('PEXPIREAT', job, deadline + args.keep_ms)
    end
    if state == STATE.QUEUED then
      enter_lane(key, new.image, new.waiter, deadline)
    end
    renew_suite(new.suite)
    results[i] = {result}
  elseif not renew_suite(new.suite) then
    results[i] = {'no suite'}
  else
    redis.call('HSET', job, 'state', STATE.QUEUED, 'suite', new.suite, 'image', new.image,
      'deadline', deadline, 'settings', new.settings, 'code', ARGV[1 + i],
      'waiters', new.waiter, 'created', now, 'owner', '', 'token', '', 'suspect', 0)
    redis.call('PEXPIREAT', job, deadline + args.keep_ms)
    redis.call('ZADD', KEY.QUEUED, now, key)
    enter_lane(key, new.image, new.waiter, deadline)
    submitted = submitted + 1
    results[i] = {'new'}
  end
end
count(COUNTER.SUBMITTED, submitted)
if hits > 0 then count(COUNTER.HITS, hits) end
if joined > 0 then count(COUNTER.JOINED, joined) end
return {results, hints()}
