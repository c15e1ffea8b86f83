#!lua flags=allow-oom
-- Stop waiting for jobs. A job that no other client waits for is forgotten; its worker learns this
-- from its next heartbeat.
-- Arguments: client, keys.
for _, key in ipairs(args.keys) do
  local job, others, own = KEY.JOB .. key, {}, {}
  local waiters, image = unpack(redis.call('HMGET', job, 'waiters', 'image'))
  for _, waiter in ipairs(waiters_in(waiters)) do
    local list = client_of(waiter) == args.client and own or others
    list[#list + 1] = waiter
  end
  if #others > 0 then
    redis.call('HSET', job, 'waiters', table.concat(others, ' '))
    for _, waiter in ipairs(own) do leave_lane(image, waiter, key) end
  elseif waiters then
    forget(key)
    count(COUNTER.CANCELLED)
  end
end
