#!lua flags=allow-oom
-- Stop waiting for jobs. A job that no other client waits for is forgotten; its worker learns this
-- from its next heartbeat.
-- Arguments: client, keys.
for _, key in ipairs(args.keys) do
  local job = KEY.JOB .. key
  local others = {}
  for _, client in ipairs(waiting_clients(job)) do
    if client ~= args.client then others[#others + 1] = client end
  end
  if #others > 0 then
    redis.call('HSET', job, 'waiters', table.concat(others, ' '))
  elseif redis.call('EXISTS', job) == 1 then
    forget(key)
    count(COUNTER.CANCELLED)
  end
end
