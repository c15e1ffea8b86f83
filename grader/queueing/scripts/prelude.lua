-- Every script begins with this, after its own first line and the tables KEY, COUNTER, ANSWER and
-- STATE, which grader/queueing/names.py defines. `args` has the named arguments of the script.
-- Every script also gets worker_lease_ms, client_lease_ms, keep_ms (how long suites, answers and
-- jobs past their deadline stay) and cache_ttl_ms.
local args = cjson.decode(ARGV[1])

-- Milliseconds by the clock of Redis.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function count(counter, by) redis.call('HINCRBY', KEY.STATS, counter, by or 1) end

-- A waiter is CLIENT/CLASS. Jobs of one image that have the same waiter queue in one lane.
local function waiters_in(text)
  local waiters = {}
  for waiter in string.gmatch(text or '', '%S+') do waiters[#waiters + 1] = waiter end
  return waiters
end

local function client_of(waiter) return string.match(waiter, '^[^/]*') end

local FIRST_RUN_MS = 1000 -- a lane's first jobs are taken to run so long

local known_alive = {}
local function is_alive(client)
  if known_alive[client] == nil then
    local lease_end = redis.call('ZSCORE', KEY.CLIENTS, client)
    known_alive[client] = lease_end and tonumber(lease_end) > now
  end
  return known_alive[client]
end

local function is_wanted(deadline, waiters)
  if tonumber(deadline or '0') < now then return false end
  for _, waiter in ipairs(waiters_in(waiters)) do
    if is_alive(client_of(waiter)) then return true end
  end
  return false
end

-- Whether args.worker still holds a job that it took under this token.
local function is_held(key, token)
  local found = redis.call('HMGET', KEY.JOB .. key, 'owner', 'token')
  return found[1] == args.worker and found[2] == token
end

local function lane_of(image, waiter) return KEY.LANE .. image .. ':' .. waiter end

-- Lets a lane that has jobs be served. A lane that had none starts at the present virtual time, so
-- it cannot save up what it did not use; see docs/adr/0024-fair-queue.md.
local function open_lane(image, waiter)
  local tag = redis.call('HGET', KEY.SHARE .. image .. ':' .. waiter, 'tag') or '0'
  local present = redis.call('HGET', KEY.VIRTUAL, image) or '0'
  redis.call('ZADD', KEY.LANES .. image, 'NX', math.max(tonumber(tag), tonumber(present)), waiter)
end

-- Serve a lane no more if it has no jobs. Its virtual time is kept for when it has some again.
local function close_if_empty(image, waiter)
  if redis.call('EXISTS', lane_of(image, waiter)) == 1 then return end
  local tag = redis.call('ZSCORE', KEY.LANES .. image, waiter)
  if not tag then return end
  local share = KEY.SHARE .. image .. ':' .. waiter
  redis.call('ZREM', KEY.LANES .. image, waiter)
  redis.call('HSET', share, 'tag', tag)
  redis.call('PEXPIRE', share, args.keep_ms)
end

local function leave_lane(image, waiter, key)
  redis.call('ZREM', lane_of(image, waiter), key)
  close_if_empty(image, waiter)
end

-- Put a job that was in a lane, and may be its only one, back.
local function put_in_lane(image, waiter, key, deadline)
  redis.call('ZADD', lane_of(image, waiter), deadline, key)
  open_lane(image, waiter)
  for _, name in ipairs({lane_of(image, waiter), KEY.LANES .. image}) do
    redis.call('PEXPIREAT', name, deadline + args.keep_ms, 'NX')
  end
end

-- Move a lane's virtual time on, or back if `virtual_ms` is less than 0.
local function charge(image, waiter, virtual_ms)
  local share = KEY.SHARE .. image .. ':' .. waiter
  if not redis.call('ZADD', KEY.LANES .. image, 'XX', 'INCR', virtual_ms, waiter) then
    redis.call('HINCRBYFLOAT', share, 'tag', string.format('%.3f', virtual_ms))
    redis.call('PEXPIRE', share, args.keep_ms)
  end
end

local function forget(key)
  local job = KEY.JOB .. key
  local owner, token, image, waiters =
    unpack(redis.call('HMGET', job, 'owner', 'token', 'image', 'waiters'))
  if owner and owner ~= '' then
    redis.call('HDEL', KEY.HELD .. owner, token)
  else
    for _, waiter in ipairs(waiters_in(waiters)) do leave_lane(image, waiter, key) end
    redis.call('ZREM', KEY.QUEUED, key)
  end
  redis.call('DEL', job)
end

local answered = {}
-- Put an answer into the stream of every client that waits for the job.
local function answer(waiters, key, kind, body)
  for _, waiter in ipairs(waiters_in(waiters)) do
    local client = client_of(waiter)
    if is_alive(client) then
      local stream = KEY.OUT .. client
      redis.call('XADD', stream, '*', 'key', key, 'kind', kind, 'body', body)
      if not answered[stream] then redis.call('PEXPIRE', stream, args.keep_ms) end
      answered[stream] = true
    end
  end
end

-- Note that a client has named a suite, and keep that note as long as the suite.
local function keep_suite(digest, ms)
  redis.call('ZADD', KEY.SUITES_USED, now, digest)
  if redis.call('PTTL', KEY.SUITES_USED) < ms then redis.call('PEXPIRE', KEY.SUITES_USED, ms) end
end

local WORTH_A_HINT_MS = 20
local wanting = {}
-- Note that so many jobs of an image wait, for `hints`; `run_ms` is what each may take.
local function want(image, jobs, run_ms)
  local worth = math.min(1, run_ms / WORTH_A_HINT_MS)
  wanting[image] = (wanting[image] or 0) + jobs * worth
end

-- Returns how many hints to send: {image, number} of each image. A thread that got one takes jobs
-- until none waits. So a few are enough for many short jobs, and more than there are threads would
-- be of no use.
local function hints()
  local found = {}
  for image, worth in pairs(wanting) do
    -- A worker has more threads than slots, but at most twice as many.
    local threads = 2 * tonumber(redis.call('HGET', KEY.SLOTS, image) or '0')
    local lacking = math.max(1, threads) - redis.call('LLEN', KEY.HINTS .. image)
    if lacking > 0 then found[#found + 1] = {image, math.min(math.ceil(worth), lacking)} end
  end
  return found
end

-- Put a job that a worker held back into the queue.
local function requeue(key)
  local job = KEY.JOB .. key
  local owner, token, image, waiters, deadline, created, lane, charged = unpack(redis.call('HMGET',
    job, 'owner', 'token', 'image', 'waiters', 'deadline', 'created', 'lane', 'charged'))
  redis.call('HDEL', KEY.HELD .. owner, token)
  redis.call('HSET', job, 'state', STATE.QUEUED, 'owner', '', 'token', '', 'alone', 0,
    'has_slot', 0)
  redis.call('ZADD', KEY.QUEUED, created, key)
  for _, waiter in ipairs(waiters_in(waiters)) do
    put_in_lane(image, waiter, key, deadline)
  end
  if lane then charge(image, lane, -tonumber(charged)) end
  want(image, 1, WORTH_A_HINT_MS)
end

-- A verdict holds for one edition, so that an upgraded worker's are not those of its predecessor.
local function verdict_name(edition, key) return edition .. ' ' .. key end

-- Returns the bytes that this freed; false if no verdict is left.
local function drop_oldest_verdict()
  local oldest = redis.call('ZRANGE', KEY.VERDICTS_AGE, 0, 0)[1]
  if not oldest then return false end
  local bytes = redis.call('HSTRLEN', KEY.VERDICTS, oldest)
  redis.call('HDEL', KEY.VERDICTS, oldest)
  redis.call('ZREM', KEY.VERDICTS_AGE, oldest)
  redis.call('DECRBY', KEY.VERDICTS_BYTES, bytes)
  return bytes
end

-- Bytes used, and the limit (0: none).
local function memory()
  local info = redis.call('INFO', 'memory')
  local function bytes(name) return tonumber(string.match(info, '\n' .. name .. ':(%d+)')) or 0 end
  return bytes('used_memory') - bytes('mem_not_counted_for_evict'), bytes('maxmemory')
end

-- A full Redis refuses Celery's bookkeeping too, and then no worker can take the jobs that fill
-- it. So submissions are refused while there is still memory for that.
local function is_full()
  local used, limit = memory()
  return limit > 0 and used > 0.9 * limit
end
local FULL = {err = 'OOM nine tenths of the memory of Redis are taken'}
