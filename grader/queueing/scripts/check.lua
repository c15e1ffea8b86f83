#!lua flags=allow-oom
-- Renew a client's lease.
-- Arguments: client, keys of the jobs that it waits for.
-- Returns the keys of lost jobs; {} while answers are unread, because they may be for those jobs.
redis.call('ZADD', KEY.CLIENTS, now + args.client_lease_ms, args.client)
local stream = KEY.OUT .. args.client
redis.call('PEXPIRE', stream, args.keep_ms)
if redis.call('XLEN', stream) > 0 then return {} end
local lost = {}
for _, key in ipairs(args.keys) do
  if redis.call('EXISTS', KEY.JOB .. key) == 0 then lost[#lost + 1] = key end
end
return lost
