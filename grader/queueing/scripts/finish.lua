#!lua flags=allow-oom
-- Hand a job's report to the clients that wait for it.
-- Arguments: worker, token, key, error ('' if there was none), cache_bytes (of all verdicts to
-- keep; 0: do not keep this one), edition of the worker. ARGV[2] is the report.
-- Returns 1; 0 if the worker no longer held the job.
local key, report = args.key, ARGV[2]
if not is_held(key, args.token) then
  count(COUNTER.STALE)
  return 0
end
answer(key, ANSWER.REPORT, report)
forget(key)
count(COUNTER.GRADED)
if args.error ~= '' then
  count(COUNTER.INTERNAL_ERRORS)
  redis.call('LPUSH', KEY.ERRORS, string.format('%.0f', now) .. ' ' .. args.error)
  redis.call('LTRIM', KEY.ERRORS, 0, 19)
  redis.call('PEXPIRE', KEY.ERRORS, 86400000)
end
local verdict = verdict_name(args.edition, key)
if args.cache_bytes >= #report and redis.call('HSETNX', KEY.VERDICTS, verdict, report) == 1 then
  redis.call('INCRBY', KEY.VERDICTS_BYTES, #report)
  redis.call('ZADD', KEY.VERDICTS_AGE, now, verdict)
  while tonumber(redis.call('GET', KEY.VERDICTS_BYTES)) > args.cache_bytes do
    if not drop_oldest_verdict() then break end
  end
  for _, name in ipairs({KEY.VERDICTS, KEY.VERDICTS_AGE, KEY.VERDICTS_BYTES}) do
    redis.call('PEXPIRE', name, args.cache_ttl_ms)
  end
end
return 1
