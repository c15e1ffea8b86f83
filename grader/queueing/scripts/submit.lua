#!lua
-- Enter jobs for a client.
-- Arguments: client; jobs: each with key, suite, image, priority, timeout_ms, settings.
-- ARGV[1 + i] is the code of job i.
-- Returns for each job {'hit', report}, {'new'}, {'joined'} or {'no suite'}. A client that submits
-- a queued job of its own again gets 'new' again, because its hint may not have been sent.
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

local results = {}
for i, new in ipairs(args.jobs) do
  local key, deadline = new.key, now + new.timeout_ms
  local job, suite = KEY.JOB .. key, KEY.SUITE .. new.suite
  local verdict = kept_verdict(key)
  if verdict then
    results[i] = {'hit', verdict}
    count(COUNTER.SUBMITTED)
    count(COUNTER.HITS)
  elseif redis.call('EXISTS', job) == 1 then
    local waiters = redis.call('HGET', job, 'waiters')
    local result = 'joined'
    if not string.find(' ' .. waiters .. ' ', ' ' .. args.client .. ' ', 1, true) then
      redis.call('HSET', job, 'waiters', waiters .. ' ' .. args.client)
      count(COUNTER.SUBMITTED)
      count(COUNTER.JOINED)
    elseif redis.call('HGET', job, 'state') == STATE.QUEUED then
      result = 'new'
    end
    if tonumber(redis.call('HGET', job, 'deadline')) < deadline then
      redis.call('HSET', job, 'deadline', deadline)
      redis.call('PEXPIREAT', job, deadline + args.keep_ms)
    end
    redis.call('PEXPIRE', suite, args.keep_ms + new.timeout_ms)
    results[i] = {result}
  elseif redis.call('PEXPIRE', suite, args.keep_ms + new.timeout_ms) == 0 then
    results[i] = {'no suite'}
  else
    redis.call('HSET', job, 'state', STATE.QUEUED, 'suite', new.suite, 'image', new.image,
      'priority', new.priority, 'deadline', deadline, 'settings', new.settings,
      'code', ARGV[1 + i], 'waiters', args.client, 'created', now, 'hinted', now,
      'owner', '', 'token', '', 'suspect', 0, 'deaths', 0)
    redis.call('PEXPIREAT', job, deadline + args.keep_ms)
    redis.call('ZADD', KEY.QUEUED, now, key)
    count(COUNTER.SUBMITTED)
    results[i] = {'new'}
  end
end
return results
