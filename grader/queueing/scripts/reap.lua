#!lua flags=allow-oom
-- Take jobs back from dead workers, forget dead clients, free memory, and find lost hints.
-- Arguments: interval_ms (between two reaps), worker_deaths (after which a job is given up),
-- most_dropped (verdicts, and suites, to drop at once), unused_suite_ms (after which a suite may be
-- dropped).
-- Returns the hints to send: {image, number} of each.
local last = tonumber(redis.call('GET', KEY.REAPED) or '0')
-- The clock of Redis was set back, or that of the server that has taken over is behind.
local is_set_back = last > now
if not is_set_back and now - last < args.interval_ms then return {} end
redis.call('SET', KEY.REAPED, now)
redis.call('PEXPIRE', KEY.REAPED, 3600000)
if is_set_back or now - last > math.max(args.worker_lease_ms * 0.75, 2000) then
  -- Redis was away, or no worker was there to reap: a lease that ran out meanwhile proves nothing,
  -- nor does one that ends far in the future. Those that live renew theirs within seconds.
  for leases, lease_ms in pairs({
    [KEY.WORKERS] = args.worker_lease_ms, [KEY.CLIENTS] = args.client_lease_ms,
  }) do
    for _, member in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
      redis.call('ZADD', leases, now + lease_ms, member)
    end
  end
end

local function take_jobs_back(worker)
  local running, alone = {}, nil
  for _, key in ipairs(redis.call('HVALS', KEY.HELD .. worker)) do
    local owner, runs_alone = unpack(redis.call('HMGET', KEY.JOB .. key, 'owner', 'alone'))
    if owner == worker then
      running[#running + 1] = key
      if runs_alone == '1' then alone = key end
    end
  end
  if #running == 1 then alone = running[1] end
  for _, key in ipairs(running) do
    local job = KEY.JOB .. key
    -- Only a job that ran alone counts as the cause of the death. If none did, all run alone next.
    if not alone or key == alone then redis.call('HSET', job, 'suspect', 1) end
    if key == alone and redis.call('HINCRBY', job, 'deaths', 1) >= args.worker_deaths then
      answer(redis.call('HGET', job, 'waiters'), key, ANSWER.KILLED, '')
      forget(key)
      count(COUNTER.KILLED)
    else
      requeue(key)
      count(COUNTER.REDELIVERED)
    end
  end
end

for _, worker in ipairs(redis.call('ZRANGEBYSCORE', KEY.WORKERS, '-inf', now)) do
  take_jobs_back(worker)
  redis.call('DEL', KEY.HELD .. worker, KEY.WORKER .. worker)
  redis.call('ZREM', KEY.WORKERS, worker)
  count(COUNTER.WORKERS_LOST)
end
for _, client in ipairs(redis.call('ZRANGEBYSCORE', KEY.CLIENTS, '-inf', now)) do
  redis.call('DEL', KEY.OUT .. client)
  redis.call('ZREM', KEY.CLIENTS, client)
end

-- Oldest first. What has expired by itself only leaves the set.
local function drop_unused_suites(bytes)
  local unused = redis.call('ZRANGEBYSCORE', KEY.SUITES_USED, '-inf', now - args.unused_suite_ms,
    'LIMIT', 0, args.most_dropped)
  for _, digest in ipairs(unused) do
    if bytes <= 0 then return end
    bytes = bytes - redis.call('STRLEN', KEY.SUITE .. digest)
    redis.call('DEL', KEY.SUITE .. digest)
    redis.call('ZREM', KEY.SUITES_USED, digest)
  end
end

for _, digest in ipairs(redis.call('ZRANGE', KEY.SUITES_USED, 0, 255)) do
  if redis.call('EXISTS', KEY.SUITE .. digest) == 1 then break end
  redis.call('ZREM', KEY.SUITES_USED, digest)
end

-- Above 80 % of the memory, free it down to 70 %, so that submissions need not be refused. Both
-- kinds of data can be had again: verdicts by grading, suites from the clients that submit.
local function free_memory()
  local used, limit = memory()
  if limit == 0 or used < 0.8 * limit then return end
  local bytes = used - 0.7 * limit
  for _ = 1, args.most_dropped do
    local freed = drop_oldest_verdict()
    if not freed then
      drop_unused_suites(bytes)
      return
    end
    bytes = bytes - freed
    if bytes <= 0 then return end
  end
end

free_memory()

for _, key in ipairs(redis.call('ZRANGE', KEY.QUEUED, 0, 255)) do
  local image, waiters, deadline =
    unpack(redis.call('HMGET', KEY.JOB .. key, 'image', 'waiters', 'deadline'))
  if not image then
    redis.call('ZREM', KEY.QUEUED, key)
  elseif not is_wanted(deadline, waiters) then
    forget(key)
    count(COUNTER.EXPIRED)
  else
    -- A lane is dropped if its client falls silent, and may be needed again.
    for _, waiter in ipairs(waiters_in(waiters)) do put_in_lane(image, waiter, key, deadline) end
  end
end

local function count_slots()
  local slots = {}
  for _, worker in ipairs(redis.call('ZRANGE', KEY.WORKERS, 0, -1)) do
    local status = cjson.decode(redis.call('GET', KEY.WORKER .. worker) or '{}')
    if status.state == 'serving' then
      for image in string.gmatch(status.images, '[^,]+') do
        slots[image] = (slots[image] or 0) + status.slots
      end
    end
  end
  redis.call('DEL', KEY.SLOTS)
  for image, number in pairs(slots) do redis.call('HSET', KEY.SLOTS, image, number) end
end

count_slots()
for _, image in ipairs(redis.call('HKEYS', KEY.VIRTUAL)) do
  for _, waiter in ipairs(redis.call('ZRANGE', KEY.LANES .. image, 0, -1)) do
    want(image, redis.call('ZCARD', lane_of(image, waiter)), WORTH_A_HINT_MS)
  end
end
local lost = hints()
for _, hint in ipairs(lost) do count(COUNTER.HINTED_AGAIN, hint[2]) end
return lost
