#!lua flags=allow-oom
-- Renew a worker's lease.
-- Arguments: worker, description, running: each with token and key; tokens under which it holds
-- jobs; edition; member of KEY.VERSIONS.
-- Returns the keys of running jobs that it no longer holds: cancelled, or given to another worker;
-- and {token, key} of each job that it holds under another token.
redis.call('ZADD', KEY.WORKERS, now + args.worker_lease_ms, args.worker)
redis.call('SET', KEY.WORKER .. args.worker, args.description, 'PX', args.worker_lease_ms)
redis.call('ZADD', KEY.EDITIONS, now, args.edition)
redis.call('PEXPIRE', KEY.EDITIONS, args.cache_ttl_ms)
redis.call('ZADD', KEY.VERSIONS, now + args.worker_lease_ms, args.member)
redis.call('ZREMRANGEBYSCORE', KEY.VERSIONS, '-inf', now)
local lost, held, known = {}, {}, {}
for _, run in ipairs(args.running) do
  if not is_held(run.key, run.token) then lost[#lost + 1] = run.key end
end
for _, token in ipairs(args.tokens) do known[token] = true end
local pairs_held = redis.call('HGETALL', KEY.HELD .. args.worker)
for i = 1, #pairs_held, 2 do
  local token, key = pairs_held[i], pairs_held[i + 1]
  if not is_held(key, token) then
    redis.call('HDEL', KEY.HELD .. args.worker, token)
  elseif not known[token] then
    held[#held + 1] = {token, key}
  end
end
return {lost, held}
