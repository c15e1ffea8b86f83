-- Every script begins with this, after its own first line and the tables KEY, COUNTER, ANSWER and
-- STATE, which grader/queueing/names.py defines. `args` has the named arguments of the script.
-- Every script also gets worker_lease_ms, client_lease_ms, keep_ms (how long suites, answers and
-- jobs past their deadline stay) and cache_ttl_ms.
local args = cjson.decode(ARGV[1])

-- Milliseconds by the clock of Redis.
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)

local function count(counter) redis.call('HINCRBY', KEY.STATS, counter, 1) end

local function waiting_clients(job)
  local clients = {}
  for client in string.gmatch(redis.call('HGET', job, 'waiters') or '', '%S+') do
    clients[#clients + 1] = client
  end
  return clients
end

local function is_alive(client)
  local lease_end = redis.call('ZSCORE', KEY.CLIENTS, client)
  return lease_end and tonumber(lease_end) > now
end

local function is_wanted(job)
  if tonumber(redis.call('HGET', job, 'deadline') or '0') < now then return false end
  for _, client in ipairs(waiting_clients(job)) do
    if is_alive(client) then return true end
  end
  return false
end

-- Whether args.worker still holds a job that it took under this token.
local function is_held(key, token)
  local found = redis.call('HMGET', KEY.JOB .. key, 'owner', 'token')
  return found[1] == args.worker and found[2] == token
end

local function forget(key)
  local job = KEY.JOB .. key
  local owner = redis.call('HGET', job, 'owner')
  if owner and owner ~= '' then redis.call('SREM', KEY.HELD .. owner, key) end
  redis.call('DEL', job)
  redis.call('ZREM', KEY.QUEUED, key)
end

-- Put an answer into the stream of every client that waits for the job.
local function answer(key, kind, body)
  for _, client in ipairs(waiting_clients(KEY.JOB .. key)) do
    if is_alive(client) then
      local stream = KEY.OUT .. client
      redis.call('XADD', stream, '*', 'key', key, 'kind', kind, 'body', body)
      redis.call('PEXPIRE', stream, args.keep_ms)
    end
  end
end

-- Put a job back into the queue; returns its hint.
local function requeue(key)
  local job = KEY.JOB .. key
  redis.call('HSET', job, 'state', STATE.QUEUED, 'owner', '', 'token', '', 'hinted', now)
  redis.call('ZADD', KEY.QUEUED, redis.call('HGET', job, 'created'), key)
  return {key, redis.call('HGET', job, 'image'), redis.call('HGET', job, 'priority')}
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
