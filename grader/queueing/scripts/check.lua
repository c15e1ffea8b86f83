#!lua flags=allow-oom
-- Renew a client's lease.
-- Arguments: client, keys of the jobs that it waits for.
-- Returns the keys of lost jobs, none while answers are unread, because they may be for those jobs;
-- the members of KEY.VERSIONS that live, if no worker of this version does; and images with the
-- slots that take their jobs, one after the other.
redis.call('ZADD', KEY.CLIENTS, now + args.client_lease_ms, args.client)
local stream = KEY.OUT .. args.client
redis.call('PEXPIRE', stream, args.keep_ms)
local others, slots = {}, {}
if redis.call('ZCOUNT', KEY.WORKERS, now, '+inf') == 0 then
  others = redis.call('ZRANGEBYSCORE', KEY.VERSIONS, now, '+inf')
else
  slots = redis.call('HGETALL', KEY.SLOTS)
end
local lost = {}
if redis.call('XLEN', stream) > 0 then return {lost, others, slots} end
for _, key in ipairs(args.keys) do
  if redis.call('EXISTS', KEY.JOB .. key) == 0 then lost[#lost + 1] = key end
end
return {lost, others, slots}
