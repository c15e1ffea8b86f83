#!lua flags=allow-oom
-- Have a worker hold queued jobs.
-- Arguments: worker, token, keys.
-- Returns {key, suite, suspect} of each job that the worker holds now.
redis.call('ZADD', KEY.WORKERS, now + args.worker_lease_ms, args.worker)
local has_others = redis.call('ZCOUNT', KEY.WORKERS, now, '+inf') > 1

local taken = {}
for _, key in ipairs(args.keys) do
  local job = KEY.JOB .. key
  local state, suite, suspect, hinted, token, failed_at, apart_until =
    unpack(redis.call('HMGET', job, 'state', 'suite', 'suspect', 'hinted', 'token', 'failed_at',
      'apart_until'))
  local is_for_others = has_others and failed_at == args.worker and tonumber(apart_until) > now
  if (state == STATE.QUEUED and not is_for_others)
    or (state == STATE.HELD and token == args.token) then
    if is_wanted(job) then
      redis.call('HSET', job, 'state', STATE.HELD, 'owner', args.worker, 'token', args.token)
      redis.call('ZREM', KEY.QUEUED, key)
      redis.call('SADD', KEY.HELD .. args.worker, key)
      redis.call('SET', KEY.WAIT, now - tonumber(hinted), 'PX', 600000)
      taken[#taken + 1] = {key, suite, suspect}
    else
      forget(key)
      count(COUNTER.EXPIRED)
    end
  end
end
return taken
