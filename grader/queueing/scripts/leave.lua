#!lua flags=allow-oom
-- Forget a worker that ends in order. The jobs that it holds do not become suspects.
-- Arguments: worker, member of KEY.VERSIONS.
-- Returns the hints to send: {key, image, priority} of each.
local hints = {}
for _, key in ipairs(redis.call('SMEMBERS', KEY.HELD .. args.worker)) do
  if redis.call('HGET', KEY.JOB .. key, 'owner') == args.worker then
    hints[#hints + 1] = requeue(key)
  end
end
redis.call('DEL', KEY.HELD .. args.worker, KEY.WORKER .. args.worker)
redis.call('ZREM', KEY.WORKERS, args.worker)
redis.call('ZREM', KEY.VERSIONS, args.member)
return hints
