#!lua flags=allow-oom
-- Put jobs that the worker holds back into the queue.
-- Arguments: worker, token, keys.
-- Returns the hints to send: {key, image, priority} of each.
local hints = {}
for _, key in ipairs(args.keys) do
  if is_held(key, args.token) then
    redis.call('SREM', KEY.HELD .. args.worker, key)
    hints[#hints + 1] = requeue(key)
  end
end
return hints
