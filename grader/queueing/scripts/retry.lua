#!lua flags=allow-oom
-- Put a job that the worker could not run back into the queue, for another worker if there is one.
-- Arguments: worker, token, key, tries (after which it is not put back), apart_ms (for which the
-- worker leaves it to others).
-- Returns a list with the hints to send: {image, number} of each; {} if the job was not put back.
local job = KEY.JOB .. args.key
if not is_held(args.key, args.token) then return {} end
if redis.call('HINCRBY', job, 'failures', 1) >= args.tries then return {} end
redis.call('HSET', job, 'failed_at', args.worker, 'apart_until', now + args.apart_ms)
requeue(args.key)
return {hints()}
