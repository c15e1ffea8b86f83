#!lua flags=allow-oom
-- Take jobs back from dead workers, forget dead clients, free memory, and find lost hints.
-- Arguments: interval_ms (between two reaps), worker_deaths (after which a job is given up),
-- empty_queue_ms (after which a hint counts as lost if its queue is empty), most_verdicts (to drop
-- at once), unused_suite_s (after which a suite may be dropped), queues: by image the lists of its
-- Celery queue.
-- Returns the hints to send: {key, image, priority} of each.
local last = tonumber(redis.call('GET', KEY.REAPED) or '0')
if now - last < args.interval_ms then return {} end
redis.call('SET', KEY.REAPED, now)
redis.call('PEXPIRE', KEY.REAPED, 3600000)
if now - last > math.max(args.worker_lease_ms * 0.75, 2000) then
  -- Redis was away, or no worker was there to reap: a lease that ran out meanwhile proves nothing.
  for leases, lease_ms in pairs({
    [KEY.WORKERS] = args.worker_lease_ms, [KEY.CLIENTS] = args.client_lease_ms,
  }) do
    for _, member in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
      redis.call('ZADD', leases, 'GT', now + lease_ms, member)
    end
  end
end
local hints = {}

local function take_jobs_back(worker)
  local running = {}
  for _, key in ipairs(redis.call('SMEMBERS', KEY.HELD .. worker)) do
    local owner, state = unpack(redis.call('HMGET', KEY.JOB .. key, 'owner', 'state'))
    if owner == worker and state == STATE.RUNNING then
      running[#running + 1] = key
    elseif owner == worker then
      hints[#hints + 1] = requeue(key)
    end
  end
  for _, key in ipairs(running) do
    local job = KEY.JOB .. key
    redis.call('HSET', job, 'suspect', 1)
    -- Only a job that ran alone counts as the cause of the death. The others run alone next.
    if #running == 1 and redis.call('HINCRBY', job, 'deaths', 1) >= args.worker_deaths then
      answer(key, ANSWER.KILLED, '')
      forget(key)
      count(COUNTER.KILLED)
    else
      hints[#hints + 1] = requeue(key)
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

local function drop_unused_suites(bytes)
  local unused, cursor = {}, '0'
  repeat
    local page = redis.call('SCAN', cursor, 'MATCH', KEY.SUITE .. '*', 'COUNT', 1000)
    cursor = page[1]
    for _, suite in ipairs(page[2]) do
      local idle_s = redis.call('OBJECT', 'IDLETIME', suite)
      if idle_s >= args.unused_suite_s then unused[#unused + 1] = {idle_s, suite} end
    end
  until cursor == '0'
  table.sort(unused, function(a, b) return a[1] > b[1] end)
  for _, each in ipairs(unused) do
    if bytes <= 0 then return end
    bytes = bytes - redis.call('STRLEN', each[2])
    redis.call('DEL', each[2])
  end
end

-- Above 80 % of the memory, free it down to 70 %, so that submissions need not be refused. Both
-- kinds of data can be had again: verdicts by grading, suites from the clients that submit.
local function free_memory()
  local used, limit = memory()
  if limit == 0 or used < 0.8 * limit then return end
  local bytes = used - 0.7 * limit
  for _ = 1, args.most_verdicts do
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

local waiting_messages = {}
for image, lists in pairs(args.queues) do
  waiting_messages[image] = 0
  for _, list in ipairs(lists) do
    waiting_messages[image] = waiting_messages[image] + redis.call('LLEN', list)
  end
end
local last_wait_ms = tonumber(redis.call('GET', KEY.WAIT) or '0')
for _, key in ipairs(redis.call('ZRANGE', KEY.QUEUED, 0, 255)) do
  local job = KEY.JOB .. key
  local hinted, image = unpack(redis.call('HMGET', job, 'hinted', 'image'))
  if not hinted then
    redis.call('ZREM', KEY.QUEUED, key)
  elseif not is_wanted(job) then
    forget(key)
    count(COUNTER.EXPIRED)
  else
    local age_ms = now - tonumber(hinted)
    if (waiting_messages[image] == 0 and age_ms > args.empty_queue_ms)
      or age_ms > 60000 + 2 * last_wait_ms then
      hints[#hints + 1] = requeue(key)
      count(COUNTER.HINTED_AGAIN)
    end
  end
end
return hints
