#!lua flags=allow-oom
-- Begin to run a job that the worker holds.
-- Arguments: worker, token, key, with_suite.
-- Returns {code, settings, suite ('' if it was not asked for)}; {} if the worker must not run it.
local job = KEY.JOB .. args.key
if not is_held(args.key, args.token) then return {} end
if not is_wanted(job) then
  forget(args.key)
  count(COUNTER.EXPIRED)
  return {}
end
local code, settings, digest = unpack(redis.call('HMGET', job, 'code', 'settings', 'suite'))
local suite = ''
if args.with_suite then
  suite = redis.call('GET', KEY.SUITE .. digest)
  if not suite then
    answer(args.key, ANSWER.AGAIN, '')
    forget(args.key)
    return {}
  end
end
redis.call('HSET', job, 'state', STATE.RUNNING)
return {code, settings, suite}
