#!lua flags=allow-oom
-- Note that a job is the only one that its worker runs.
-- Arguments: worker, token, key.
-- Returns 1; 0 if the worker no longer holds the job.
if not is_held(args.key, args.token) then return 0 end
redis.call('HSET', KEY.JOB .. args.key, 'alone', 1)
return 1
