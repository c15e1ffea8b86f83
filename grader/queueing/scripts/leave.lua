#!lua flags=allow-oom
-- Forget a worker that ends in order. The jobs that it holds do not become suspects.
-- Arguments: worker, member of KEY.VERSIONS.
-- Returns the hints to send: {image, number} of each.
for _, key in ipairs(redis.call('HVALS', KEY.HELD .. args.worker)) do
  if redis.call('HGET', KEY.JOB .. key, 'owner') == args.worker then requeue(key) end
end
redis.call('DEL', KEY.HELD .. args.worker, KEY.WORKER .. args.worker)
redis.call('ZREM', KEY.WORKERS, args.worker)
redis.call('ZREM', KEY.VERSIONS, args.member)
return hints()
