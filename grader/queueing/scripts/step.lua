#!lua flags=allow-oom
-- Hand in reports and take jobs, for several threads of a worker at once.
-- Arguments: worker; cache_bytes (of all verdicts to keep); done: each with token, key, error (''
-- if there was none), keep and edition of the worker; wanted: each with token, and images in the order in which to look.
-- ARGV[1 + i] is report i.
-- Returns two lists. The first has a 1 for each of done; 0 if the worker no longer held the job.
-- The second has {key, suite, suspect, code, settings} for each of wanted; {} if no job waits.
redis.call('ZADD', KEY.WORKERS, now + args.worker_lease_ms, args.worker)
local held = KEY.HELD .. args.worker

local MOST_SKIPPED = 1000

local shares = {}
local function share_of(image, waiter)
  local name = KEY.SHARE .. image .. ':' .. waiter
  if not shares[name] then
    local weight, mean_ms = unpack(redis.call('HMGET', name, 'weight', 'mean_ms'))
    shares[name] = {
      image = image, waiter = waiter, weight = tonumber(weight or '1'),
      mean_ms = tonumber(mean_ms or FIRST_RUN_MS), owed = 0,
    }
  end
  return shares[name]
end

-- Charge what the run took in place of what it was taken to take.
local function settle(image, waiter, charged, started)
  local share, taken_ms = share_of(image, waiter), math.max(1, now - tonumber(started))
  share.owed = share.owed + taken_ms / share.weight - tonumber(charged)
  share.mean_ms = share.mean_ms + 0.1 * (taken_ms - share.mean_ms)
  share.is_new = true
end

local graded, cached_bytes, cached = 0, 0, 0
local function finish(done, report)
  local owner, token, waiters, image, lane, charged, started = unpack(redis.call('HMGET',
    KEY.JOB .. done.key, 'owner', 'token', 'waiters', 'image', 'lane', 'charged', 'started'))
  if owner ~= args.worker or token ~= done.token then
    count(COUNTER.STALE)
    return 0
  end
  answer(waiters, done.key, ANSWER.REPORT, report)
  redis.call('DEL', KEY.JOB .. done.key)
  redis.call('HDEL', held, token)
  settle(image, lane, charged, started)
  graded = graded + 1
  if done.error ~= '' then
    count(COUNTER.INTERNAL_ERRORS)
    redis.call('LPUSH', KEY.ERRORS, string.format('%.0f', now) .. ' ' .. done.error)
    redis.call('LTRIM', KEY.ERRORS, 0, 19)
    redis.call('PEXPIRE', KEY.ERRORS, 86400000)
  end
  local verdict = verdict_name(done.edition, done.key)
  if done.keep and args.cache_bytes >= #report
    and redis.call('HSETNX', KEY.VERDICTS, verdict, report) == 1 then
    redis.call('ZADD', KEY.VERDICTS_AGE, now, verdict)
    cached_bytes, cached = cached_bytes + #report, cached + 1
  end
  return 1
end

local function keep_within_cache()
  local bytes = redis.call('INCRBY', KEY.VERDICTS_BYTES, cached_bytes)
  for _ = 1, 2 * cached + 10 do
    local freed = bytes > args.cache_bytes and drop_oldest_verdict()
    if not freed then break end
    bytes = bytes - freed
  end
  for _, name in ipairs({KEY.VERDICTS, KEY.VERDICTS_AGE, KEY.VERDICTS_BYTES}) do
    redis.call('PEXPIRE', name, args.cache_ttl_ms)
  end
end

local function has_others() return redis.call('ZCOUNT', KEY.WORKERS, now, '+inf') > 1 end

local present, apart = {}, {}
-- Returns the next job of an image: of the lane that is furthest behind, the earliest deadline.
local function take(token, image)
  for _ = 1, MOST_SKIPPED do
    local waiter, tag =
      unpack(redis.call('ZRANGE', KEY.LANES .. image, 0, 0, 'WITHSCORES'))
    if not waiter then return nil end
    local lane = lane_of(image, waiter)
    local key = redis.call('ZPOPMIN', lane)[1]
    if not key or not is_alive(client_of(waiter)) then
      redis.call('UNLINK', lane) -- `reap` finds those of its jobs that other clients wait for
      close_if_empty(image, waiter)
    else
      local job = KEY.JOB .. key
      local state, waiters, deadline, suite, suspect, code, settings, failed_at, apart_until =
        unpack(redis.call('HMGET', job, 'state', 'waiters', 'deadline', 'suite', 'suspect', 'code',
          'settings', 'failed_at', 'apart_until'))
      if state == STATE.QUEUED and failed_at == args.worker
        and tonumber(apart_until) > now and has_others() then
        apart[#apart + 1] = {image, waiter, key, deadline}
      elseif state == STATE.QUEUED and is_wanted(deadline, waiters) then
        local share = share_of(image, waiter)
        local charged = share.mean_ms / share.weight
        redis.call('HSET', job, 'state', STATE.RUNNING, 'owner', args.worker, 'token', token,
          'lane', waiter, 'charged', charged, 'started', now)
        redis.call('HSET', held, token, key)
        redis.call('ZREM', KEY.QUEUED, key)
        for _, other in ipairs(waiters_in(waiters)) do
          if other ~= waiter then leave_lane(image, other, key) end
        end
        redis.call('ZINCRBY', KEY.LANES .. image, charged, waiter)
        close_if_empty(image, waiter)
        present[image] = tag
        return {key, suite, suspect, code, settings}
      elseif state == STATE.QUEUED then
        forget(key)
        count(COUNTER.EXPIRED)
      end
    end
  end
  return nil
end

-- The answer to an earlier call with this token may have been lost.
local function taken_before(token)
  local key = redis.call('HGET', held, token)
  if not key or not is_held(key, token) then return nil end
  local suite, suspect, code, settings =
    unpack(redis.call('HMGET', KEY.JOB .. key, 'suite', 'suspect', 'code', 'settings'))
  return {key, suite, suspect, code, settings}
end

local in_time = {}
for i, done in ipairs(args.done) do in_time[i] = finish(done, ARGV[1 + i]) end
if graded > 0 then count(COUNTER.GRADED, graded) end
if cached > 0 then keep_within_cache() end
for name, share in pairs(shares) do
  if share.is_new then
    charge(share.image, share.waiter, share.owed)
    redis.call('HSET', name, 'mean_ms', share.mean_ms)
  end
end

local taken = {}
for i, wanted in ipairs(args.wanted) do
  local found = taken_before(wanted.token)
  for _, image in ipairs(wanted.images) do
    found = found or take(wanted.token, image)
  end
  taken[i] = found or {}
end
-- What other workers should take stays where it was.
for _, each in ipairs(apart) do
  put_in_lane(unpack(each))
end
for image, tag in pairs(present) do
  -- Charges that were given back may have moved a lane behind the present.
  local last = redis.call('HGET', KEY.VIRTUAL, image)
  if tonumber(tag) > tonumber(last or '0') then redis.call('HSET', KEY.VIRTUAL, image, tag) end
end
return {in_time, taken}
