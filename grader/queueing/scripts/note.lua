#!lua flags=allow-oom
-- Note something about a job that the worker holds, until another worker has it.
-- Arguments: worker, token, key, field: 'alone' (it is the only job that the worker runs) or
-- 'has_slot'.
-- Returns 1; 0 if the worker no longer holds the job.
if not is_held(args.key, args.token) then return 0 end
redis.call('HSET', KEY.JOB .. args.key, args.field, 1)
return 1
