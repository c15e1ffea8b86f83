#!lua flags=allow-oom
-- Renew a worker's lease.
-- Arguments: worker, description, running: each with token and key.
-- Returns the keys of running jobs that it no longer holds: cancelled, or given to another worker.
redis.call('ZADD', KEY.WORKERS, now + args.worker_lease_ms, args.worker)
redis.call('SET', KEY.WORKER .. args.worker, args.description, 'PX', args.worker_lease_ms)
local lost = {}
for _, run in ipairs(args.running) do
  if not is_held(run.key, run.token) then lost[#lost + 1] = run.key end
end
return lost
