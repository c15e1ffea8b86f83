#!lua flags=allow-oom
-- Put jobs that the worker holds back into the queue.
-- Arguments: worker; jobs: each with token and key.
-- Returns the hints to send: {image, number} of each.
for _, job in ipairs(args.jobs) do
  if is_held(job.key, job.token) then requeue(job.key) end
end
return hints()
